//! The presenter joined to a chat: calls written as tags, or brought by the wire, run in their turn; what stands
//! behind them waits with them; what cannot run says why.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{Asked, End, Format, Limits, Options, Outcome, RowId, RunTools, StreamOptions, TaggedTools, WaitId};
use serde_json::{Value, json};
use support::{Chat, Cuts, Random, chat_of, unindent};

const READ: &str = "<read_file><path>a</path></read_file>";
const WRITE: &str = "<write_to_file><path>b</path><content>x</content></write_to_file>";

fn asks() -> RunTools {
    RunTools { approval: true, ..RunTools::default() }
}

fn free() -> RunTools {
    RunTools { parallel: true, ..RunTools::default() }
}

/// A chat, and what it asked for.
struct Play {
    chat: Chat,
    wait: Option<WaitId>,
    row: Option<RowId>,
}

impl Play {
    fn of(format: Format, tagged: bool, run_tools: RunTools) -> Play {
        Play::with(Options::default(), format, tagged, run_tools)
    }

    fn with(options: Options, format: Format, tagged: bool, run_tools: RunTools) -> Play {
        let mut chat = chat_of(format, options);
        let tagged_tools = tagged.then(TaggedTools::default);
        chat.stream = chat.chat.stream(StreamOptions { tagged_tools, run_tools: Some(run_tools), ..format.into() });
        Play { chat, wait: None, row: None }
    }

    fn new(run_tools: RunTools) -> Play {
        Play::of(Format::ApiStream, true, run_tools)
    }

    fn say(&mut self, text: &str) -> &mut Self {
        self.message(&json!({"type": "text", "text": text}))
    }

    fn message(&mut self, message: &Value) -> &mut Self {
        self.chat.chat.push_message(self.chat.stream, &message.to_string());
        self
    }

    fn finish(&mut self) -> &mut Self {
        self.chat.finish();
        self
    }

    /// What the chat asked for since the last look.
    #[track_caller]
    fn asks(&mut self, expected: &str) -> &mut Self {
        let asked: Vec<Asked> = self.chat.chat.take_asked().map(|(_, asked)| asked).collect();
        let name = |chat: &Chat, row: RowId| {
            let tool = chat.chat.row(row).and_then(|row| row.tool.as_deref());
            tool.map_or("nothing".to_owned(), |tool| tool.name.clone())
        };
        let mut words = Vec::new();
        for asked in asked {
            let (word, wait, row) = match asked {
                Asked::Checkpoint(wait) => ("checkpoint".to_owned(), Some(wait), None),
                Asked::Approve(wait, row) => (format!("approve {}", name(&self.chat, row)), Some(wait), Some(row)),
                Asked::Run(wait, row) => (format!("run {}", name(&self.chat, row)), Some(wait), Some(row)),
                Asked::Cancel(_) => ("cancel".to_owned(), None, None),
                Asked::Ready => ("ready".to_owned(), None, None),
                Asked::Aborted => ("aborted".to_owned(), None, None),
            };
            self.wait = wait.or(self.wait);
            self.row = row.or(self.row);
            words.push(word);
        }
        assert_eq!(words.join(", "), expected);
        self
    }

    fn abort(&mut self) -> &mut Self {
        self.chat.chat.abort(self.chat.stream);
        self
    }

    fn restart(&mut self) -> &mut Self {
        self.chat.chat.restart(self.chat.stream);
        self
    }

    #[track_caller]
    fn answer(&mut self, outcome: Outcome<'_>) -> &mut Self {
        let wait = self.wait.expect("nothing was asked");
        assert!(self.chat.chat.settle(self.chat.stream, wait, outcome), "nobody waits for it");
        self
    }

    fn gives(&mut self, output: &str) -> &mut Self {
        self.answer(Outcome::Ended { output: Some(output), is_error: false })
    }

    /// Where the presenter stands: the block at hand, how many there are, what it waits for, and what is so.
    #[track_caller]
    fn stands(&mut self, expected: &str) -> &mut Self {
        let told: Value = serde_json::from_str(&self.chat.chat.turn_json(self.chat.stream).unwrap()).unwrap();
        let mut words = vec![format!("{} of {}", told["index"], told["blocks"])];
        words.extend(told["row"].as_u64().map(|row| format!("row {row}")));
        words.extend(told["waitsFor"].as_str().map(|stage| stage.to_owned()));
        let all = ["locked", "pending", "rejected", "used", "complete", "aborted", "over"];
        words.extend(all.into_iter().filter(|name| told[name].as_bool().unwrap()).map(str::to_owned));
        assert_eq!(words.join(", "), expected);
        self
    }

    #[track_caller]
    fn rows(&mut self, expected: &str) -> &mut Self {
        self.chat.drain();
        assert_eq!(self.chat.lines(), unindent(expected));
        self
    }
}

