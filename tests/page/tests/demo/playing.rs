//! Recordings become rows.

use page::{Page, each_browser};
use serde_json::json;

const RECORDINGS: [&str; 16] = [
    "A short answer",
    "Reasoning, then an answer",
    "A tool call of 200 KB",
    "Two tool calls at once",
    "An answer cut by length",
    "An error in mid-answer",
    "A hostile stream",
    "Two choices",
    "A coding task",
    "A server that is busy",
    "Two calls in preparation",
    "Sources, and a call in parts",
    "Tools that wait",
    "A question by a call",
    "An agent’s run",
    "A session to walk",
];

/// Plays a recording at the given speed to its end.
async fn play(page: &Page, recording: &str, speed: &str) {
    page.open().await;
    page.choose(recording).await;
    page.set_speed(speed).await;
    page.press("Play").await;
    page.wait_for_end().await;
}

#[test]
fn an_answer_is_a_row_with_the_text_of_its_wire() {
    each_browser(async |page| {
        play(page, "A short answer", "4× faster").await;
        assert_eq!(page.text("#status").await, "Done");
        let wire = page.wire("A short answer").await;
        let rows = page.rows().await;
        let shown: Vec<_> = rows.iter().map(|row| (&*row.role, &*row.name, &*row.state, &*row.text)).collect();
        assert_eq!(shown, [("article", "You", "done", &*wire.ask), ("article", "Assistant", "done", &*wire.texts[0])]);
    });
}

#[test]
fn text_grows_in_its_place() {
    each_browser(async |page| {
        page.open().await;
        page.choose("A short answer").await;
        page.watch("#log [data-kind=text] .cr-text").await;
        page.set_speed("4× faster").await;
        page.press("Play").await;
        page.wait_for("document.querySelector('#log [data-kind=text]')").await;
        page.call("window.__row = document.querySelector('#log [data-kind=text]');", vec![]).await;
        page.wait_for_end().await;
        let seen = page.seen("#log [data-kind=text] .cr-text").await;
        assert!(seen.len() > 5, "{seen:?}");
        for (shorter, longer) in seen.iter().zip(&seen[1..]) {
            assert!(longer.starts_with(&**shorter), "{shorter:?}, then {longer:?}");
        }
        assert_eq!(page.eval("window.__row === document.querySelector('#log [data-kind=text]')").await, true);
    });
}

#[test]
fn reasoning_stands_before_the_answer() {
    each_browser(async |page| {
        play(page, "Reasoning, then an answer", "4× faster").await;
        let wire = page.wire("Reasoning, then an answer").await;
        let rows = page.rows().await;
        let shown: Vec<_> = rows.iter().map(|row| (&*row.kind, &*row.name, &*row.text)).collect();
        assert_eq!(
            shown,
            [
                ("user", "You", &*wire.ask),
                ("reasoning", "Reasoning", &*wire.reasoning),
                ("text", "Assistant", &*wire.texts[0])
            ]
        );
        assert_eq!(page.text("#status").await, "Done");
    });
}

#[test]
fn reasoning_says_when_it_is_over() {
    each_browser(async |page| {
        page.open().await;
        page.watch("#log [data-kind=reasoning] .cr-title").await;
        page.choose("Reasoning, then an answer").await;
        page.set_speed("4× faster").await;
        page.press("Play").await;
        page.wait_for_end().await;
        assert_eq!(page.seen("#log [data-kind=reasoning] .cr-title").await, ["Thinking…", "Thought"]);
    });
}

#[test]
fn usage_stands_in_the_panel() {
    each_browser(async |page| {
        play(page, "Reasoning, then an answer", "Instantly").await;
        let usage = page.wire("Reasoning, then an answer").await.usage;
        let count = |value: &serde_json::Value| value.as_u64().expect("a count").to_string();
        let shown = page.text("#panels .cr-usage").await;
        for (number, word) in [
            (count(&usage["prompt_tokens"]), "tokens in"),
            (count(&usage["completion_tokens"]), "out"),
            (count(&usage["completion_tokens_details"]["reasoning_tokens"]), "reasoning"),
        ] {
            assert!(shown.contains(&format!("{number} {word}")), "{shown}");
        }
        assert!(!shown.contains("cached") && !shown.contains("Cost"), "{shown}");
    });
}

#[test]
fn every_recording_ends_at_rest() {
    each_browser(async |page| {
        page.open().await;
        assert_eq!(page.texts("#recording option:not([value=live])").await, RECORDINGS);
        let formats = "[...document.querySelectorAll('#recording optgroup')].map((group) => group.label)";
        assert_eq!(
            page.eval(formats).await,
            json!(["OpenAI chat", "Say messages", "API stream", "Agent events", "Task stream"])
        );
        for recording in RECORDINGS {
            page.play_through(recording).await;
            page.wait_for_fact("Activity", "idle").await;
            for row in page.rows().await {
                assert!(!row.busy && !row.spinner, "{recording}: {row:#?}");
            }
        }
    });
}

#[test]
fn every_speed_ends_with_the_same_rows() {
    each_browser(async |page| {
        play(page, "Two tool calls at once", "Instantly").await;
        let rows = page.rows().await;
        for speed in ["As recorded", "4× faster"] {
            play(page, "Two tool calls at once", speed).await;
            assert_eq!(page.rows().await, rows, "{speed}");
        }
    });
}

#[test]
fn a_second_choice_is_a_row_that_says_so() {
    each_browser(async |page| {
        play(page, "Two choices", "Instantly").await;
        let wire = page.wire("Two choices").await;
        let rows = page.rows().await;
        let shown: Vec<_> = rows[1..].iter().map(|row| (&*row.choice, &*row.text)).collect();
        assert_eq!(shown, [("", &*wire.texts[0]), ("Alternative 2", &*wire.texts[1])]);
    });
}

#[test]
fn an_answer_cut_by_length_says_so() {
    each_browser(async |page| {
        play(page, "An answer cut by length", "Instantly").await;
        let row = page.row("text").await;
        assert_eq!(row.flags, ["Cut short"]);
        assert_eq!(row.text, page.wire("An answer cut by length").await.texts[0]);
    });
}

#[test]
fn the_wire_and_the_ops_can_be_watched() {
    each_browser(async |page| {
        page.open().await;
        page.press("Wire & ops").await;
        page.set_speed("4× faster").await;
        page.press("Play").await;
        page.wait_for_end().await;
        page.wait_for("document.querySelector('#ops').textContent.includes('append')").await;
        assert!(page.text("#wire").await.ends_with("data: [DONE]\n\n┊"));
        page.press("Wire & ops").await;
        assert_eq!(page.eval("document.querySelector('#wires').hidden").await, json!(true));
    });
}
