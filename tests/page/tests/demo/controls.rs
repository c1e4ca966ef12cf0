//! Play, pause, step, restart and speed, by pointer and by keyboard alone.

use page::{Key, Page, each_browser};
use serde_json::json;

const ANSWER: &str = "A short answer";

async fn number_of_pieces(page: &Page) -> u64 {
    let clock = page.text("#clock").await;
    let (_, pieces) = clock.split_once(" of ").unwrap_or_else(|| panic!("{clock}"));
    pieces.split_once(' ').expect("pieces").0.parse().expect("a number")
}

#[test]
fn pause_holds_and_play_goes_on() {
    each_browser(async |page| {
        page.open().await;
        page.press("Play").await;
        page.wait_for("document.querySelector('#log [data-kind=text] .cr-text')?.textContent.length > 10").await;
        page.press("Pause").await;
        page.wait_for_status("Paused").await;
        page.frames(2).await;
        let rows = page.rows().await;
        assert_eq!(rows[1].state, "streaming");
        page.frames(20).await;
        assert_eq!(page.rows().await, rows);
        page.set_speed("4× faster").await;
        page.press("Play").await;
        page.wait_for_end().await;
        assert_eq!(page.row("text").await.text, page.wire(ANSWER).await.texts[0]);
    });
}

#[test]
fn step_feeds_one_piece() {
    each_browser(async |page| {
        page.open().await;
        page.wait_for("document.querySelector('#clock').textContent").await;
        let before = number_of_pieces(page).await;
        page.choose("An error in mid-answer").await;
        // The clock follows with a frame.
        page.wait_until("another recording", async || number_of_pieces(page).await != before).await;
        let pieces = number_of_pieces(page).await;
        for piece in 1..pieces {
            page.press("Step").await;
            assert_eq!(page.text("#status").await, format!("Paused after piece {piece} of {pieces}"));
        }
        page.press("Step").await;
        page.wait_for_end().await;
        assert_eq!(page.row("text").await.text, page.wire("An error in mid-answer").await.texts[0]);
    });
}

#[test]
fn restart_begins_anew() {
    each_browser(async |page| {
        page.open().await;
        page.choose(ANSWER).await;
        page.press("Play").await;
        page.wait_for("document.querySelector('#log [data-kind=text] .cr-text')?.textContent.length > 10").await;
        page.press("Pause").await;
        page.call("window.__old = document.querySelector('#log [data-kind=text]');", vec![]).await;
        page.press("Restart").await;
        page.wait_for("!window.__old.isConnected").await;
        page.set_speed("Instantly").await;
        page.wait_for_end().await;
        let rows = page.rows().await;
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].text, page.wire(ANSWER).await.texts[0]);
    });
}

#[test]
fn play_after_the_end_begins_anew() {
    each_browser(async |page| {
        page.open().await;
        page.play_through(ANSWER).await;
        let rows = page.rows().await;
        page.call("window.__old = document.querySelector('#log [data-kind=text]');", vec![]).await;
        page.press("Play").await;
        page.wait_for("!window.__old.isConnected").await;
        page.wait_for_end().await;
        assert_eq!(page.rows().await, rows);
    });
}

#[test]
fn the_speed_changes_while_it_plays() {
    each_browser(async |page| {
        page.open().await;
        page.choose("A tool call of 200 KB").await;
        page.press("Play").await;
        page.wait_for("document.querySelector('#log .cr-field')").await;
        page.set_speed("4× faster").await;
        page.set_speed("Instantly").await;
        page.wait_for_end().await;
        assert_eq!(page.text("#status").await, "Done");
    });
}

#[test]
fn another_recording_takes_the_place_of_the_one_that_plays() {
    each_browser(async |page| {
        page.open().await;
        page.choose(ANSWER).await;
        page.press("Play").await;
        page.wait_for("document.querySelector('#log [data-kind=text]')").await;
        page.choose("Two choices").await;
        assert_eq!(page.text("#status").await, "Ready");
        page.wait_for("!document.querySelector('#log [data-row]')").await;
    });
}

