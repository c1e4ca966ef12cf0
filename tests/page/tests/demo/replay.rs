//! Replay on top: what a stream has brought comes once more, as after a connection that was lost, and no row changes.

use page::{Page, each_browser};
use serde_json::Value;

const ELEMENTS: &str = "[...document.querySelectorAll('#log [data-row]')]";

async fn replay(page: &Page) {
    page.press("Replay on top").await;
    page.wait_for("/^Replayed/.test(document.querySelector('#status').textContent)").await;
    page.frames(2).await;
}

#[test]
fn every_recording_played_on_top_leaves_its_rows_as_they_were() {
    each_browser(async |page| {
        page.open().await;
        // Neither a live task nor a session is a recording that could be played again.
        for recording in page.texts("#recording option:not([value=live], [value=session])").await {
            page.play_through(&recording).await;
            page.frames(2).await;
            let rows = page.rows().await;
            page.call(&format!("window.__rows = {ELEMENTS};"), vec![]).await;
            for _ in 0..2 {
                replay(page).await;
                assert_eq!(page.text("#status").await, "Replayed: no row has changed", "{recording}");
                assert_eq!(page.rows().await, rows, "{recording}");
                let same = format!("{ELEMENTS}.every((row, i) => row === window.__rows[i])");
                assert_eq!(page.eval(&same).await, Value::Bool(true), "{recording}");
            }
            page.wait_for_fact("Activity", "idle").await;
        }
    });
}

#[test]
fn there_is_nothing_to_replay_before_the_end() {
    each_browser(async |page| {
        page.open().await;
        page.press("Replay on top").await;
        page.frames(3).await;
        assert_eq!(page.text("#status").await, "Ready");
        page.press("Step").await;
        page.press("Replay on top").await;
        page.frames(3).await;
        assert!(page.text("#status").await.starts_with("Paused after piece 1"));
    });
}

#[test]
fn play_after_a_replay_begins_anew() {
    each_browser(async |page| {
        page.open().await;
        page.play_through("Reasoning, then an answer").await;
        let rows = page.rows().await;
        replay(page).await;
        page.press("Play").await;
        page.wait_for_end().await;
        assert_eq!(page.rows().await, rows);
    });
}
