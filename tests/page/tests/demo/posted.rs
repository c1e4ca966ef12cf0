//! Scenes of messages that an extension posts: they wait for the reader, and go on as the reader decides.

use page::{Key, Page, each_browser};
use serde_json::{Value, json};

const TASK: &str = "A coding task";

/// Plays a scene until it first waits for the reader.
async fn play_to_ask(page: &Page, scene: &str) {
    page.open().await;
    page.choose(scene).await;
    page.set_speed("Instantly").await;
    page.press("Play").await;
    page.wait_for_ask().await;
}

/// Kinds and states of the rows.
async fn kinds(page: &Page) -> Vec<String> {
    page.rows().await.iter().map(|row| format!("{} {}", row.kind, row.state)).collect()
}

/// What the page has sent back, the last first.
async fn sent(page: &Page) -> Vec<Value> {
    let sent = page.texts("#sent code").await;
    sent.iter().rev().map(|message| serde_json::from_str(message).expect("JSON")).collect()
}

#[test]
fn a_task_comes_to_rows_of_its_kinds() {
    each_browser(async |page| {
        page.open().await;
        page.play_through(TASK).await;
        let expected = [
            "user done",
            "notice done",
            "reasoning done",
            "text done",
            "tool done",
            "tool done",
            "tool done",
            "text done",
            "tool done",
            "text done",
            "tool done",
            "text done",
            "question done",
            "user done",
            "text done",
        ];
        assert_eq!(kinds(page).await, expected);
        let rows = page.rows().await;
        assert_eq!(rows[8].title, "newFileCreated src/print.js");
        assert!(rows[8].fields.iter().any(|(path, text)| path == "content" && text.contains("export function table")));
        assert_eq!(page.texts("#log .cr-fold").await, ["3 steps"], "what only read");
        assert!(page.text("#panels .cr-plan").await.starts_with("Plan: 3 of 3 done"));
        assert!(page.text("#panels .cr-usage").await.contains("Cost: $0.0514"));
        page.wait_for_fact("Activity", "idle").await;
    });
}

#[test]
fn a_command_waits_until_it_is_allowed_and_shows_what_it_writes() {
    each_browser(async |page| {
        play_to_ask(page, TASK).await;
        let rows = page.rows().await;
        let command = rows.last().expect("a row");
        assert_eq!((&*command.kind, &*command.state), ("tool", "pending"));
        assert_eq!(command.fields, [("command".to_owned(), "node --test".to_owned())]);
        page.frames(30).await;
        assert_eq!(page.rows().await, rows, "it goes on by itself");

        page.press("Allow once").await;
        page.wait_for("document.querySelector('#log [data-kind=question]')").await;
        page.wait_for_ask().await;
        let rows = page.rows().await;
        let command = rows.iter().rev().find(|row| row.kind == "tool").expect("the command");
        assert_eq!(command.state, "done");
        assert!(command.output.starts_with("$ node --test\n############ 12 of 12\n\n✔"), "{:?}", command.output);
        assert!(command.output.ends_with("12 passed in 1.3 s\n"), "{:?}", command.output);
        let sent = sent(page).await;
        assert_eq!((&sent[0]["type"], &sent[0]["option"]), (&json!("approve"), &json!("approve")));
    });
}

#[test]
fn a_command_that_is_not_allowed_does_not_run() {
    each_browser(async |page| {
        play_to_ask(page, TASK).await;
        page.press("Reject").await;
        page.wait_for_end().await;
        let rows = page.rows().await;
        let command = rows.iter().rposition(|row| row.kind == "tool").expect("the command");
        assert_eq!(rows[command].output, "");
        let after: Vec<_> = rows[command + 1..].iter().map(|row| (&*row.kind, &*row.state)).collect();
        assert_eq!(after, [("notice", "done"), ("text", "done")]);
        assert_eq!(sent(page).await[0]["type"], "reject");
        assert!(page.text("#panels .cr-plan").await.starts_with("Plan: 2 of 3 done"));
    });
}

#[test]
fn an_answer_comes_back_as_what_the_user_said() {
    each_browser(async |page| {
        play_to_ask(page, TASK).await;
        page.press("Allow once").await;
        page.wait_for("document.querySelector('#log [data-kind=question]')").await;
        page.press("Metres everywhere").await;
        page.wait_for_end().await;
        let rows = page.rows().await;
        let [.., question, user, text] = &rows[..] else { panic!("{rows:#?}") };
        assert_eq!((&*question.kind, &*question.state), ("question", "done"));
        assert_eq!((&*user.kind, &*user.text), ("user", "Metres everywhere"));
        assert!(text.text.ends_with("Without the flag: Metres everywhere."), "{}", text.text);
        assert_eq!(sent(page).await[0]["answer"], "Metres everywhere");
    });
}

#[test]
fn an_answer_in_ones_own_words_is_heard_too() {
    each_browser(async |page| {
        play_to_ask(page, TASK).await;
        page.press("Allow once").await;
        page.wait_for("document.querySelector('#log [data-kind=question]')").await;
        page.wait_for_ask().await;
        let own = page.find("#log [data-kind=question] input").await;
        own.send_keys(&format!("Fathoms, of course{}", char::from(Key::Enter))).await.expect("an answer");
        page.wait_for_end().await;
        let rows = page.rows().await;
        assert_eq!(rows[rows.len() - 2].text, "Fathoms, of course");
    });
}

#[test]
fn a_server_that_is_busy_is_waited_for_and_can_be_tried_again() {
    each_browser(async |page| {
        page.open().await;
        page.choose("A server that is busy").await;
        page.set_speed("4× faster").await;
        page.watch("#log [data-kind=retry]:has(.cr-spinner)").await;
        page.press("Play").await;
        page.wait_for_ask().await;
        let seen = page.seen("#log [data-kind=retry]:has(.cr-spinner)").await;
        for seconds in ["3 s", "2 s", "1 s"] {
            assert!(seen.iter().any(|text| text.contains(seconds)), "{seconds}: {seen:?}");
        }
        let rows = page.rows().await;
        assert!(rows.last().expect("a row").error.contains("503"), "{rows:#?}");
        assert!(rows.iter().all(|row| !row.busy), "{rows:#?}");
        page.press("Try again").await;
        page.wait_for_end().await;
        assert_eq!(kinds(page).await, ["user done", "reasoning done", "tool done", "text done"]);
    });
}

#[test]
fn a_scene_that_waits_can_be_aborted() {
    each_browser(async |page| {
        play_to_ask(page, TASK).await;
        page.press("Abort").await;
        page.wait_for_end().await;
        let rows = page.rows().await;
        assert_eq!(rows.last().expect("the command").state, "cancelled");
        assert_eq!(page.eval("document.querySelector('#log .cr-ask button')").await, Value::Null);
    });
}

#[test]
fn a_place_that_is_opened_is_sent_back() {
    each_browser(async |page| {
        play_to_ask(page, TASK).await;
        page.call("[...document.querySelectorAll('#log .cr-place')].at(-1).click();", vec![]).await;
        let sent = sent(page).await;
        assert_eq!((&sent[0]["type"], &sent[0]["path"]), (&json!("open"), &json!("src/print.js")));
        assert_eq!(page.text("#status").await, "Waiting for you");
    });
}