#[test]
fn single_keys_do_what_the_buttons_do() {
    each_browser(async |page| {
        page.open().await;
        page.keys("3").await;
        assert_eq!(
            page.eval("document.querySelector('#recording').selectedOptions[0].text").await,
            "A tool call of 200 KB"
        );
        page.keys("s").await;
        page.wait_for("/^Paused after piece 1 of/.test(document.querySelector('#status').textContent)").await;
        page.keys("p").await;
        page.wait_for_status("Playing").await;
        page.wait_for("document.querySelector('#log .cr-field')").await;
        page.keys("p").await;
        page.wait_for_status("Paused").await;
        page.keys("r").await;
        page.wait_for_status("Playing").await;
        page.wait_for("document.querySelector('#log .cr-field')").await;
        page.keys("a").await;
        page.wait_for_status("Aborted").await;
        page.keys("w").await;
        assert_eq!(page.eval("document.querySelector('#wires').hidden").await, false);
        page.keys("?").await;
        assert_eq!(page.eval("document.querySelector('#keys').open").await, true);
    });
}

#[test]
fn single_keys_can_be_turned_off() {
    each_browser(async |page| {
        page.open().await;
        page.keys("?").await;
        let single_keys = page.by_role("checkbox", "Single keys are on").await;
        single_keys.click().await.expect("a click");
        page.call("document.activeElement.blur();", vec![]).await;
        page.keys("sp").await;
        page.frames(3).await;
        assert_eq!(page.text("#status").await, "Ready");
    });
}

/// Tab from the page's start; answers with what is reached, until `wanted` is.
async fn tab_to(page: &Page, wanted: &str) -> Vec<String> {
    let mut reached = Vec::new();
    while reached.last().is_none_or(|last| last != wanted) {
        assert!(reached.len() < 30, "{wanted} is not among {reached:?}");
        page.keys(&Key::Tab).await;
        let focused = "const el = document.activeElement, style = getComputedStyle(el); \
                       return [el.id || el.dataset.row || el.localName, \
                       el.matches(':focus-visible') && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1];";
        let focused = page.call(focused, vec![]).await;
        let name = focused[0].as_str().expect("a name").to_owned();
        assert_eq!(focused[1], true, "the focus on {name} cannot be seen");
        reached.push(name);
    }
    reached
}

#[test]
fn tab_reaches_every_control_and_the_focus_shows() {
    each_browser(async |page| {
        page.open().await;
        let reached = tab_to(page, "hood").await;
        assert_eq!(
            reached,
            ["recording", "open", "play", "pause", "step", "abort", "restart", "replay", "speed", "hood"]
        );
    });
}

#[test]
fn the_keyboard_alone_plays_steps_and_aborts() {
    each_browser(async |page| {
        page.open().await;
        tab_to(page, "recording").await;
        page.keys(&Key::Down).await;
        page.keys(&Key::Down).await;
        assert_eq!(
            page.eval("document.querySelector('#recording').selectedOptions[0].text").await,
            "A tool call of 200 KB"
        );
        tab_to(page, "play").await;
        page.keys(&Key::Enter).await;
        page.wait_for("document.querySelector('#log .cr-field')").await;
        tab_to(page, "pause").await;
        page.keys(" ").await;
        page.wait_for_status("Paused").await;
        tab_to(page, "step").await;
        page.keys(&Key::Enter).await;
        page.wait_for("/^Paused after piece/.test(document.querySelector('#status').textContent)").await;
        tab_to(page, "abort").await;
        page.keys(&Key::Enter).await;
        page.wait_for_status("Aborted").await;
        tab_to(page, "restart").await;
        page.keys(&Key::Enter).await;
        page.wait_for_status("Playing").await;
        tab_to(page, "speed").await;
        page.keys(&Key::Down).await;
        page.keys(&Key::Down).await;
        page.wait_for_end().await;
        assert_eq!(page.text("#status").await, "Done");
    });
}

#[test]
fn arrows_move_from_row_to_row() {
    each_browser(async |page| {
        page.open().await;
        page.play_through(ANSWER).await;
        tab_to(page, "hood").await;
        page.keys(&Key::Tab).await;
        let at = "[...document.querySelectorAll('#log [data-row]')].indexOf(document.activeElement)";
        assert_eq!(page.eval(at).await, json!(1), "the last row");
        page.keys(&Key::Up).await;
        assert_eq!(page.eval(at).await, json!(0));
        page.keys(&Key::Down).await;
        assert_eq!(page.eval(at).await, json!(1));
    });
}
