//! Calls that the presenter runs one after the other: each waits for leave, for the checkpoint and for its end, and
//! what stands behind it waits with it.

use page::{Key, Page, Reader, each_browser, each_browser_of};
use serde_json::json;

const SCENE: &str = "Tools that wait";
const TOOLS: [&str; 4] = ["read_file", "write_to_file", "execute_command", "attempt_completion"];
const SKIPPED: &str = "Not run: a call before it was rejected";

/// Plays the scene with these switches and choices beside the chat.
async fn play(page: &Page, switches: &[&str], choices: &[(&str, &str)]) {
    open(page, switches, choices).await;
    page.press("Play").await;
}

async fn open(page: &Page, switches: &[&str], choices: &[(&str, &str)]) {
    page.resize(1280, 800).await; // the switches stand beside the chat, not under it
    page.open().await;
    page.choose(SCENE).await;
    page.set_speed("Instantly").await;
    for switch in switches {
        page.by_role("checkbox", switch).await.click().await.expect("a click");
    }
    for (name, choice) in choices {
        page.select(name, choice).await;
    }
    for name in ["pending", "waits for"] {
        page.watch(&format!("[data-turn='{name}']")).await;
    }
}

/// Feeds piece after piece until the presenter's view says so.
async fn step_until(page: &Page, name: &str, value: &str) {
    while turn(page, name).await != value {
        assert_ne!(turn(page, "complete").await, "yes", "{name} is never {value}");
        page.press("Step").await;
        page.frames(3).await;
    }
}

/// What the presenter's view says: `turn(page, "waits for")`.
async fn turn(page: &Page, name: &str) -> String {
    page.text(&format!("[data-turn='{name}']")).await
}

/// What the presenter's view has said since the start.
async fn seen(page: &Page, name: &str) -> Vec<String> {
    page.seen(&format!("[data-turn='{name}']")).await
}

async fn wait_for_turn(page: &Page, name: &str, value: &str) {
    page.wait_until(&format!("{name} {value}"), async || turn(page, name).await == value).await;
}

/// What the host of the tools did, in turn.
async fn notes(page: &Page) -> Vec<String> {
    page.texts("#host li").await
}

async fn wait_to_be_asked(page: &Page, tool: &str) {
    let note = format!("ask {tool}");
    page.wait_until(&note, async || notes(page).await.contains(&note)).await;
    page.wait_for_ask().await;
}

/// Allows the tools as they ask, up to this one, which waits then.
async fn allow_until(page: &Page, tool: &str) {
    for earlier in TOOLS.iter().take_while(|earlier| **earlier != tool) {
        wait_to_be_asked(page, earlier).await;
        page.press("Allow once").await;
    }
    wait_to_be_asked(page, tool).await;
}

/// The rows behind the user's: texts by how they begin, calls by their name, state, and why they did not run.
async fn shown(page: &Page) -> Vec<String> {
    page.frames(2).await;
    let rows = "[...document.querySelectorAll('#log [data-row]')].slice(1).map((row) => row.dataset.kind === 'tool' \
                ? [row.querySelector('.cr-title').textContent.trim(), row.dataset.state, [...row.querySelectorAll('.cr-message')].find((why) => why.checkVisibility())?.textContent].filter(Boolean).join(' | ') \
                : row.querySelector('.cr-text').textContent.match(/^\\w+/)[0])";
    serde_json::from_value(page.eval(rows).await).expect("texts")
}

