//! The page serves whoever reads it: where they have scrolled to, how wide
//! their window is, and what they have set.

use page::{Key, Page, Reader, each_browser, each_browser_of};
use serde_json::json;

/// Long enough to play for seconds and to fill several windows.
fn long_answer() -> String {
    let record = |delta| json!({"id": "chatcmpl-long", "choices": [{"index": 0, "delta": delta}]});
    let paragraphs = (1..=500).map(|n| record(json!({"content": format!("Wave {n} of many.\n\n")})));
    paragraphs.map(|record| format!("data: {record}\n\n")).collect()
}

/// The chat, and how far it is scrolled from its end.
const LOG: &str = "document.querySelector('#log')";
const GAP: &str = "((log) => log.scrollHeight - log.clientHeight - log.scrollTop)(document.querySelector('#log'))";
const JUMP: &str = "document.querySelector('.cr-jump')";

async fn wait_for_the_end_in_sight(page: &Page) {
    page.wait_for(&format!("{GAP} < 24 && {JUMP}.hidden")).await;
}

/// Plays the long answer until it fills more than the window.
async fn play_past_the_window(page: &Page) {
    page.open().await;
    page.drop_file("long.sse", &long_answer()).await;
    page.wait_for(&format!("{LOG}.scrollHeight > 2 * {LOG}.clientHeight")).await;
}

async fn play_on_to_the_end(page: &Page) {
    page.set_speed("4× faster").await;
    page.wait_for_end().await;
}

/// Turns the wheel over the chat, until it has moved away from its end.
async fn scroll_up(page: &Page) {
    page.wheel("#log", -400).await;
    page.wait_for(&format!("{GAP} > 100 && !{JUMP}.hidden")).await;
}

/// Turns the wheel until the end is in sight: one turn moves Firefox by a page at most.
async fn scroll_down_to_the_end(page: &Page) {
    page.wait_until("the end in sight", async || {
        page.wheel("#log", 5_000).await;
        page.frames(10).await;
        page.eval(&format!("{GAP} < 24 && {JUMP}.hidden")).await == true
    })
    .await;
}

#[test]
fn the_end_stays_in_sight_while_text_grows() {
    each_browser(async |page| {
        play_past_the_window(page).await;
        wait_for_the_end_in_sight(page).await;
        play_on_to_the_end(page).await;
        wait_for_the_end_in_sight(page).await;
    });
}

#[test]
fn a_reader_who_has_scrolled_up_stays_where_they_are() {
    each_browser(async |page| {
        play_past_the_window(page).await;
        scroll_up(page).await;
        page.press("Pause").await;
        page.frames(30).await; // a scroll that is under way comes to its end
        let (top, height) =
            (page.eval(&format!("{LOG}.scrollTop")).await, page.eval(&format!("{LOG}.scrollHeight")).await);
        page.press("Play").await;
        page.wait_for(&format!("{LOG}.scrollHeight > {height}")).await;
        play_on_to_the_end(page).await;
        assert_eq!(page.eval(&format!("{LOG}.scrollTop")).await, top);
        assert_eq!(page.eval(&format!("{JUMP}.hidden")).await, false);
    });
}

#[test]
fn the_jump_button_brings_the_reader_back() {
    each_browser(async |page| {
        play_past_the_window(page).await;
        scroll_up(page).await;
        page.press("Jump to latest").await;
        wait_for_the_end_in_sight(page).await;
        play_on_to_the_end(page).await;
        wait_for_the_end_in_sight(page).await;
    });
}

#[test]
fn scrolling_back_to_the_end_follows_it_again() {
    each_browser(async |page| {
        play_past_the_window(page).await;
        scroll_up(page).await;
        page.press("Pause").await;
        scroll_down_to_the_end(page).await;
        page.press("Play").await;
        play_on_to_the_end(page).await;
        wait_for_the_end_in_sight(page).await;
    });
}

#[test]
fn keys_leave_the_end_as_the_wheel_does() {
    each_browser(async |page| {
        play_past_the_window(page).await;
        page.call("document.querySelector('#log [data-row]').focus({ preventScroll: true });", vec![]).await;
        page.keys(&Key::PageUp).await;
        page.wait_for(&format!("{GAP} > 100 && !{JUMP}.hidden")).await;
    });
}

/// A chat that begins anew has nothing to scroll.
#[test]
fn the_end_is_in_sight_again_after_a_restart() {
    each_browser(async |page| {
        play_past_the_window(page).await;
        scroll_up(page).await;
        page.choose("A short answer").await;
        page.wait_for(&format!("{JUMP}.hidden")).await;
    });
}

#[test]
fn a_narrow_window_needs_no_sideways_scrolling() {
    each_browser(async |page| {
        let overflow = "const wide = (el) => el.scrollWidth > el.clientWidth; \
                        return [document.documentElement, document.body, document.querySelector('#log'), ...document.querySelectorAll('.cr-value, .scroll, .side')]\
                        .filter(wide).map((el) => el.id || el.className || el.localName);";
        page.open_narrow(360).await;
        // The longest that the line under the chat gets.
        page.choose("A tool call of 200 KB").await;
        page.wait_for("document.querySelector('#clock').textContent").await;
        for piece in 1..=10 {
            page.press("Step").await;
            page.wait_for_status(&format!("Paused after piece {piece} of 697")).await;
        }
        page.wait_for("/ 10 of 697 pieces/.test(document.querySelector('#clock').textContent)").await;
        assert_eq!(page.call(overflow, vec![]).await, json!([]));
        for recording in page.texts("#recording option").await {
            page.play_through(&recording).await;
            page.press("Wire & ops").await;
            page.frames(2).await;
            assert_eq!(page.call(overflow, vec![]).await, json!([]), "{recording}");
            page.press("Wire & ops").await;
        }
    });
}

#[test]
fn a_reader_who_wants_less_motion_sees_nothing_turn_or_blink() {
    each_browser_of(Reader::ReducedMotion, async |page| {
        page.open().await;
        assert_eq!(page.eval("matchMedia('(prefers-reduced-motion: reduce)').matches").await, true);
        page.choose("A tool call of 200 KB").await;
        page.press("Play").await;
        page.wait_for("document.querySelector('#log .cr-field')").await;
        page.press("Pause").await;
        assert!(page.rows().await.last().expect("a row").spinner);
        let moving = "document.getAnimations().filter((animation) => animation.playState === 'running').map((animation) => animation.animationName)";
        assert_eq!(page.eval(moving).await, json!([]));
        page.choose("A short answer").await;
        page.press("Play").await;
        page.wait_for("document.querySelector('#log [data-kind=text][data-state=streaming]')").await;
        assert_eq!(page.eval(moving).await, json!([]));
    });
}

#[test]
fn the_spinner_turns_for_everyone_else() {
    each_browser(async |page| {
        page.open().await;
        page.choose("A tool call of 200 KB").await;
        page.press("Play").await;
        page.wait_for("document.querySelector('#log .cr-field')").await;
        page.press("Pause").await;
        let turning = "document.querySelector('#log .cr-spinner').getAnimations().some((animation) => animation.playState === 'running')";
        assert_eq!(page.eval(turning).await, true);
    });
}