#[test]
fn what_stands_behind_a_call_waits_with_it() {
    let mut play = Play::new(RunTools { parallel: true, ..asks() });
    play.say("I look.").rows(r#"text streaming "I look.""#);
    play.say(READ).say("Then ").say("more.").asks("approve read_file").rows(
        r#"
        text done "I look."
        tool pending read_file(<path>a</path>) whole may
        "#,
    );
    play.answer(Outcome::Yes).asks("run read_file").rows(
        r#"
        text done "I look."
        tool running read_file(<path>a</path>) whole chose approve
        "#,
    );
    play.gives("hello").asks("").rows(
        r#"
        text done "I look."
        tool done read_file(<path>a</path>) whole output "hello" chose approve
        text streaming "Then more."
        "#,
    );
    play.finish().asks("ready");
    assert_eq!(play.chat.chat.is_turn_over(play.chat.stream), Some(true));
}

/// A half call shows while it is at hand, and only then.
#[test]
fn a_call_shows_as_it_streams_when_its_turn_has_come() {
    let mut play = Play::new(free());
    play.say("<read_file><path>a").asks("").rows("tool preparing read_file(<path>a)");
    play.say("</path></read_file><write_to_file><path>b")
        .asks("run read_file")
        .rows("tool running read_file(<path>a</path>) whole");
    play.gives("").asks("").rows(
        r#"
        tool done read_file(<path>a</path>) whole output ""
        tool preparing write_to_file(<path>b)
        "#,
    );
}

#[test]
fn a_rejection_ends_the_turn_and_each_call_behind_it_says_so() {
    let mut play = Play::new(RunTools { parallel: true, ..asks() });
    play.say(READ).say("Text.").say(WRITE).say("<list_files><path>c").asks("approve read_file");
    play.answer(Outcome::No).asks("").rows(
        r#"
        tool cancelled read_file(<path>a</path>) whole tool.rejected chose reject
        tool cancelled write_to_file(<path>b</path><content>x</content>) whole tool.skipped
        "#,
    );
    play.say("</path></list_files>").say("More text.").finish().asks("ready").rows(
        r#"
        tool cancelled read_file(<path>a</path>) whole tool.rejected chose reject
        tool cancelled write_to_file(<path>b</path><content>x</content>) whole tool.skipped
        tool cancelled list_files(<path>c</path>) whole tool.skipped
        "#,
    );
    assert_eq!(play.chat.chat.tally().records(), 6, "what does not show is counted all the same");
    for hidden in [2, 5] {
        assert!(play.chat.chat.row(RowId::new(hidden).unwrap()).is_none(), "nobody keeps what never shows");
    }
}

#[test]
fn one_call_a_turn_unless_parallel() {
    let mut play = Play::new(RunTools::default());
    play.say(READ).say("Text.").say(WRITE).asks("run read_file").gives("1").finish().asks("ready").rows(
        r#"
        tool done read_file(<path>a</path>) whole output "1"
        tool cancelled write_to_file(<path>b</path><content>x</content>) whole tool.used
        "#,
    );
}

#[test]
fn the_first_call_that_changes_something_waits_for_the_checkpoint() {
    let mut play = Play::new(RunTools { checkpoint: true, ..free() });
    play.say(READ).asks("run read_file").gives("1").say(WRITE).asks("checkpoint");
    play.rows(
        r#"
        tool done read_file(<path>a</path>) whole output "1"
        tool pending write_to_file(<path>b</path><content>x</content>) whole
        "#,
    );
    play.answer(Outcome::Yes).asks("run write_to_file").gives("2").say(WRITE).asks("run write_to_file");
}

#[test]
fn the_page_says_which_tools_only_read() {
    let read_only = Some(vec!["write_to_file".to_owned()]);
    let mut play = Play::new(RunTools { checkpoint: true, read_only, ..free() });
    play.say(WRITE).asks("run write_to_file").gives("1").say(READ).asks("checkpoint");
}

#[test]
fn without_its_checkpoint_nothing_is_changed() {
    let mut play = Play::new(RunTools { checkpoint: true, ..free() });
    play.say(WRITE).asks("checkpoint").answer(Outcome::Failed("disk full")).say(READ).asks("run read_file").rows(
        r#"
        tool failed write_to_file(<path>b</path><content>x</content>) whole !checkpoint-failed "disk full"
        tool running read_file(<path>a</path>) whole
        "#,
    );
}

#[test]
fn a_tool_that_fails_says_why_and_the_next_has_its_turn() {
    let mut play = Play::new(free());
    play.say(READ).say(WRITE).asks("run read_file").answer(Outcome::Failed("no such file")).asks("run write_to_file");
    play.answer(Outcome::Ended { output: Some("denied"), is_error: true }).finish().asks("ready").rows(
        r#"
        tool failed read_file(<path>a</path>) whole wrong !tool-failed "no such file"
        tool failed write_to_file(<path>b</path><content>x</content>) whole output "denied" wrong
        "#,
    );
}

/// The next one has its own reasons.
#[test]
fn why_a_tool_failed_is_said_of_no_other() {
    let mut play = Play::new(RunTools { known: Some(vec!["read_file".to_owned()]), ..free() });
    play.say(READ).say(WRITE).asks("run read_file").answer(Outcome::Failed("disk full")).asks("").chat.drain();
    let errors = play.chat.rows().as_array().unwrap().iter().map(|row| row["error"].clone()).collect::<Vec<_>>();
    assert_eq!(
        errors,
        [json!({"message": "disk full", "code": "tool-failed"}), json!({"message": "", "code": "tool-unknown"})]
    );
}

#[test]
fn who_fails_to_ask_runs_nothing() {
    let mut play = Play::new(asks());
    play.say(READ)
        .asks("approve read_file")
        .answer(Outcome::Failed("no window"))
        .finish()
        .asks("ready")
        .rows(r#"tool failed read_file(<path>a</path>) whole !approval-failed "no window""#);
}

/// The original hangs on one, and runs the other.
#[test]
fn an_unknown_and_an_unclosed_call_are_errors_and_the_turn_goes_on() {
    let known = Some(vec!["write_to_file".to_owned()]);
    let mut play = Play::new(RunTools { known, ..free() });
    play.say(&[READ, WRITE, READ].concat()).asks("run write_to_file").gives("1");
    play.say("<read_file><path>a").finish().asks("ready").rows(
        r#"
        tool failed read_file(<path>a</path>) whole !tool-unknown
        tool done write_to_file(<path>b</path><content>x</content>) whole output "1"
        tool failed read_file(<path>a</path>) whole !tool-unknown
        tool failed read_file(<path>a) !arguments-incomplete
        "#,
    );
}

/// Nothing is changed by what never runs.
#[test]
fn a_broken_call_asks_for_no_checkpoint() {
    let mut play = Play::new(RunTools { checkpoint: true, ..free() });
    play.say("<write_to_file><path>b</path>").finish().asks("ready");
    play.rows("tool failed write_to_file(<path>b</path>) !arguments-incomplete");
}

#[test]
fn an_abort_ends_what_runs_and_what_waits() {
    let mut play = Play::new(free());
    play.say("Text.").say(READ).say("Hidden.").say(WRITE).asks("run read_file");
    play.chat.abort();
    play.asks("cancel, aborted").rows(
        r#"
        text done "Text."
        tool cancelled read_file(<path>a</path>) whole
        "#,
    );
    let wait = play.wait.unwrap();
    assert!(!play.chat.chat.settle(play.chat.stream, wait, Outcome::Yes), "a late answer");
    play.say(WRITE).finish().asks("");
    assert!(play.chat.chat.is_turn_aborted(play.chat.stream));
}

/// Tools go on after the stream's end, and an abort still ends them.
#[test]
fn an_abort_after_the_end_ends_what_still_runs() {
    let mut play = Play::new(asks());
    play.say(READ).say("Hidden.").finish().asks("approve read_file").answer(Outcome::Yes).asks("run read_file");
    assert_eq!(play.chat.abort(), End::Done, "how the stream ended stands");
    play.asks("cancel, aborted").rows("tool cancelled read_file(<path>a</path>) whole chose approve");
    assert_eq!(play.chat.abort(), End::Done);
    play.asks("");
}

#[test]
fn what_was_never_asked_is_not_taken_back() {
    let mut play = Play::new(free());
    play.say(READ);
    play.chat.abort();
    play.asks("aborted");
}

/// Nor does it take something else along.
#[test]
fn what_nobody_heard_of_yet_is_taken_back_alone() {
    let mut play = Play::of(Format::OpenAiChat, true, free());
    let response = |id: &str, text: &str, finish: Value| json!({"id": id, "choices": [{"delta": {"content": text}, "finish_reason": finish}]});
    play.message(&response("1", "T", json!("stop"))).message(&response("2", READ, Value::Null)).abort();
    play.asks("ready, aborted");
}

/// What another stream asked under the same number stands.
#[test]
fn what_one_stream_takes_back_another_may_have_asked() {
    let mut play = Play::new(free());
    play.say(READ);
    let options = StreamOptions { tagged_tools: Some(TaggedTools::default()), ..Format::ApiStream.into() };
    let other = play.chat.chat.stream(StreamOptions { run_tools: Some(free()), ..options });
    play.chat.chat.push_message(other, &json!({"type": "text", "text": WRITE}).to_string());
    play.chat.chat.abort(other);
    play.asks("run read_file, aborted").gives("1").finish().asks("ready");
}

#[test]
fn a_reset_ends_all_of_it() {
    let mut play = Play::new(free());
    play.say(READ).say("Hidden.").finish().asks("run read_file");
    play.chat.chat.reset();
    play.asks("cancel, aborted").rows("");
}

#[test]
fn a_call_that_the_page_removed_holds_nobody_up() {
    let mut play = Play::new(RunTools { parallel: true, ..asks() });
    play.say("Text.").say(READ).say("Behind.").asks("approve read_file").rows(
        r#"
        text done "Text."
        tool pending read_file(<path>a</path>) whole may
        "#,
    );
    assert!(play.chat.chat.truncate_from(play.row.unwrap()));
    play.asks("cancel").say(WRITE).asks("approve write_to_file").rows(
        r#"
        text done "Text."
        tool pending write_to_file(<path>b</path><content>x</content>) whole may
        "#,
    );
}

#[test]
fn calls_before_the_one_that_the_page_removed_go_on() {
    let call = |id: &str| json!({"type": "tool_call", "id": id, "name": "f", "arguments": "{}"});
    let mut play = Play::of(Format::ApiStream, false, RunTools { parallel: true, ..asks() });
    play.message(&call("a")).message(&call("b")).message(&call("c")).finish().asks("approve f");
    let last = play.chat.chat.rows().last().unwrap().id;
    assert!(play.chat.chat.truncate_from(last));
    play.asks("").answer(Outcome::Yes).asks("run f").gives("1").asks("approve f").answer(Outcome::No).asks("ready");
    play.rows(
        "tool done f#a({}) whole output \"1\" chose approve\ntool cancelled f#b({}) whole tool.rejected chose reject",
    );
}

#[test]
fn a_call_that_runs_goes_on_when_the_one_behind_it_is_removed() {
    let call = |id: &str| json!({"type": "tool_call", "id": id, "name": "f", "arguments": "{}"});
    let mut play = Play::of(Format::ApiStream, false, free());
    play.message(&call("a")).message(&call("b")).finish().asks("run f");
    let last = play.chat.chat.rows().last().unwrap().id;
    assert!(play.chat.chat.truncate_from(last));
    play.asks("").gives("1").asks("ready").rows(r#"tool done f#a({}) whole output "1""#);
}

#[test]
fn a_call_that_the_page_ran_itself_does_not_run_again() {
    let mut play = Play::new(RunTools { parallel: true, ..asks() });
    play.say(READ).asks("approve read_file");
    play.chat.chat.tool_result(chatrows::ToolRef::Row(play.row.unwrap()), Some("mine"), false).unwrap();
    play.answer(Outcome::Yes)
        .finish()
        .asks("ready")
        .rows(r#"tool done read_file(<path>a</path>) whole output "mine" chose approve"#);
}

/// What was rejected and what was used is so for one message.
#[test]
fn the_next_message_is_another_turn() {
    let mut play = Play::of(Format::OpenAiChat, true, RunTools::default());
    let response = |id: &str, text: &str| {
        let delta =
            |delta: Value, finish: Value| json!({"id": id, "choices": [{"delta": delta, "finish_reason": finish}]});
        [delta(json!({"content": text}), Value::Null), delta(json!({}), json!("stop"))]
    };
    for message in response("1", READ).iter().chain(&response("2", READ)) {
        play.message(message);
    }
    play.asks("run read_file").gives("1").asks("ready, run read_file").gives("2").asks("ready");
    play.finish().asks("");
}

#[test]
fn native_calls_show_as_they_come_and_run_in_their_order() {
    let mut play = Play::of(Format::OpenAiChat, false, free());
    let call = |index: u32, id: &str, arguments: &str| {
        json!({"choices": [{"delta": {"tool_calls": [
            {"index": index, "id": id, "function": {"name": "f", "arguments": arguments}},
        ]}}]})
    };
    play.message(&call(0, "a", "{\"x\":")).message(&call(1, "b", "{}")).asks("").rows(
        r#"
        tool preparing f#a({"x":)
        tool preparing f#b({})
        "#,
    );
    let more = json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}}]});
    let end = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
    play.message(&more).message(&end).asks("run f").rows(
        r#"
        tool running f#a({"x":1}) whole
        tool pending f#b({}) whole
        "#,
    );
    play.gives("1").asks("run f").gives("2").asks("ready");
}

