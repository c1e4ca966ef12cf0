//! Inputs and the rows they come to, shared by the native tests and by those in the browser: what the module shows
//! there is what the crate shows here. Rows stand as JSON, one a line, without the times.

/// A name, the wire's bytes, the rows.
pub const INPUTS: &[(&str, &str, &str)] = &[
    (
        "text and usage",
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\n\n\
         data: [DONE]\n\n",
        r##"
            {"id": 1, "kind": "text", "state": "done", "busy": false, "key": "r:0", "text": "Hello"}
        "##,
    ),
    (
        "every line end, a mark and comments",
        "\u{feff}: ping\r\n\r\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"é😀\"},\"finish_reason\":null}]}\r\n\r\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"漢\"},\"finish_reason\":null}]}\r\r\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        r##"
            {"id": 1, "kind": "text", "state": "done", "busy": false, "key": "r:0", "text": "é😀漢"}
        "##,
    ),
    (
        "reasoning under two names, then text as parts",
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"th\",\"reasoning_content\":\"th\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"ink\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"ing\"}]},{\"type\":\"text\",\"text\":\"so\"}]},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        r##"
            {"id": 1, "kind": "reasoning", "state": "done", "busy": false, "key": "r:0", "text": "thinking"}
            {"id": 2, "kind": "text", "state": "done", "busy": false, "key": "r:1", "text": "so"}
        "##,
    ),
    (
        "calls in parallel, with and without ids",
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":[1,\"}},{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"\"}}]},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"é\\\\ud83d\\\"]}\"}}]},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":2,\"function\":{\"name\":\"h\",\"arguments\":{\"k\":true}}}]},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
        r##"
            {"id": 1, "kind": "tool", "state": "pending", "busy": false, "key": "a", "tool": {"name": "f", "callId": "a", "input": "{\"x\":[1,\"é\\ud83d\"]}", "inputDone": true, "fields": [{"path": ["x", 0], "text": "1", "closed": true}, {"path": ["x", 1], "text": "é�", "closed": true}]}, "bytes": {"count": 20, "label": "20 B"}}
            {"id": 2, "kind": "tool", "state": "pending", "busy": false, "key": "b", "tool": {"name": "g", "callId": "b", "input": "", "inputDone": true}, "bytes": {"count": 0, "label": "0 B"}}
            {"id": 3, "kind": "tool", "state": "pending", "busy": false, "tool": {"name": "h", "input": "{\"k\":true}", "inputDone": true, "fields": [{"path": ["k"], "text": "true", "closed": true}]}, "bytes": {"count": 10, "label": "10 B"}}
        "##,
    ),
    (
        "arguments that break and keys that are only data",
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"__proto__\\\":{\\\"y\\\":1}} junk\"}}]},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{\\\"__proto__\\\":{\\\"y\\\":1}}\"}}]},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
        r##"
            {"id": 1, "kind": "tool", "state": "failed", "busy": false, "key": "a", "tool": {"name": "f", "callId": "a", "input": "{\"__proto__\":{\"y\":1}} junk", "inputDone": false, "fields": [{"path": ["__proto__", "y"], "text": "1", "closed": true}]}, "bytes": {"count": 26, "label": "26 B"}, "error": {"message": "", "code": "arguments-malformed"}}
            {"id": 2, "kind": "tool", "state": "pending", "busy": false, "key": "b", "tool": {"name": "g", "callId": "b", "input": "{\"__proto__\":{\"y\":1}}", "inputDone": true, "fields": [{"path": ["__proto__", "y"], "text": "1", "closed": true}]}, "bytes": {"count": 21, "label": "21 B"}}
        "##,
    ),
    (
        "cut by length",
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"par\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":\\\"un\"}}]},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n",
        r##"
            {"id": 1, "kind": "text", "state": "done", "busy": false, "key": "r:0", "text": "par"}
            {"id": 2, "kind": "tool", "state": "interrupted", "busy": false, "key": "a", "tool": {"name": "f", "callId": "a", "input": "{\"x\":\"un", "inputDone": false, "fields": [{"path": ["x"], "text": "un", "closed": false}]}, "bytes": {"count": 8, "label": "8 B"}, "truncated": true}
        "##,
    ),
    (
        "an error in the stream",
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"par\"},\"finish_reason\":null}]}\n\n\
         data: {\"error\":{\"message\":\"busy\",\"code\":\"overloaded\"}}\n\n",
        r##"
            {"id": 1, "kind": "text", "state": "interrupted", "busy": false, "key": "r:0", "text": "par"}
            {"id": 2, "kind": "error", "state": "done", "busy": false, "key": "r:1", "error": {"message": "busy", "code": "overloaded", "retryable": true}}
        "##,
    ),
    (
        "a broken record and another encoding",
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n\
         data: {\"choices\":[{\"delta\":{\"content\":\"x\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        r##"
            {"id": 1, "kind": "text", "state": "done", "busy": false, "key": "r:0", "text": "ab"}
        "##,
    ),
    (
        "halves of a character in two deltas",
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\\ud83d\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\ude00b\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\ud83d\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        r##"
            {"id": 1, "kind": "text", "state": "done", "busy": false, "key": "r:0", "text": "a😀b�"}
        "##,
    ),
    (
        "bare lines",
        "{\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\
         {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"finish_reason\":null}]}\n\
         {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\
         {\"object\":\"text_completion\",\"choices\":[{\"text\":\"x\"}]}\n",
        r##"
            {"id": 1, "kind": "text", "state": "done", "busy": false, "key": "r:0", "text": "ab"}
        "##,
    ),
    (
        "another answer beside the first",
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":1,\"delta\":{\"content\":\"x\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        r##"
            {"id": 1, "kind": "text", "state": "done", "busy": false, "key": "r:0", "text": "ab"}
            {"id": 2, "kind": "text", "state": "done", "busy": false, "key": "r:1", "text": "x", "meta": {"choice": 1}}
        "##,
    ),
    (
        "two responses",
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
         data: {\"id\":\"r2\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\n",
        r##"
            {"id": 1, "kind": "text", "state": "done", "busy": false, "key": "r:0", "text": "a"}
            {"id": 2, "kind": "text", "state": "done", "busy": false, "key": "r2:0", "text": "b"}
        "##,
    ),
    (
        "no end",
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"hm\"},\"finish_reason\":null}]}\n\n\
         data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":12\"}}]},\"finish_reason\":null}]}\n\n",
        r##"
            {"id": 1, "kind": "reasoning", "state": "done", "busy": false, "key": "r:0", "text": "hm"}
            {"id": 2, "kind": "tool", "state": "interrupted", "busy": false, "key": "a", "tool": {"name": "f", "callId": "a", "input": "{\"x\":12", "inputDone": false}, "bytes": {"count": 7, "label": "7 B"}}
        "##,
    ),
    (
        "an error body",
        "{\"error\":{\"message\":\"no such key\",\"type\":\"invalid_request_error\",\"code\":null}}",
        r##"
            {"id": 1, "kind": "error", "state": "done", "busy": false, "error": {"message": "no such key", "code": "invalid_request_error", "retryable": false}}
        "##,
    ),
    (
        "no stream at all",
        "<html>\n\
         <body>Bad gateway</body>\n\
         </html>\n",
        r##"
            {"id": 1, "kind": "error", "state": "done", "busy": false, "error": {"message": "<html>", "code": "no-records"}}
        "##,
    ),
];