#[test]
fn each_call_that_is_allowed_runs_and_then_the_turn_is_ready() {
    each_browser(async |page| {
        play(page, &[], &[]).await;
        allow_until(page, "write_to_file").await;
        // What stands behind the call waits with it.
        assert_eq!(shown(page).await, ["I", "read_file | done", "Friday", "write_to_file | pending"]);
        assert_eq!((&*turn(page, "waits for").await, &*turn(page, "locked").await), ("approval", "yes"));
        assert_eq!(turn(page, "turn").await, "under way");
        // More came while the first one waited.
        assert!(seen(page, "pending").await.contains(&"yes".to_owned()));
        for tool in &TOOLS[1..] {
            wait_to_be_asked(page, tool).await;
            page.press("Allow once").await;
        }
        page.wait_for_status("Done").await;
        page.wait_for_end().await;
        let rows = page.rows().await;
        let outputs: Vec<_> = rows.iter().filter(|row| row.kind == "tool").map(|row| &*row.output).collect();
        assert!(outputs[0].starts_with("# This week\n\n- Monday"), "{outputs:?}");
        assert_eq!(outputs[1], "Wrote 7 lines to notes/week.md");
        assert_eq!(outputs[2], "$ node check.js notes\n2 of 6 pages\n6 of 6 pages, no mistake\n");
        assert_eq!(outputs[3], "");
        assert_eq!(
            shown(page).await,
            [
                "I",
                "read_file | done",
                "Friday",
                "write_to_file | done",
                "Now",
                "execute_command | done",
                "That",
                "Task completed | done"
            ]
        );
        assert_eq!(page.texts("#log .cr-answer").await, ["Chosen: Allow once"; 4]);
        assert_eq!((&*turn(page, "turn").await, &*turn(page, "over").await), ("ready", "yes"));
        assert_eq!((&*turn(page, "waits for").await, &*turn(page, "locked").await), ("nothing", "no"));
    });
}

#[test]
fn a_call_that_asks_goes_on_with_the_answer() {
    each_browser(async |page| {
        open(page, &[], &[]).await;
        page.choose("A question by a call").await;
        page.set_speed("Instantly").await;
        page.press("Play").await;
        page.wait_for_ask().await;
        // Nobody is asked whether it may ask.
        assert_eq!(
            (&*turn(page, "waits for").await, notes(page).await.join(", ")),
            ("run", "run ask_followup_question".into())
        );
        assert_eq!(page.texts("#log .cr-ask .cr-button").await[..2], ["notes/week.md", "notes/tides.md"]);
        page.press("notes/tides.md").await;
        wait_to_be_asked(page, "attempt_completion").await;
        page.press("Allow once").await;
        page.wait_for_end().await;
        let rows = page.rows().await;
        let [.., question, completion] = &rows[..] else { panic!("{rows:#?}") };
        assert_eq!((&*question.state, &*completion.state), ("done", "done"));
        let said = page.texts("#log [data-kind=tool] > .cr-text").await;
        assert_eq!(said[0], "Which page should have the spring tide?");
        assert!(said[1].starts_with("Friday’s"), "{said:?}");
        assert_eq!(page.texts("#log .cr-answer").await, ["Answered: notes/tides.md", "Chosen: Allow once"]);
    });
}

#[test]
fn after_a_rejection_nothing_runs_and_no_text_shows() {
    each_browser(async |page| {
        play(page, &[], &[]).await;
        allow_until(page, "write_to_file").await;
        page.press("Reject").await;
        page.wait_for_status("Done").await;
        assert_eq!(
            shown(page).await,
            [
                "I",
                "read_file | done",
                "Friday",
                "write_to_file | cancelled | You rejected this call",
                &format!("execute_command | cancelled | {SKIPPED}"),
                &format!("attempt_completion | cancelled | {SKIPPED}"),
            ]
        );
        assert_eq!(page.texts("#log .cr-answer").await, ["Chosen: Allow once", "Chosen: Reject"]);
        assert_eq!(turn(page, "turn").await, "ready");
        let notes = notes(page).await;
        assert_eq!(notes.last().expect("a note"), "ask write_to_file", "{notes:?}");
    });
}

/// While the message still comes; a message that comes next has its own.
#[test]
fn the_view_says_that_a_call_was_rejected_or_used() {
    each_browser(async |page| {
        open(page, &["Several calls a message"], &[]).await;
        step_until(page, "waits for", "approval").await;
        assert_eq!((&*turn(page, "rejected").await, &*turn(page, "used").await), ("no", "no"));
        page.press("Reject").await;
        wait_for_turn(page, "rejected", "yes").await;
        open(page, &["Several calls a message"], &[]).await;
        step_until(page, "waits for", "approval").await;
        page.press("Allow once").await;
        wait_for_turn(page, "used", "yes").await;
        assert_eq!((&*turn(page, "complete").await, &*turn(page, "turn").await), ("no", "under way"));
        page.press("Play").await;
        page.wait_for_status("Done").await;
        assert_eq!(turn(page, "turn").await, "ready");
    });
}