/// Cut by length: a call that waits is no call any more, and one that runs goes on.
#[test]
fn a_cut_message_takes_back_what_has_not_run() {
    let mut play = Play::of(Format::OpenAiChat, true, RunTools { parallel: true, ..asks() });
    let text = |text: &str| json!({"choices": [{"delta": {"content": text}}]});
    let cut = json!({"choices": [{"delta": {}, "finish_reason": "length"}]});
    play.message(&text(READ)).message(&text(WRITE)).asks("approve read_file").message(&cut);
    play.asks("cancel, ready").rows(
        r#"
        tool interrupted read_file(<path>a</path>) may truncated
        tool interrupted write_to_file(<path>b</path><content>x</content>) truncated
        "#,
    );
    let mut play = Play::of(Format::OpenAiChat, true, free());
    play.message(&text(READ))
        .asks("run read_file")
        .message(&cut)
        .asks("")
        .gives("1")
        .asks("ready")
        .rows(r#"tool done read_file(<path>a</path>) whole output "1""#);
}

#[test]
fn a_replay_runs_nothing_twice_and_goes_on_where_it_broke_off() {
    let wire = format!("{}\n{}\n", json!({"type": "text", "text": READ}), json!({"type": "text", "text": "Behind."}));
    let more = format!("{}\n", json!({"type": "text", "text": WRITE}));
    let mut play = Play::new(RunTools { parallel: true, ..asks() });
    play.chat.push(wire.as_bytes());
    play.asks("approve read_file").finish().asks("");
    play.restart();
    play.chat.feed(wire.as_bytes(), Cuts::Every(1));
    play.asks("").answer(Outcome::Yes).asks("run read_file").gives("1").asks("");
    play.chat.push(more.as_bytes());
    play.asks("approve write_to_file").finish().answer(Outcome::No).asks("ready").rows(
        r#"
        tool done read_file(<path>a</path>) whole output "1" chose approve
        text done "Behind."
        tool cancelled write_to_file(<path>b</path><content>x</content>) whole tool.rejected chose reject
        "#,
    );
    let rows = play.chat.rows();
    play.restart();
    play.chat.push([wire, more].concat().as_bytes());
    play.finish();
    play.chat.drain();
    assert_eq!(play.chat.rows(), rows, "a replay changes nothing");
}

#[test]
fn text_that_a_replay_goes_on_with_is_the_same_block() {
    for concurrent in [false, true] {
        let mut play = Play::of(Format::OpenAiChat, false, RunTools { concurrent: Some(concurrent), ..free() });
        let delta = |text: &str| json!({"choices": [{"delta": {"content": text}}]});
        play.message(&delta("Te")).finish().asks("ready").stands("2 of 2, complete, over").restart();
        play.message(&delta("Text.")).stands("2 of 2").finish().asks("ready").stands("3 of 3, complete, over");
    }
}

#[test]
fn a_stream_that_was_aborted_starts_anew() {
    let wire = format!("{}\n", json!({"type": "text", "text": READ}));
    let mut play = Play::new(free());
    play.chat.push(wire.as_bytes());
    play.asks("run read_file");
    play.chat.abort();
    play.restart();
    play.chat.push(wire.as_bytes());
    play.asks("cancel, aborted").rows("tool cancelled read_file(<path>a</path>) whole");
    play.say(WRITE).asks("run write_to_file").gives("1").finish().asks("ready");
}

/// Blocks that the wire names show as they come; their calls wait for each other.
#[test]
fn a_call_that_a_replay_brings_to_its_end_shows_all_of_it() {
    let cut = "<write_to_file><path>q</path><content>a</content>\n</content>";
    let mut play = Play::new(free());
    play.say(cut).say(READ).finish().asks("ready").chat.drain();
    play.restart();
    play.say(cut).say(READ).say("</content></write_to_file>").asks("run write_to_file").chat.drain();
    let content = format!("a</content>\\n</content>{READ}");
    let args = play.chat.chat.args(play.row.unwrap()).map(|args| args.into_owned());
    assert_eq!(args.as_deref(), Some(format!(r#"{{"path":"q","content":"{content}"}}"#).as_str()));
}

#[test]
fn a_call_that_a_replay_only_closes_has_closed_fields() {
    let body = "<write_to_file><path>q</path><content>a</content>";
    let mut play = Play::new(free());
    play.say(body)
        .finish()
        .asks("ready")
        .rows("tool failed write_to_file(<path>q</path><content>a</content>) !arguments-incomplete");
    play.restart();
    play.say(body).say("</write_to_file>").asks("run write_to_file").chat.drain();
    let fields = &play.chat.rows()[0]["tool"]["fields"];
    assert_eq!(
        *fields,
        json!([
            {"path": ["path"], "text": "q", "closed": true},
            {"path": ["content"], "text": "a", "closed": true},
        ])
    );
}

/// What an error of the tool ended has run, whatever a replay says its arguments were.
#[test]
fn a_call_that_failed_while_it_ran_does_not_run_again() {
    let call = |arguments: &str| json!({"type": "tool_call", "id": "c", "name": "f", "arguments": arguments});
    let mut play = Play::of(Format::ApiStream, false, free());
    play.message(&call(r#"{"x":1}"#)).finish().asks("run f").answer(Outcome::Ended { output: None, is_error: true });
    play.asks("ready").restart();
    play.message(&call("{}")).finish().asks("ready").rows(r#"tool failed f#c({"x":1}) whole wrong"#);
}

/// A choice that ends cut takes back its calls; a replay that has not come to that end gives them again.
#[test]
fn a_call_that_was_taken_back_is_asked_for_again() {
    let delta = |text: &str, finish: Value| json!({"id": "m", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]});
    let mut play = Play::of(Format::OpenAiChat, true, asks());
    play.message(&delta(READ, Value::Null)).message(&delta("more", json!("length"))).asks("ready");
    play.restart();
    play.message(&delta(READ, Value::Null)).finish().asks("approve read_file");
}

/// So is one that was taken back while the call before it ran on.
#[test]
fn a_call_that_was_taken_back_before_its_turn_has_one_again() {
    let delta = |text: &str, finish: Value| json!({"id": "m", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]});
    let mut play = Play::of(Format::OpenAiChat, true, free());
    play.message(&delta(READ, Value::Null)).message(&delta(WRITE, Value::Null)).asks("run read_file");
    play.message(&delta("more", json!("length"))).asks("").restart();
    play.message(&delta(READ, Value::Null)).message(&delta(WRITE, Value::Null)).finish().asks("");
    play.gives("1").asks("run write_to_file").gives("2").asks("ready");
}

/// The call behind one that was cut is taken back with it.
#[test]
fn all_calls_that_were_taken_back_are_asked_for_again() {
    let delta = |delta: Value, finish: Value| json!({"id": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let half = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}}]});
    let mut play = Play::of(Format::OpenAiChat, true, asks());
    play.message(&delta(half.clone(), Value::Null)).message(&delta(json!({"content": READ}), Value::Null));
    play.message(&delta(json!({}), json!("length"))).asks("ready").restart();
    play.message(&delta(half, Value::Null)).message(&delta(json!({"content": READ}), Value::Null));
    play.finish().asks("approve read_file");
}

/// So is one that no tool is known for.
#[test]
fn an_unknown_call_that_was_taken_back_fails_again() {
    let delta = |delta: Value, finish: Value| json!({"id": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let half = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}}]});
    let known = Some(vec!["f".to_owned()]);
    let mut play = Play::of(Format::OpenAiChat, true, RunTools { known, ..free() });
    play.message(&delta(half.clone(), Value::Null)).message(&delta(json!({"content": READ}), Value::Null));
    play.message(&delta(json!({}), json!("length"))).asks("ready").restart();
    play.message(&delta(half, Value::Null)).message(&delta(json!({"content": READ}), Value::Null));
    play.finish().asks("ready").rows(
        r#"
        tool interrupted f#c({) truncated
        tool failed read_file(<path>a</path>) whole !tool-unknown
        "#,
    );
}

