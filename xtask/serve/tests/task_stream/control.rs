//! What a page in a test does over HTTP.

use serde_json::{Value, json};
use serve::Server;
use serve::task_stream::Mode;

use crate::client::{Client, End, server};

fn answer(request: minreq::Request) -> (u16, Value) {
    let answer = request.send().unwrap();
    (answer.status_code, serde_json::from_str(answer.as_str().unwrap()).unwrap())
}

fn post(server: &Server, path: &str, body: &str) -> (u16, Value) {
    answer(minreq::post(format!("{}task-stream/tasks{path}", server.url())).with_body(body))
}

fn get(server: &Server, path: &str) -> (u16, Value) {
    answer(minreq::get(format!("{}task-stream/tasks{path}", server.url())))
}

#[tokio::test]
async fn a_task_is_made_of_a_posted_script() {
    let server = server();
    let script = json!({
        "turns": [[
            { "thought": "Hm" },
            { "tool_call": { "toolCallId": "c", "title": "ls" } },
            { "tool_call_update": { "toolCallId": "c", "status": "completed" } },
            { "plan": [{ "content": "Look", "status": "pending" }] },
            { "usage": { "used": 1, "size": 2 } },
            { "commands": [] },
            { "update": { "sessionUpdate": "compact_status", "status": "started" } },
            { "frame": { "type": "file-change" } },
            { "delay": 1 },
            "input",
            { "garbage": "?" },
            { "garbage_bytes": [0] },
            { "error": "oh" },
            { "text": "Hi" },
            { "end": null },
        ]],
        "wire": { "seq": false, "data": "base64", "name": "type", "events": "nested", "time": "us" },
        "pace": 0,
        "ping_ms": 0,
        "clock": { "start_ms": 1, "step_ms": 2 },
        "refuse": [403, "reset"],
        "cuts": [{ "record": 17, "at": "before", "close": 1011, "refuse": [], "gone": false }],
        "repeat": [2],
        "swap": [3],
    });
    let (status, made) = post(&server, "", &script.to_string());
    assert_eq!(status, 201);
    let id = made["id"].as_str().unwrap();
    for _ in 0..2 {
        assert!(Client::try_dial(&server, id, Mode::New).await.is_err());
    }
    let mut client = Client::say(&server, id, "hi").await;
    client.input("more").await;
    let lines = client.lines().await;
    assert_eq!(
        lines,
        [
            "user hi",
            "task-started",
            "agent_thought_chunk",
            "agent_thought_chunk",
            "tool_call_update",
            "tool_call",
            "plan",
            "usage_update",
            "available_commands_update",
            "compact_status",
            "file-change",
            "user more",
            "?",
            "binary",
            r#"task-error {"error":"oh"}"#,
            "text Hi",
            "task-ended",
        ]
    );
}

#[tokio::test]
async fn a_question_stands_in_a_posted_script() {
    let server = server();
    let script = json!({ "id": "mine", "turns": [[{ "ask": { "id": "q", "questions": [] } }, { "reply": "q" }]] });
    assert_eq!(post(&server, "", &script.to_string()), (201, json!({ "id": "mine" })));
    let mut client = Client::say(&server, "mine", "hi").await;
    client.read_until("ask q").await;
    client.reply("q", json!({ "Which?": "A" })).await;
    client.reply("q", json!({ "Which?": "B" })).await;
    let lines = client.lines().await;
    assert_eq!(lines, [r#"reply {"Which?":"A"}"#, r#"reply {"Which?":"B"}"#, "task-ended"]);
}

#[tokio::test]
async fn what_clients_sent_is_read_back_decoded() {
    let server = server();
    post(&server, "", r#"{"id":"mine","turns":[["approval"]]}"#);
    let mut client = Client::say(&server, "mine", "你好").await;
    client.send("auto-approve", json!(null)).await;
    client.lines().await;
    let (_, received) = get(&server, "/mine/received");
    let expected = json!([
        { "dial": 1, "type": "user-input", "data": { "content": "你好", "attachments": [] } },
        { "dial": 1, "type": "auto-approve", "data": null },
    ]);
    assert_eq!(received, expected);
}

#[tokio::test]
async fn a_page_drops_the_lines_and_sees_how_the_task_stands() {
    let server = server();
    post(&server, "", r#"{"id":"mine","turns":[["hang"]]}"#);
    let mut client = Client::say(&server, "mine", "hi").await;
    client.read_until("task-started").await;
    let standing = json!({ "dials": 1, "open": 1, "records": 2, "running": true });
    assert_eq!(get(&server, "/mine"), (200, standing));
    assert_eq!(post(&server, "/mine/drop", r#"{"close":1012,"refuse":[500]}"#), (200, json!({})));
    assert_eq!(client.rest().await.1, End::Closed(1012));
    assert!(Client::try_dial(&server, "mine", Mode::Attach).await.is_err());
    let mut client = Client::dial(&server, "mine", Mode::Attach).await;
    client.read_until("task-started").await;
    assert_eq!(post(&server, "/mine/drop", ""), (200, json!({})));
    assert_eq!(client.rest().await.1, End::Cut);
}

#[track_caller]
fn check_refused(body: &str, why: &str) {
    let (status, answer) = post(&server(), "", body);
    assert_eq!((status, &answer["code"]), (400, &json!(400)));
    assert!(answer["message"].as_str().unwrap().contains(why), "{answer}");
}

#[test]
fn a_script_with_a_mistake_is_refused_with_its_reason() {
    check_refused(r#"{"turn":[]}"#, "unknown field `turn`");
    check_refused(r#"{"turns":[["nothing"]]}"#, "unknown variant `nothing`");
    check_refused("{", "EOF");
}

#[test]
fn what_is_not_there_is_not_found() {
    let server = server();
    for path in ["", "/", "/none", "/none/received"] {
        assert_eq!(get(&server, path).0, 404, "{path}");
    }
    assert_eq!(post(&server, "/none/drop", "").0, 404);
    assert_eq!(answer(minreq::get(format!("{}api/v1/users/tasks/rounds?id=none", server.url()))).0, 404);
}

#[test]
fn a_dial_that_is_none_is_refused() {
    let server = server();
    for query in ["", "?id=demo", "?id=demo&mode=old", "?id=demo&mode=new"] {
        let (status, _) = answer(minreq::get(format!("{}api/v1/users/tasks/stream{query}", server.url())));
        assert_eq!(status, 400, "{query}");
    }
    assert_eq!(answer(minreq::post(format!("{}api/v1/users/tasks/stream", server.url()))).0, 405);
}
