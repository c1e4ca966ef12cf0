//! The frames to the letter, in each form that a script can ask for.

use serde_json::{Value, json};
use serve::task_stream::{Clock, DataForm, EventShape, NameForm, Script, Step, Wire};

use crate::client::{Client, server, text, turn};

const CLOCK: Clock = Clock { start_ms: 1_700_000_000_000, step_ms: 0 };

async fn frames(wire: Wire, steps: impl Into<Vec<Step>>) -> Vec<String> {
    let server = server();
    let task = server.tasks().create(Script { wire, clock: Some(CLOCK), ..turn(steps) });
    Client::say(&server, task.id(), "hi").await.rest().await.0
}

#[tokio::test]
async fn a_frame_is_that_of_a_real_server() {
    let frames = frames(Wire::default(), [text("a")]).await;
    let echo = r#"{"type":"user-input","data":"eyJhdHRhY2htZW50cyI6W10sImNvbnRlbnQiOiJhR2s9In0=","kind":"","timestamp":1700000000000}"#;
    assert_eq!(frames[0], echo);
    assert_eq!(frames[1], r#"{"type":"task-started","data":null,"kind":"","seq":1,"timestamp":1700000000000}"#);
    let chunk = r#"{"type":"task-running","data":"eyJ1cGRhdGUiOnsiY29udGVudCI6eyJ0ZXh0IjoiYSIsInR5cGUiOiJ0ZXh0In0sInNlc3Npb25VcGRhdGUiOiJhZ2VudF9tZXNzYWdlX2NodW5rIn19","kind":"acp_event","seq":2,"timestamp":1700000000000}"#;
    assert_eq!(frames[2], chunk);
    assert_eq!(frames[3], r#"{"type":"task-ended","data":null,"kind":"","seq":3,"timestamp":1700000000000}"#);
}

#[tokio::test]
async fn a_frame_is_that_of_the_first_description() {
    let wire = Wire { seq: false, data: DataForm::Text, events: EventShape::Flat, ..Wire::default() };
    let tool = Step::ToolCall(json!({ "title": "bash", "rawInput": "ls -la" }));
    let ask = Step::Ask { id: "q".into(), questions: json!([]) };
    let server = server();
    let task = server.tasks().create(Script { wire, ..turn([text("a"), tool, ask]) });
    let mut client = Client::say(&server, task.id(), "hi").await;
    let mut data = Vec::new();
    for _ in 0..5 {
        let frame: Value = serde_json::from_str(&client.frame().await).unwrap();
        assert_eq!(frame["seq"], Value::Null);
        data.push(frame["data"].as_str().unwrap_or_default().to_owned());
    }
    assert_eq!(
        data[2..],
        [
            r#"{"text":"a","type":"agent_message_chunk"}"#,
            r#"{"tool_input":"ls -la","tool_name":"bash","type":"tool_call"}"#,
            "eyJxdWVzdGlvbnMiOltdLCJyZXF1ZXN0X2lkIjoicSJ9",
        ]
    );
}

#[tokio::test]
async fn a_frame_may_be_named_by_its_event_and_have_its_data_inline() {
    let wire = Wire { data: DataForm::Inline, name: NameForm::Event, ..Wire::default() };
    let usage = Step::Usage(json!({ "used": 1, "size": 2 }));
    let expected = r#"{"event":"task-running","data":{"update":{"sessionUpdate":"usage_update","size":2,"used":1}},"kind":"acp_event","seq":2,"timestamp":1700000000000}"#;
    assert_eq!(frames(wire, [usage]).await[2], expected);
}

#[tokio::test]
async fn any_frame_can_be_sent() {
    let data = Some(json!({ "id": "p", "outcome": "approved" }));
    let frame = Step::Frame { name: "permission-resolved".into(), kind: String::new(), data };
    let wire = Wire { data: DataForm::Inline, ..Wire::default() };
    let expected = r#"{"type":"permission-resolved","data":{"id":"p","outcome":"approved"},"kind":"","seq":2,"timestamp":1700000000000}"#;
    assert_eq!(frames(wire, [frame]).await[2], expected);
}
