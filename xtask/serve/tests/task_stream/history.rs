//! Attaching to a task of several turns, and its pages of history.

use serde_json::Value;
use serve::Server;
use serve::task_stream::{Clock, Mode, Script, Task};

use crate::client::{Client, read, server, text};

/// A second between two records.
const CLOCK: Clock = Clock { start_ms: 1_700_000_000_000, step_ms: 1_000 };

/// Five turns that are over.
fn five(server: &Server) -> std::sync::Arc<Task> {
    let past = ["1", "2", "3", "4", "5"].map(String::from).to_vec();
    server.tasks().create(Script { past, clock: Some(CLOCK), ..Script::of([vec![text("re {input}")]]) })
}

#[tokio::test]
async fn a_replay_is_the_latest_turn_as_it_was_live_after_a_cursor() {
    let server = server();
    let task = five(&server);
    let (live, _) = Client::say(&server, task.id(), "6").await.rest().await;
    let (replay, _) = Client::dial(&server, task.id(), Mode::Attach).await.rest().await;
    assert_eq!(read(&replay[0]), r#"cursor {"cursor":"1700000020000000000","has_more":true}"#);
    assert_eq!(replay[1..], live);
}

#[tokio::test]
async fn an_empty_cursor_is_not_sent() {
    let server = server();
    let task = server.tasks().create(Script::of([vec![text("a")]]));
    let (live, _) = Client::say(&server, task.id(), "1").await.rest().await;
    let (replay, _) = Client::dial(&server, task.id(), Mode::Attach).await.rest().await;
    assert_eq!(replay, live);
}

fn get(server: &Server, id: &str, query: &str) -> Value {
    let answer = minreq::get(format!("{}api/v1/users/tasks/rounds?id={id}{query}", server.url())).send().unwrap();
    assert_eq!(answer.status_code, 200, "{}", answer.as_str().unwrap());
    serde_json::from_str(answer.as_str().unwrap()).unwrap()
}

/// The turns of a page by number, whether there are more, and the page's cursor.
fn page(server: &Server, task: &Task, query: &str) -> (Vec<u64>, bool, String) {
    let data = get(server, task.id(), query)["data"].take();
    let mut turns: Vec<u64> =
        data["chunks"].as_array().unwrap().iter().map(|chunk| chunk["turn_seq"].as_u64().unwrap()).collect();
    turns.dedup();
    (turns, data["has_more"].as_bool().unwrap(), data["next_cursor"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn pages_go_back_from_the_newest_turn() {
    let server = server();
    let task = five(&server);
    let (turns, more, cursor) = page(&server, &task, "");
    assert_eq!((turns, more), (vec![5, 4], true));
    let (turns, more, cursor) = page(&server, &task, &format!("&cursor={cursor}&limit=2"));
    assert_eq!((turns, more), (vec![3, 2], true));
    let (turns, more, cursor) = page(&server, &task, &format!("&cursor={cursor}&limit=2"));
    assert_eq!((turns, more), (vec![1], false));
    let nothing = (vec![], false, String::new());
    assert_eq!(page(&server, &task, &format!("&cursor={cursor}")), nothing);
}

#[test]
fn pages_go_forward_and_include_their_cursor_where_they_are_asked_to() {
    let server = server();
    let task = five(&server);
    let (_, _, third) = page(&server, &task, "&limit=3");
    assert_eq!(page(&server, &task, &format!("&cursor={third}&direction=forward")).0, [4, 5]);
    assert_eq!(page(&server, &task, &format!("&cursor={third}&inclusive=true")).0, [3, 2]);
    assert_eq!(page(&server, &task, "&limit=99").0, [5, 4, 3, 2, 1]);
}

#[test]
fn a_chunk_of_a_page_has_an_event_and_nanoseconds() {
    let server = server();
    let task = five(&server);
    let answer = get(&server, task.id(), "&limit=1");
    assert_eq!((&answer["code"], answer["data"]["chunks"].as_array().unwrap().len()), (&0.into(), 4));
    let expected =
        r#"{"data":null,"event":"task-started","kind":"","seq":13,"timestamp":1700000017000000000,"turn_seq":5}"#;
    assert_eq!(answer["data"]["chunks"][1].to_string(), expected);
    assert_eq!(answer["data"]["chunks"][0]["seq"], Value::Null);
}
