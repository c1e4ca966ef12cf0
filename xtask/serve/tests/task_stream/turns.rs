//! What an agent does in a turn, and what a client can do about it.

use serde_json::json;
use serve::task_stream::{Mode, Script, Step};

use crate::client::{Client, End, server, text, turn};

#[tokio::test]
async fn a_turn_is_played_from_its_input_to_its_end() {
    let server = server();
    let task = server.tasks().create(turn([text("Hello"), text(" world")]));
    let mut client = Client::say(&server, task.id(), "héllo 🦀 你好").await;
    let lines = client.lines().await;
    assert_eq!(lines, ["user héllo 🦀 你好", "task-started", "text Hello", "text  world", "task-ended"]);
}

#[tokio::test]
async fn the_line_is_closed_after_the_end() {
    let server = server();
    let task = server.tasks().create(turn([]));
    assert_eq!(Client::say(&server, task.id(), "hi").await.rest().await.1, End::Closed(1000));
}

#[tokio::test]
async fn each_input_has_the_next_turn_and_the_last_turn_has_all_that_follow() {
    let server = server();
    let task = server.tasks().create(Script::of([vec![text("one")], vec![text("{input} again")]]));
    for (input, answer) in [("a", "text one"), ("b", "text b again"), ("c", "text c again")] {
        let lines = Client::say(&server, task.id(), input).await.lines().await;
        assert_eq!(lines, [&format!("user {input}"), "task-started", answer, "task-ended"]);
    }
}