/// What was asked before an abort is no answer to what is asked after it.
#[test]
fn numbers_of_what_is_waited_for_go_on() {
    let mut play = Play::new(asks());
    play.say(READ).asks("approve read_file").abort().restart().asks("cancel, aborted");
    let before = play.wait.unwrap();
    play.say(READ).say(WRITE).asks("approve write_to_file");
    assert!(!play.chat.chat.settle(play.chat.stream, before, Outcome::Yes));
    play.rows(
        r#"
        tool cancelled read_file(<path>a</path>) whole may
        tool pending write_to_file(<path>b</path><content>x</content>) whole may
        "#,
    );
}

#[test]
fn numbers_of_what_is_waited_for_begin_with_one() {
    let mut play = Play::new(asks());
    play.say(READ).asks("approve read_file");
    assert_eq!(play.wait.unwrap().get(), 1);
    play.answer(Outcome::Yes).asks("run read_file");
    assert_eq!(play.wait.unwrap().get(), 2);
}

#[test]
fn what_is_waited_for_is_told_and_so_is_an_abort() {
    let mut play = Play::new(asks());
    play.say(READ).asks("approve read_file");
    let (stream, approval) = (play.chat.stream, play.wait.unwrap());
    assert!(play.chat.chat.is_waiting(stream, approval));
    play.answer(Outcome::Yes).asks("run read_file");
    let run = play.wait.unwrap();
    assert!(!play.chat.chat.is_waiting(stream, approval) && play.chat.chat.is_waiting(stream, run));
    assert!(!play.chat.chat.is_turn_aborted(stream));
    play.abort();
    assert!(!play.chat.chat.is_waiting(stream, run));
    assert!(play.chat.chat.is_turn_aborted(stream));
}

