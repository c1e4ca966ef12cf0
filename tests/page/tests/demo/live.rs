//! A task on the server that serves the page: what the reader answers and says goes there, and the line can be cut.

use page::{Page, each_browser};

const SCENE: &str = "A live task";

/// Begins the scene at this speed.
async fn play(page: &Page, speed: &str) {
    page.resize(1280, 800).await; // the buttons stand beside the chat, not under it
    page.open().await;
    page.choose(SCENE).await;
    page.set_speed(speed).await;
    page.press("Play").await;
}

/// Waits for the question and answers it with its first option.
async fn answer(page: &Page) {
    page.wait_for_ask().await;
    page.click("[data-kind='question'] .cr-ask button").await;
}

async fn count(page: &Page, selector: &str) -> usize {
    page.texts(selector).await.len()
}

async fn rows(page: &Page) -> serde_json::Value {
    page.eval(
        "window.__chat.rows().map(({ kind, state, busy, text, tool }) => [kind, state, busy, text ?? tool?.title])",
    )
    .await
}

#[test]
fn a_question_is_answered_and_the_turn_goes_on_to_its_end() {
    each_browser(async |page| {
        play(page, "Instantly").await;
        answer(page).await;
        page.wait_for_status("Done").await;
        let rows = rows(page).await;
        let rows = rows.as_array().expect("rows");
        assert!(rows.iter().any(|row| row[0] == "question" && row[1] == "done"), "{rows:?}");
        assert!(rows.iter().filter(|row| row[0] == "tool").count() >= 2, "{rows:?}");
        assert!(rows.iter().all(|row| row[2] == false), "nothing is busy: {rows:?}");
        assert!(count(page, ".cr-plan li").await >= 3, "the plan is shown");
        // A further input is a further turn.
        page.find("#words").await.send_keys("And now?").await.expect("keys");
        page.press("Send").await;
        page.wait_until("another turn", async || {
            let said = "window.__chat.rows().some(({ kind, text }) => kind === 'user' && text === 'And now?')";
            page.eval(said).await == true && page.text("#status").await == "Done"
        })
        .await;
    });
}

#[test]
fn a_line_that_is_cut_is_found_again_and_no_row_is_lost_or_doubled() {
    each_browser(async |page| {
        play(page, "4× faster").await;
        page.wait_until("a tool", async || count(page, "[data-kind='tool']").await > 0).await;
        page.press("Cut the line").await;
        page.wait_until("connecting again", async || {
            page.eval("window.__chat.panels().connection?.state").await == "retrying"
        })
        .await;
        let busy = page.eval("window.__chat.rows().some((row) => row.busy)").await;
        assert_eq!(busy, false, "nothing is busy while the line is cut");
        answer(page).await;
        page.wait_for_status("Done").await;
        let users = page.eval("window.__chat.rows().filter(({ kind }) => kind === 'user').length").await;
        assert_eq!(users, 1, "what the reader said is there once");
        let questions = page.eval("window.__chat.rows().filter(({ kind }) => kind === 'question').length").await;
        assert_eq!(questions, 1);
    });
}

#[test]
fn a_turn_is_cancelled_and_a_task_is_left() {
    each_browser(async |page| {
        play(page, "4× faster").await;
        page.wait_until("a text", async || count(page, "[data-kind='reasoning'], [data-kind='text']").await > 0).await;
        page.press("Cancel the turn").await;
        page.wait_for_status("Done").await;
        let rows = rows(page).await;
        assert!(rows.to_string().contains("notice"), "it says that it was cancelled: {rows}");
        page.press("Restart").await;
        page.wait_until("a text", async || count(page, "[data-kind='reasoning'], [data-kind='text']").await > 0).await;
        page.press("Abort").await;
        page.wait_for_status("Aborted").await;
        let rest = "window.__chat.rows().every(({ busy, state }) => !busy && state !== 'streaming')";
        assert_eq!(page.eval(rest).await, true);
    });
}
