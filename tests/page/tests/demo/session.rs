//! An agent on screen: a run with tools at once and a queue, and a session file as a tree in which the rows follow the leaf.

use page::{Page, each_browser};
use serde_json::json;

async fn texts(page: &Page) -> Vec<String> {
    page.rows().await.into_iter().map(|row| row.text).filter(|text| !text.is_empty()).collect()
}

async fn wait_for_texts(page: &Page, expected: &[&str]) {
    page.wait_until("the rows", async || texts(page).await == expected).await;
}

async fn choose(page: &Page, entry: &str) {
    page.click(&format!("#entries [data-entry='{entry}']")).await;
    page.frames(3).await;
}

#[test]
fn an_agents_run_shows_its_tools_and_its_queue() {
    each_browser(async |page| {
        page.open().await;
        page.choose("An agent’s run").await;
        page.set_speed("4× faster").await;
        page.press("Play").await;
        page.wait_for("window.__chat.panels().queue?.followUp?.length === 1").await;
        page.wait_for_status("Done").await;
        let rows = page.eval("window.__chat.rows().map(({ kind, state, busy }) => [kind, state, busy])").await;
        let kinds = ["user", "reasoning", "text", "tool", "tool", "user", "text", "user", "text"];
        let expected: Vec<_> = kinds.iter().map(|kind| json!([kind, "done", false])).collect();
        assert_eq!(rows, json!(expected));
        assert_eq!(page.eval("window.__chat.panels().queue ?? null").await, json!(null));
        page.press("Replay on top").await;
        page.wait_for_status("Replayed: no row has changed").await;
    });
}

#[test]
fn rows_follow_the_entry_that_is_chosen() {
    each_browser(async |page| {
        page.resize(1280, 900).await; // the tree stands beside the chat
        page.open().await;
        page.choose("A session to walk").await;
        page.press("Play").await;
        page.wait_for_status("Done").await;
        page.wait_for("document.querySelectorAll('#log [data-row]').length === window.__chat.rows().length").await;
        let whole = texts(page).await;
        assert!(whole.iter().any(|text| text == "One line for each is enough."), "{whole:?}");
        choose(page, "00000008").await;
        let other = texts(page).await;
        assert!(other.iter().any(|text| text == "Write a long page about each of them."), "{other:?}");
        assert!(!other.iter().any(|text| text == "One line for each is enough."), "{other:?}");
        page.find("#words").await.send_keys("Only Friday, then.").await.expect("keys");
        page.press("Send").await;
        page.wait_for("window.__chat.rows().at(-1).text === 'Only Friday, then.'").await;
        assert_eq!(page.texts("#entries [aria-current]").await, ["You: Only Friday, then."]);
        choose(page, "0000000c").await;
        assert_eq!(texts(page).await, whole, "back where it was");
    });
}

#[test]
fn a_dropped_session_becomes_a_tree() {
    each_browser(async |page| {
        page.resize(1280, 900).await;
        page.open().await;
        let entry = |id: &str, parent: Option<&str>, text: &str| {
            let message = json!({"role": "user", "content": text});
            json!({"type": "message", "id": id, "parentId": parent, "timestamp": "t", "message": message}).to_string()
        };
        let head = json!({"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/p"}).to_string();
        let file =
            [head, entry("a", None, "one"), entry("b", Some("a"), "two"), entry("c", Some("a"), "three")].join("\n");
        page.drop_file("own.jsonl", &file).await;
        page.wait_for_status("Done").await;
        wait_for_texts(page, &["one", "three"]).await;
        choose(page, "b").await;
        wait_for_texts(page, &["one", "two"]).await;
    });
}