#[test]
fn reasoning_is_a_block_as_text_is() {
    for concurrent in [false, true] {
        let mut play = Play::new(RunTools { concurrent: Some(concurrent), ..free() });
        play.message(&json!({"type": "reasoning", "text": "hm"})).stands("0 of 1, row 1").say("a");
        play.stands("1 of 2, row 2").finish().stands("3 of 3, complete, over");
    }
}

/// Where blocks show as they come, what only stands beside the message is none of them.
#[test]
fn a_notice_beside_the_message_is_no_block() {
    let delta = |text: &str, finish: Value| json!({"choices": [{"delta": {"content": text}, "finish_reason": finish}]});
    let mut play = Play::of(Format::OpenAiChat, false, free());
    play.message(&delta("a", Value::Null)).message(&delta("", json!("content_filter"))).asks("ready");
    play.stands("2 of 2, complete, over").rows("text done \"a\" truncated\nnotice done finish.filtered");
}

#[test]
fn the_presenter_tells_where_it_stands() {
    let mut play = Play::new(RunTools { checkpoint: true, parallel: true, ..asks() });
    play.stands("0 of 0").say("Text.").stands("0 of 1, row 1");
    play.say(WRITE).stands("1 of 2, row 2, checkpoint, locked").asks("checkpoint");
    play.say("More.").stands("1 of 3, row 2, checkpoint, locked, pending").answer(Outcome::Yes);
    play.stands("1 of 3, row 2, approval, locked, pending").asks("approve write_to_file").answer(Outcome::Yes);
    play.stands("1 of 3, row 2, run, locked, pending").asks("run write_to_file").gives("1");
    play.stands("2 of 3, row 3, used").say(READ).asks("approve read_file").answer(Outcome::No);
    play.stands("4 of 4, rejected, used").finish().stands("5 of 5, rejected, used, complete, over");
    let mut play = Play::new(asks());
    play.say(READ).stands("0 of 1, row 1, approval, locked").abort().stands("0 of 1, row 1, aborted, over");
}