#[test]
fn in_concurrent_mode_everything_shows_and_only_the_calls_wait() {
    each_browser(async |page| {
        play(page, &[], &[("Mode", "Concurrent")]).await;
        wait_to_be_asked(page, "read_file").await;
        let rows = |last: [&str; 4]| {
            let [read, write, command, done] = last;
            ["I", read, "Friday", write, "Now", command, "That", done].map(str::to_owned)
        };
        let pending = TOOLS.map(|tool| format!("{tool} | pending"));
        assert_eq!(shown(page).await, rows([&pending[0], &pending[1], &pending[2], &pending[3]]));
        page.press("Reject").await;
        page.wait_for_status("Done").await;
        let skipped = TOOLS.map(|tool| format!("{tool} | cancelled | {SKIPPED}"));
        let rejected = "read_file | cancelled | You rejected this call";
        assert_eq!(shown(page).await, rows([rejected, &skipped[1], &skipped[2], &skipped[3]]));
    });
}

#[test]
fn a_tool_that_never_ends_is_ended_by_an_abort() {
    each_browser(async |page| {
        play(page, &["The command never ends"], &[]).await;
        allow_until(page, "execute_command").await;
        page.press("Allow once").await;
        page.wait_for("document.querySelector('#log')?.textContent.includes('no mistake')").await;
        let rows = shown(page).await;
        page.frames(30).await;
        assert_eq!(shown(page).await, rows, "it goes on by itself");
        assert_eq!(rows.last().expect("a row"), "execute_command | running");
        assert_eq!(turn(page, "waits for").await, "run");
        assert_eq!(page.text("#status").await, "Waiting for the tools");

        page.press("Abort").await;
        page.wait_for_status("Aborted").await;
        wait_for_turn(page, "turn", "aborted").await;
        page.frames(2).await; // the presenter's view is ahead of the rows
        let last = page.rows().await.pop().expect("a row");
        assert_eq!((&*last.state, last.busy, last.spinner), ("cancelled", false, false));
        assert_eq!(last.flags, ["Cancelled"]);
        assert!(last.output.ends_with("no mistake\n"), "{}", last.output);
        assert_eq!(notes(page).await.last().expect("a note"), "stop execute_command");
    });
}

#[test]
fn an_abort_takes_the_question_back() {
    each_browser(async |page| {
        play(page, &[], &[]).await;
        allow_until(page, "write_to_file").await;
        page.press("Abort").await;
        page.wait_for_status("Aborted").await;
        wait_for_turn(page, "turn", "aborted").await;
        assert_eq!(shown(page).await, ["I", "read_file | done", "Friday", "write_to_file | cancelled"]);
        assert_eq!(page.texts("#log .cr-ask button").await, [""; 0]);
        page.frames(10).await;
        assert_eq!(page.text("#status").await, "Aborted");
    });
}

#[test]
fn what_writes_waits_for_the_checkpoint_and_what_reads_does_not() {
    each_browser(async |page| {
        play(page, &[], &[("Checkpoint", "Slow"), ("Ask before", "None"), ("Speed", "4× faster")]).await;
        page.wait_for_status("Done").await;
        let expected = [
            "run read_file",
            "end read_file",
            "checkpoint",
            "checkpoint made",
            "run write_to_file",
            "end write_to_file",
            "run execute_command",
            "end execute_command",
            "run attempt_completion",
            "end attempt_completion",
        ];
        assert_eq!(notes(page).await, expected);
        let mut waits = seen(page, "waits for").await;
        waits.retain(|waits| waits != "nothing" && waits != "–");
        assert_eq!(waits, ["run", "checkpoint", "run"]);
    });
}

#[test]
fn what_counts_as_reading_goes_before_the_checkpoint() {
    each_browser(async |page| {
        play(page, &["Writing counts as reading"], &[("Ask before", "None")]).await;
        page.wait_for_status("Done").await;
        let notes = notes(page).await;
        assert_eq!(notes[3..6], ["end write_to_file", "checkpoint", "checkpoint made"]);
    });
}

