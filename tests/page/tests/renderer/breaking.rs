//! A response whose connection breaks off in the middle: what was under way comes to its end, and the reader is told.

use page::{Page, Reply, each_browser};
use serde_json::{Value, json};

use crate::{run, seen, show};

/// Whether the server had said how long its answer is. Without, it comes in chunks, and the last one is missing.
const LENGTHS: [Option<u64>; 2] = [Some(1 << 20), None];

/// The page reads a response in this format of these records; what follows them is the test's to say.
async fn read(page: &Page, format: &str, length: Option<u64>, records: &[Value]) -> Reply {
    show(page, "[]").await;
    page.eval(&format!("scene.mountModule('{format}')")).await;
    let mut reply = page.reply("/response", length);
    run(page, "live.pipe('/response');").await;
    for record in records {
        reply.send(format!("data: {record}\n\n")).await;
    }
    reply
}

/// Kind and state of each row.
async fn rows(page: &Page) -> Value {
    page.eval(
        "[...document.querySelectorAll('#other [data-row]')].map((el) => `${el.dataset.kind} ${el.dataset.state}`)",
    )
    .await
}

/// The row of a call stands, turns, and says how much has come.
async fn wait_for_spinner(page: &Page, bytes: &str) {
    page.wait_for(&format!(
        "document.querySelector('#other [data-state=preparing] .cr-bytes')?.textContent === '{bytes}'"
    ))
    .await;
    assert_eq!(page.eval("document.querySelector('#other .cr-spinner').getAnimations().length").await, 1);
    assert_eq!(page.eval("live.piped").await, "");
}

/// The promise is rejected, nothing turns, and an error row offers another try.
async fn assert_told(page: &Page) {
    page.wait_for("live.piped").await;
    assert_eq!(page.eval("live.piped").await, "TypeError");
    page.wait_for("document.querySelector('#other [data-kind=error]')").await;
    let turning = "document.querySelectorAll('#other .cr-spinner, #other [aria-busy=true]').length + \
                   document.getAnimations().filter(({ playState }) => playState === 'running').length";
    assert_eq!(page.eval(turning).await, 0);
    assert!(seen(page, "#other [data-kind=error] .cr-said").await.len() > "error".len());
    assert_eq!(seen(page, "#other [data-kind=error] .cr-errorcode").await, "read-error");
    assert_eq!(seen(page, "#other [data-kind=error] .cr-retry").await, "Try again");
    assert_eq!(page.eval("live.chat.panels().activity.state").await, "idle");
}

#[test]
fn a_connection_that_breaks_off_in_a_call_leaves_it_interrupted() {
    each_browser(async |page| {
        for length in LENGTHS {
            let event = |delta| json!({"id": "r", "choices": [{"index": 0, "delta": delta}]});
            let call = |id: Option<&str>, part: &str| {
                event(
                    json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": id.map(|_| "write_file"), "arguments": part}}]}),
                )
            };
            let begun = [
                event(json!({"role": "assistant", "content": "I will write it down."})),
                call(Some("c"), r#"{"path":"a.txt","content":""#),
                call(None, &"x".repeat(2000)),
            ];
            let mut reply = read(page, "openai-chat", length, &begun).await;
            wait_for_spinner(page, "2.0 KB").await;
            assert_eq!(seen(page, "#other .cr-title").await, "Preparing write_file…");
            reply.send("data: {\"id\":\"r\",\"choi").await;
            reply.break_off();
            assert_told(page).await;
            assert_eq!(rows(page).await, json!(["text done", "tool interrupted", "error done"]));
            assert_eq!(seen(page, "#other [data-kind=tool] .cr-flag").await, "Interrupted");
            assert_eq!(
                page.eval("live.chat.rows().map(({ id }) => live.chat.args(id) ?? null)").await,
                json!([null, null, null])
            );
        }
    });
}

#[test]
fn a_connection_that_breaks_off_takes_the_row_of_an_announced_call_with_it() {
    each_browser(async |page| {
        for length in LENGTHS {
            let begun = [
                json!({"type": "reasoning", "text": "The file is long."}),
                json!({"type": "tool_preparing", "toolName": "write_file", "byteCount": 0}),
                json!({"type": "reasoning", "text": "\0tool_preparing\0write_file\x001536\0"}),
            ];
            let mut reply = read(page, "api-stream", length, &begun).await;
            wait_for_spinner(page, "1.5 KB").await;
            assert_eq!(rows(page).await, json!(["reasoning streaming", "tool-preparing preparing"]));
            reply.send("data: {\"type\":\"tool_prep").await;
            reply.break_off();
            assert_told(page).await;
            assert_eq!(rows(page).await, json!(["reasoning interrupted", "error done"]));
        }
    });
}