/// The end of the stream gives back what a half tag held back; an abort does so as well, and lets nothing begin.
#[test]
fn an_abort_gives_back_the_half_tag_at_hand_and_drops_what_waits() {
    let mut play = Play::new(free());
    play.say("<read_").asks("").abort();
    play.asks("aborted").rows(r#"text cancelled "<read_""#);

    let mut play = Play::new(free());
    play.say(READ).say("<read_").asks("run read_file").abort();
    play.asks("cancel, aborted").rows("tool cancelled read_file(<path>a</path>) whole");
    assert!(play.chat.chat.row(RowId::new(2).unwrap()).is_none());
}

/// The tool of a block array runs here, whatever the wire that told of it comes to.
#[test]
fn the_end_of_the_wire_ends_no_tool_that_runs_here() {
    let blocks = json!({"assistantMessageContent": [
        {"type": "tool_use", "name": "read_file", "params": {"path": "a"}, "partial": false},
    ]});
    let mut play = Play::of(Format::ApiStream, false, free());
    play.message(&blocks).finish().asks("run read_file").rows(r#"tool running read_file({"path":"a"}) whole"#);
    assert!(play.chat.chat.args(play.row.unwrap()).is_some());

    // So is it where the page runs it itself.
    let mut chat = chat_of(Format::ApiStream, Options::default());
    chat.chat.push_message(chat.stream, &blocks.to_string());
    let row = chat.chat.rows().next().unwrap().id;
    chat.chat.tool_started(chatrows::ToolRef::Row(row)).unwrap();
    chat.finish();
    chat.chat.tool_result(chatrows::ToolRef::Row(row), Some("hello"), false).unwrap();
    assert_eq!(chat.chat.row(row).unwrap().state, chatrows::RowState::Done);
}

/// Of a message with two choices one goes on after it has finished, and its call is passed over while it is open.
#[test]
fn a_call_that_is_passed_over_while_it_is_open_shows_when_it_ends() {
    let chunk = |index: u32, delta: Value, finish: Value| json!({"id": "m", "choices": [{"index": index, "delta": delta, "finish_reason": finish}]});
    let call = |index: u32, id: &str, arguments: &str| json!({"tool_calls": [{"index": index, "id": id, "function": {"name": "f", "arguments": arguments}}]});
    let mut play = Play::of(Format::OpenAiChat, true, RunTools::default());
    play.message(&chunk(0, json!({"content": READ}), Value::Null)).asks("run read_file").gives("hello");
    play.message(&chunk(1, call(0, "c1", "{}"), json!("tool_calls")));
    play.message(&chunk(1, call(1, "c2", "{"), Value::Null));
    play.message(&chunk(0, json!({}), json!("stop"))).finish().asks("ready").rows(
        r#"
        tool done read_file(<path>a</path>) whole output "hello"
        tool cancelled f#c1({}) whole tool.used choice 1
        tool interrupted f#c2({) choice 1
        "#,
    );
}

#[test]
fn the_calls_of_block_arrays_run_in_their_order() {
    let mut play = Play::of(Format::ApiStream, true, free());
    let call = |name: &str, partial: bool| json!({"type": "tool_use", "name": name, "params": {"path": "a"}, "partial": partial});
    let text = json!({"type": "text", "content": "T", "partial": true});
    let blocks = |blocks: &[Value]| json!({"assistantMessageContent": blocks});
    play.message(&blocks(&[call("read_file", true)])).asks("");
    play.message(&blocks(&[call("read_file", false), call("list_files", false), text.clone()])).asks("run read_file");
    play.rows(
        r#"
        tool running read_file({"path":"a"}) whole
        tool pending list_files({"path":"a"}) whole
        text streaming "T"
        "#,
    );
    // The wire repeats what it said before the call ran.
    play.message(&blocks(&[call("read_file", false), call("list_files", false), text])).asks("");
    play.gives("1").asks("run list_files").gives("2").asks("").finish().asks("ready");
}

/// Whatever it said before: what is written again does not run half.
#[test]
fn a_call_of_a_block_array_that_is_partial_again_is_asked_for_again() {
    let mut play = Play::of(Format::ApiStream, true, asks());
    let call = |id: &str, name: &str, partial: bool| json!({"type": "tool_use", "id": id, "name": name, "params": {"path": "p"}, "partial": partial});
    let blocks = |blocks: &[Value]| json!({"assistantMessageContent": blocks});
    play.message(&blocks(&[call("a", "read_file", false)])).asks("approve read_file");
    play.message(&blocks(&[call("a", "read_file", true)])).asks("cancel");
    // It is open, so what stands behind it waits.
    play.message(&blocks(&[call("a", "read_file", true), call("b", "list_files", false)])).asks("");
    play.message(&blocks(&[call("a", "read_file", false), call("b", "list_files", false)])).asks("approve read_file");
    play.answer(Outcome::Yes).asks("run read_file").gives("1").finish().asks("ready");
}

/// What the other side asks about stays, for it to be answered; nobody runs it here.
#[test]
fn an_ask_whose_arguments_do_not_parse_is_not_run_here() {
    let body = json!({"serverName": "s", "toolName": "t", "arguments": "[1"}).to_string();
    let mut play = Play::of(Format::Say, false, free());
    play.message(&json!({"ts": 1, "type": "ask", "ask": "use_mcp_server", "text": body})).asks("");
    assert_eq!(play.chat.rows()[0]["state"], "pending");
    play.finish().asks("ready");
}

#[test]
fn a_broken_call_never_runs_and_text_is_handled_at_once() {
    let mut play = Play::of(Format::OpenAiChat, false, RunTools { concurrent: Some(false), ..free() });
    play.message(&json!({"choices": [{"delta": {"content": "T", "tool_calls": [
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"pa"}},
    ]}, "finish_reason": "tool_calls"}]}));
    play.asks("ready").rows(
        r#"
        text done "T"
        tool failed f#a({"pa) !arguments-malformed
        "#,
    );
}

#[test]
fn what_is_held_back_counts_against_the_cap_on_rows() {
    let limits = Limits { rows: 2, ..Limits::default() };
    let mut play = Play::with(Options { limits, ..Options::default() }, Format::ApiStream, true, free());
    play.say(READ).say("Behind.").say(READ).say(READ).asks("run read_file").gives("1").rows(
        r#"
        tool done read_file(<path>a</path>) whole output "1"
        notice done limit.rows
        text done "Behind."
        "#,
    );
}

#[test]
fn an_error_of_the_stream_ends_the_turn() {
    let mut play = Play::new(free());
    play.say("Text.").say("<read_file><path>a").message(&json!({"type": "error", "error": "x", "message": "gone"}));
    play.asks("ready").rows(
        r#"
        text done "Text."
        tool interrupted read_file(<path>a)
        error done !x "gone"
        "#,
    );
}

/// What the model asks is a question with its possible answers, and what the tool gives is the answer; nobody is asked
/// whether it may ask.
#[test]
fn a_follow_up_question_is_a_question() {
    let asked = |options: &str| {
        format!("<ask_followup_question><question>Which one?</question>{options}</ask_followup_question>")
    };
    let offered = json!({"options": [{"label": "The first"}, {"label": "The \"second\""}], "custom": true});
    for options in [
        r#"<options>["The first", "The \"second\""]</options>"#,
        r#"<options><suggest>The first</suggest><suggest mode="code"> The "second"</suggest></options>"#,
    ] {
        let mut play = Play::new(asks());
        play.say(&asked(options)).asks("run ask_followup_question").chat.drain();
        let row = &play.chat.rows()[0];
        assert_eq!(
            (&row["text"], &row["question"], &row["permission"]),
            (&json!("Which one?"), &offered, &Value::Null)
        );
        play.gives("The first").chat.drain();
        let row = &play.chat.rows()[0];
        assert_eq!((&row["question"]["answer"], &row["state"]), (&json!("The first"), &json!("done")));
        assert_eq!(row["question"]["options"], offered["options"]);
    }
    let mut play = Play::new(asks());
    play.say(&asked("")).asks("run ask_followup_question").chat.drain();
    assert_eq!(play.chat.rows()[0]["question"], json!({"custom": true}));
    play.answer(Outcome::Failed("nobody is there")).chat.drain();
    assert_eq!(play.chat.rows()[0]["question"], json!({"custom": true}));
}