#[tokio::test]
async fn a_question_waits_for_its_answer_and_the_text_depends_on_it() {
    let server = server();
    let ask = Step::Ask { id: "q1".into(), questions: json!([{ "question": "Which?", "options": [] }]) };
    let task = server.tasks().create(turn([ask, text("So {answer}.")]));
    let mut client = Client::say(&server, task.id(), "hi").await;
    client.read_until("ask q1").await;
    client.reply("another", json!({ "Which?": "C" })).await;
    client.reply("q1", json!({ "Which?": ["A", "B"] })).await;
    client.reply("q1", json!({ "Which?": "D" })).await;
    assert_eq!(client.lines().await, [r#"reply {"Which?":["A","B"]}"#, "text So A, B.", "task-ended"]);
    let names: Vec<String> = task.received().into_iter().map(|received| received.name).collect();
    assert_eq!(names[..3], ["user-input", "reply-question", "reply-question"]);
}

#[tokio::test]
async fn an_answer_may_come_by_another_line_than_the_question() {
    let server = server();
    let ask = Step::Ask { id: "q1".into(), questions: json!([]) };
    let task = server.tasks().create(turn([ask, text("So {answer}.")]));
    let mut first = Client::say(&server, task.id(), "hi").await;
    first.read_until("ask q1").await;
    drop(first);
    let mut second = Client::dial(&server, task.id(), Mode::Attach).await;
    second.read_until("ask q1").await;
    second.reply("q1", json!({ "Which?": "A" })).await;
    assert_eq!(second.lines().await, [r#"reply {"Which?":"A"}"#, "text So A.", "task-ended"]);
}

#[tokio::test]
async fn a_question_that_is_asked_in_a_tool_call_is_answered_the_same_way() {
    let server = server();
    let call = Step::ToolCall(json!({ "toolCallId": "q1", "rawInput": { "questions": [] } }));
    let task = server.tasks().create(turn([call, Step::Reply("q1".into())]));
    let mut client = Client::say(&server, task.id(), "hi").await;
    client.read_until("tool_call").await;
    client.reply("q1", json!({})).await;
    assert_eq!(client.lines().await, ["reply {}", "task-ended"]);
}

#[tokio::test]
async fn a_cancel_is_echoed_and_ends_the_turn_after_what_is_late() {
    let server = server();
    let late = vec![Step::ToolCallUpdate(json!({ "toolCallId": "c", "status": "failed" }))];
    for waits in [Step::Hang, Step::Delay(3_600_000), Step::Input, Step::Approval, Step::Reply("q".into())] {
        let script = Script { on_cancel: late.clone(), ..turn([text("go"), waits, text("never")]) };
        let task = server.tasks().create(script);
        let mut client = Client::say(&server, task.id(), "hi").await;
        client.read_until("text go").await;
        client.send("user-cancel", json!(null)).await;
        assert_eq!(client.lines().await, ["user-cancel", "tool_call_update", "task-ended"]);
    }
}

#[tokio::test]
async fn a_stop_ends_the_turn_without_an_echo() {
    let server = server();
    let task = server.tasks().create(turn([text("go"), Step::Hang]));
    let mut client = Client::say(&server, task.id(), "hi").await;
    client.read_until("text go").await;
    client.send("user-stop", json!(null)).await;
    assert_eq!(client.lines().await, ["task-ended"]);
}

#[tokio::test]
async fn what_is_cancelled_while_nothing_runs_stays_without_effect() {
    let server = server();
    let task = server.tasks().create(turn([text("go")]));
    let mut client = Client::dial(&server, task.id(), Mode::New).await;
    client.send("user-cancel", json!(null)).await;
    client.input("hi").await;
    assert_eq!(client.lines().await, ["user hi", "task-started", "text go", "task-ended"]);
}

#[tokio::test]
async fn an_agent_may_wait_for_another_input_and_for_approval() {
    let server = server();
    let task = server.tasks().create(turn([Step::Approval, text("approved"), Step::Input, text("{input}")]));
    let mut client = Client::say(&server, task.id(), "hi").await;
    client.send("auto-approve", json!(null)).await;
    client.read_until("text approved").await;
    client.input("more").await;
    assert_eq!(client.lines().await, ["user more", "text more", "task-ended"]);
}

#[tokio::test]
async fn an_end_carries_its_data_and_an_error_goes_before_it() {
    let server = server();
    let end = Step::End(Some(json!({ "usage": { "input_tokens": 1 } })));
    let task = server.tasks().create(turn([Step::Error("no quota".into()), end, text("never")]));
    let lines = Client::say(&server, task.id(), "hi").await.lines().await;
    assert_eq!(lines[2..], [r#"task-error {"error":"no quota"}"#, r#"task-ended {"usage":{"input_tokens":1}}"#]);
}

#[tokio::test]
async fn several_clients_read_one_task() {
    let server = server();
    let task = server.tasks().create(turn([text("go"), Step::Input]));
    let mut first = Client::say(&server, task.id(), "hi").await;
    first.read_until("text go").await;
    let mut second = Client::dial(&server, task.id(), Mode::Attach).await;
    second.read_until("text go").await;
    second.input("more").await;
    assert_eq!(first.lines().await, ["user more", "task-ended"]);
    assert_eq!(second.lines().await, ["user more", "task-ended"]);
}

#[tokio::test]
async fn tasks_know_nothing_of_one_another() {
    let server = server();
    let [one, two] = ["one", "two"].map(|word| server.tasks().create(turn([text(word)])));
    let (mut first, mut second) =
        (Client::say(&server, one.id(), "a").await, Client::say(&server, two.id(), "b").await);
    assert_eq!(second.lines().await, ["user b", "task-started", "text two", "task-ended"]);
    assert_eq!(first.lines().await, ["user a", "task-started", "text one", "task-ended"]);
    assert_eq!((one.received().len(), two.received().len()), (1, 1));
}

#[tokio::test]
async fn pings_come_as_often_as_the_script_says_and_an_answer_is_noted() {
    let server = server();
    let task = server.tasks().create(Script { ping_ms: 1, ..turn([Step::Hang]) });
    let mut client = Client::dial(&server, task.id(), Mode::New).await;
    for _ in 0..2 {
        assert_eq!(client.frame().await, r#"{"type":"ping","data":null,"kind":"","timestamp":0}"#);
    }
    client.send("ping", json!(null)).await;
    client.send("user-stop", json!(null)).await;
    client.input("hi").await;
    client.read_until("task-started").await;
    assert_eq!(task.received()[0].name, "ping");
}

#[tokio::test]
async fn the_live_scene_asks_and_goes_by_the_answer() {
    let server = server();
    let task = server.tasks().create(Script { pace: 0.0, ..Script::default() });
    let mut client = Client::say(&server, task.id(), "fix it").await;
    client.read_until("ask ask-order").await;
    client.reply("ask-order", json!({ "Which order do the dates of your invoices have?": "Day first" })).await;
    let lines = client.lines().await;
    let said: String = lines.iter().filter_map(|line| line.strip_prefix("text ")).collect();
    assert!(said.contains("Your answer was: Day first."), "{said}");
    assert_eq!(lines.last().unwrap(), "task-ended");
    let lines = Client::say(&server, task.id(), "thanks").await.lines().await;
    let said: String = lines.iter().filter_map(|line| line.strip_prefix("text ")).collect();
    assert!(said.contains("You wrote: thanks"), "{said}");
}

#[tokio::test]
async fn an_unknown_id_has_the_live_scene_where_a_turn_is_new() {
    let server = server();
    let mut client = Client::say(&server, "demo", "fix it").await;
    client.read_until("available_commands_update").await;
    let Err(error) = Client::try_dial(&server, "unknown", Mode::Attach).await else { panic!("no refusal") };
    assert_eq!(error.to_string(), "HTTP error: 404 Not Found");
}