#[test]
fn without_leave_for_several_calls_a_second_one_says_so() {
    each_browser(async |page| {
        play(page, &["Several calls a message"], &[("Ask before", "Writing tools")]).await;
        page.wait_for_status("Done").await;
        let used = |tool: &str| format!("{tool} | cancelled | Not run: one call a turn");
        let mut rows = vec!["I".to_owned(), "read_file | done".to_owned()];
        rows.extend(TOOLS[1..].iter().map(|tool| used(tool)));
        assert_eq!(shown(page).await, rows);
        // What reads is not asked about.
        assert_eq!(notes(page).await, ["run read_file", "end read_file"]);
    });
}

#[test]
fn a_scene_that_begins_anew_hears_nothing_of_the_one_before() {
    each_browser(async |page| {
        play(page, &["The command never ends"], &[]).await;
        allow_until(page, "execute_command").await;
        page.press("Allow once").await;
        page.wait_for("document.querySelector('#log').textContent.includes('no mistake')").await;
        page.press("Restart").await;
        wait_to_be_asked(page, "read_file").await;
        assert_eq!(notes(page).await, ["ask read_file"]);
        assert_eq!(shown(page).await, ["I", "read_file | pending"]);
        page.choose("A short answer").await;
        assert_eq!(page.eval("['#tools', '#presenter'].every((it) => document.querySelector(it).hidden)").await, true);
    });
}

#[test]
fn the_keyboard_alone_switches_allows_and_rejects() {
    each_browser(async |page| {
        play(page, &[], &[]).await;
        page.resize(600, 740).await;
        wait_to_be_asked(page, "read_file").await;
        for (button, next) in [("Allow once", "write_to_file"), ("Reject", "")] {
            tab_to(page, &format!("document.activeElement.textContent === '{button}'")).await;
            page.keys(&Key::Enter).await;
            let row = "document.activeElement.matches('#log [data-row]')";
            assert_eq!(page.eval(row).await, true, "the focus stays on the row");
            if !next.is_empty() {
                wait_to_be_asked(page, next).await;
            }
        }
        page.wait_for_status("Done").await;
        tab_to(page, "document.activeElement.id === 'endless'").await;
        page.keys(" ").await;
        assert_eq!(page.eval("document.querySelector('#endless').checked").await, true);
    });
}

/// Presses Tab until the focus is where it should be, and can be seen.
async fn tab_to(page: &Page, there: &str) {
    for _ in 0..40 {
        page.keys(&Key::Tab).await;
        if page.eval(there).await == true {
            let seen = "(({ x, y, width, height }) => document.activeElement.matches(':focus-visible') && \
                        document.activeElement.contains(document.elementFromPoint(x + width / 2, y + height / 2)))\
                        (document.activeElement.getBoundingClientRect())";
            assert_eq!(page.eval(seen).await, true, "the focus cannot be seen where {there}");
            return;
        }
    }
    panic!("Tab does not lead to where {there}");
}

/// The scene as it asks, as a tool runs, and at its end.
async fn axe_finds_no_barrier(page: &Page) {
    play(page, &["The command never ends"], &[]).await;
    allow_until(page, "write_to_file").await;
    assert_eq!(page.axe().await, [""; 0]);
    page.press("Allow once").await;
    wait_to_be_asked(page, "execute_command").await;
    page.press("Allow once").await;
    page.wait_for("document.querySelector('#log').textContent.includes('no mistake')").await;
    assert_eq!(page.axe().await, [""; 0]);
    page.press("Abort").await;
    wait_for_turn(page, "turn", "aborted").await;
    assert_eq!(page.axe().await, [""; 0]);
}

#[test]
fn axe_finds_no_barrier_in_the_scene() {
    each_browser(async |page| axe_finds_no_barrier(page).await);
}

#[test]
fn axe_finds_no_barrier_in_the_scene_in_dark_colours() {
    each_browser_of(Reader::Dark, async |page| axe_finds_no_barrier(page).await);
}

#[test]
fn with_less_motion_nothing_moves_while_a_tool_runs() {
    each_browser_of(Reader::ReducedMotion, async |page| {
        play(page, &["The command never ends"], &[("Ask before", "None")]).await;
        page.wait_for("document.querySelector('#log').textContent.includes('no mistake')").await;
        let moving = "document.getAnimations().filter((animation) => animation.playState === 'running').length";
        assert_eq!(page.eval(moving).await, json!(0));
    });
}