/// What says nothing is no answer that could be chosen; what is no list leaves the reader's own words.
#[test]
fn only_what_says_something_can_be_chosen() {
    for (options, expected) in [
        (r#"[1, "", " ", null, true, {"text": 5}, ["x"], {"answer": "B"}]"#, json!([{"label": "1"}, {"label": "B"}])),
        ("<suggest></suggest><suggestion>x</suggestion><suggest>A", json!([{"label": "A"}])),
        (r#"["A", "B""#, json!([])),
        ("{}", json!([])),
    ] {
        let mut play = Play::new(free());
        play.say(&format!("<ask_followup_question><question>Q</question><options>{options}</options>"));
        play.say("</ask_followup_question>").asks("run ask_followup_question").chat.drain();
        assert_eq!(play.chat.rows()[0]["question"], json!({"options": expected, "custom": true}), "{options}");
    }
}

#[test]
fn a_question_that_is_answered_before_its_turn_is_one() {
    let ask = |id: &str| {
        let arguments = json!({"question": "Which?", "options": ["A"]}).to_string();
        json!({"type": "tool_call", "id": id, "name": "ask_followup_question", "arguments": arguments})
    };
    let mut play = Play::of(Format::ApiStream, false, free());
    play.message(&ask("a")).message(&ask("b")).finish().asks("run ask_followup_question");
    play.chat.chat.tool_result(chatrows::ToolRef::Call(play.chat.stream, "b"), Some("early"), false).unwrap();
    play.gives("A").asks("ready").chat.drain();
    let rows = play.chat.rows();
    assert_eq!((&rows[1]["text"], &rows[1]["question"]["answer"]), (&json!("Which?"), &json!("early")));
}

/// Whoever runs it hears that nobody waits for it, and what stands behind it has its turn.
#[test]
fn a_call_that_is_removed_while_it_runs_holds_nobody_up() {
    let mut play = Play::new(free());
    play.say(READ).asks("run read_file");
    assert!(play.chat.chat.truncate_from(play.row.unwrap()));
    play.asks("cancel").say(WRITE).asks("run write_to_file").gives("1").finish().asks("ready");
    play.rows(r#"tool done write_to_file(<path>b</path><content>x</content>) whole output "1""#);
    // Nobody was told to run it yet.
    let mut play = Play::new(free());
    play.say(READ);
    let row = play.chat.chat.rows().next().unwrap().id;
    assert!(play.chat.chat.truncate_from(row));
    play.asks("").say(WRITE).asks("run write_to_file");
}

#[test]
fn a_call_whose_result_is_there_is_not_run() {
    for (is_error, expected) in [(false, "done"), (true, "failed")] {
        let mut play = Play::new(free());
        play.say(READ);
        let row = play.chat.chat.rows().next().unwrap().id;
        play.chat.chat.tool_result(chatrows::ToolRef::Row(row), Some("mine"), is_error).unwrap();
        play.finish().asks("ready").chat.drain();
        let row = &play.chat.rows()[0];
        assert_eq!((&row["state"], &row["tool"]["output"]), (&json!(expected), &json!("mine")));
    }
}

/// A question that was cut off after all is none.
#[test]
fn a_question_that_was_taken_back_asks_nothing() {
    let ask = "<ask_followup_question><question>Q</question></ask_followup_question>";
    let chunk = |text: &str, finish: Value| json!({"id": "m", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]});
    let mut chat = chat_of(Format::OpenAiChat, Options::default());
    let tagged_tools = Some(TaggedTools::default());
    chat.stream = chat.chat.stream(StreamOptions { tagged_tools, ..Format::OpenAiChat.into() });
    chat.chat.push_message(chat.stream, &chunk(ask, Value::Null).to_string());
    assert!(chat.rows()[0]["question"].is_object());
    chat.chat.push_message(chat.stream, &chunk("", json!("length")).to_string());
    assert_eq!((&chat.rows()[0]["state"], &chat.rows()[0]["question"]), (&json!("interrupted"), &Value::Null));
}

/// What an abort left of a call is what a restored chat has of it.
#[test]
fn an_aborted_call_is_restored_as_it_was() {
    for text in [
        "<write_to_file><path>b</path><content>x</content>y<path>z</path>",
        "<write_to_file><content>x</content><path>z",
        "<write_to_file><content>x</content>y",
        "<write_to_file><path>b",
    ] {
        let mut play = Play::new(free());
        play.say(text).abort().chat.drain();
        let again = chatrows::ChatRows::restore(&play.chat.chat.snapshot_json(), Options::default()).unwrap();
        assert_eq!(again.rows_json(), play.chat.chat.rows_json(), "{text}");
    }
}

/// So it is where the wire has the call, and where the page runs it as it likes.
#[test]
fn a_native_follow_up_question_is_a_question() {
    let arguments = json!({"question": "Which?", "follow_up": [{"text": "This", "mode": null}, "That"]}).to_string();
    let call = json!({"type": "tool_call", "id": "q", "name": "ask_followup_question", "arguments": arguments});
    let expected = json!({"options": [{"label": "This"}, {"label": "That"}], "custom": true});
    let mut play = Play::of(Format::ApiStream, false, free());
    play.message(&call).finish().asks("run ask_followup_question").chat.drain();
    assert_eq!((&play.chat.rows()[0]["text"], &play.chat.rows()[0]["question"]), (&json!("Which?"), &expected));

    let mut chat = chat_of(Format::ApiStream, Options::default());
    chat.chat.push_message(chat.stream, &call.to_string());
    chat.finish();
    assert_eq!(chat.rows()[0]["question"], expected);
    chat.chat.tool_result(chatrows::ToolRef::Call(chat.stream, "q"), Some("That"), false).unwrap();
    chat.drain();
    assert_eq!(chat.rows()[0]["question"]["answer"], "That");
}

/// What came of the task is text; a completion that is passed over says nothing.
#[test]
fn a_completion_says_what_came_of_the_task() {
    let completion = "<attempt_completion><result>It is **done**.</result></attempt_completion>";
    let mut play = Play::new(free());
    play.say(completion).asks("run attempt_completion").gives("").finish().asks("ready").chat.drain();
    let row = &play.chat.rows()[0];
    assert_eq!((&row["text"], &row["message"]["key"]), (&json!("It is **done**."), &json!("say.completion")));

    let mut play = Play::new(asks());
    play.say(READ).say(completion).asks("approve read_file").answer(Outcome::No).asks("").chat.drain();
    let row = &play.chat.rows()[1];
    assert_eq!((&row["text"], &row["message"]["key"]), (&Value::Null, &json!("tool.skipped")));
}

#[test]
fn many_calls_are_linear() {
    let mut play = Play::new(free());
    for _ in 0..2000 {
        play.say(READ).say("T");
    }
    let mut runs = 0;
    loop {
        let asked: Vec<_> = play.chat.chat.take_asked().collect();
        let Some((_, Asked::Run(wait, _))) = asked.first().copied() else { break };
        runs += 1;
        assert!(play.chat.chat.settle(play.chat.stream, wait, Outcome::Yes));
    }
    assert_eq!(runs, 2000);
    play.chat.drain();
    assert_eq!(play.chat.chat.rows().count(), 4000);
}

/// Whatever comes in whatever order: no call runs twice, none without leave, the turn comes to its end, and rows rest.
/// A message of a wire: text with tags cut anywhere, reasoning, native calls, ends of each kind.
fn made_up(format: Format, random: &mut Random) -> Value {
    let text = [
        "Text. ",
        READ,
        WRITE,
        "<read_file><path>c",
        "</path></read_file>",
        "<thinking>hm</thinking>",
        "`<x",
        "<read_",
        "<write_to_file><path>q</path><content>a</content>\n</content>",
        "é",
        "</write_to_file>",
        "<foo><path>x</path></foo>",
    ];
    let text = text[random.below(text.len())];
    let (id, arguments) = (["c1", "c2"][random.below(2)], ["{}", r#"{"x":1}"#, "{"][random.below(3)]);
    if format == Format::ApiStream {
        return match random.below(12) {
            0 => json!({"type": "tool_call", "id": id, "name": "f", "arguments": arguments}),
            1 => json!({"type": "tool_call_start", "id": id, "name": "f"}),
            2 => json!({"type": "tool_call_delta", "id": id, "delta": arguments}),
            3 => json!({"type": "tool_call_end", "id": id}),
            4 => json!({"type": "reasoning", "text": "hm"}),
            5 => json!({"assistantMessageContent": [
                {"type": "text", "content": text, "partial": random.below(2) == 0},
                {"type": "tool_use", "id": id, "name": "f", "params": {"x": "1"}, "partial": random.below(2) == 0},
            ]}),
            6 => json!({"type": "error", "error": "e", "message": "m"}),
            _ => json!({"type": "text", "text": text}),
        };
    }
    let delta = match random.below(8) {
        0 => json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": "f", "arguments": arguments}}]}),
        1 => json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}),
        2 => json!({"reasoning_content": "hm"}),
        _ => json!({"content": text}),
    };
    let ends = ["stop", "tool_calls", "length", "content_filter"];
    let finish = ends.get(random.below(4 * ends.len())).map_or(Value::Null, |end| json!(end));
    let id = ["m", "m", "m", "n"][random.below(4)];
    json!({"id": id, "choices": [{"index": random.below(2), "delta": delta, "finish_reason": finish}]})
}

#[test]
fn made_up_schedules_come_to_rest() {
    for seed in 0..800 {
        let mut random = Random(seed);
        let format = [Format::ApiStream, Format::OpenAiChat][random.below(2)];
        let tools = RunTools {
            parallel: random.below(2) == 0,
            concurrent: Some(random.below(2) == 0),
            approval: random.below(2) == 0,
            checkpoint: random.below(2) == 0,
            known: (random.below(4) == 0).then(|| vec!["read_file".into(), "f".into()]),
            ..RunTools::default()
        };
        let approval = tools.approval;
        let mut play = Play::of(format, random.below(5) > 0, tools);
        let mut log = Vec::new();
        let (mut waits, mut ran, mut approved, mut aborted) = (Vec::new(), Vec::new(), Vec::new(), false);
        let mut look = |play: &mut Play, waits: &mut Vec<Asked>, approved: &[RowId], aborted: bool| {
            for (_, asked) in play.chat.chat.take_asked() {
                match asked {
                    Asked::Cancel(_) | Asked::Ready | Asked::Aborted => waits.clear(),
                    asked => waits.push(asked),
                }
                if let Asked::Run(_, row) = asked {
                    assert!(!ran.contains(&row), "{row:?} runs twice, seed {seed}");
                    assert!(!approval || approved.contains(&row), "{row:?} runs without leave, seed {seed}");
                    assert!(!aborted, "{row:?} runs after the abort, seed {seed}");
                    ran.push(row);
                }
            }
            assert!(waits.len() <= 1, "two things are waited for, seed {seed}");
            play.chat.drain();
        };
        let answer = |play: &mut Play, waits: &mut Vec<Asked>, approved: &mut Vec<RowId>, random: &mut Random| {
            let Some(asked) = waits.pop() else { return };
            let outcome = [Outcome::Yes, Outcome::Yes, Outcome::No, Outcome::Failed("why")][random.below(4)];
            let (Asked::Checkpoint(wait) | Asked::Approve(wait, _) | Asked::Run(wait, _)) = asked else { return };
            if let (Asked::Approve(_, row), Outcome::Yes) = (asked, outcome) {
                approved.push(row);
            }
            assert!(play.chat.chat.settle(play.chat.stream, wait, outcome), "seed {seed}");
            assert!(!play.chat.chat.settle(play.chat.stream, wait, outcome), "an answer counts twice, seed {seed}");
        };
        for _ in 0..16 {
            match random.below(10) {
                0 => drop(play.chat.finish()),
                1 if random.below(3) == 0 => {
                    aborted |= play.chat.chat.is_turn_over(play.chat.stream) == Some(false);
                    play.chat.abort();
                }
                // What came is told again, or less of it, and then goes on in another way.
                2 if random.below(2) == 0 => {
                    play.restart();
                    aborted = false;
                    let told = [log.len(), random.below(log.len() + 1)][random.below(2)];
                    log.truncate(told);
                    for message in &log {
                        play.message(message);
                    }
                }
                3..=4 => answer(&mut play, &mut waits, &mut approved, &mut random),
                _ => {
                    log.push(made_up(format, &mut random));
                    play.message(&log[log.len() - 1]);
                }
            }
            look(&mut play, &mut waits, &approved, aborted);
        }
        play.finish();
        look(&mut play, &mut waits, &approved, aborted);
        for _ in 0..64 {
            answer(&mut play, &mut waits, &mut approved, &mut random);
            look(&mut play, &mut waits, &approved, aborted);
        }
        assert_eq!(play.chat.chat.is_turn_over(play.chat.stream), Some(true), "seed {seed}");
        for row in play.chat.rows().as_array().unwrap() {
            let state = row["state"].as_str().unwrap();
            assert!(
                !["streaming", "preparing", "running", "pending"].contains(&state),
                "{row} at the end, seed {seed}"
            );
        }
        let shown: Vec<RowId> = play.chat.chat.rows().map(|row| row.id).collect();
        for id in (1..=64).filter_map(RowId::new).filter(|id| !shown.contains(id)) {
            assert_eq!(play.chat.chat.row(id), None, "held at the end, seed {seed}");
        }
    }
}
