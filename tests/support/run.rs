//! One input, fed in every way it can be cut: all of them must come to the same rows, panels, faults and counts, and
//! every batch of ops on the way must bring the oracle to what the chat says.

use chatrows::json::JsonWriter;
use chatrows::{ChatRows, End, Format, OpBuffer, Options, RowOp, RowSink, StreamId, Tally};
use serde_json::Value;

use super::oracle::{Oracle, decode};
use super::show::{lines, unindent};
use super::strict::is_strict_json;

/// A chat with one stream, watched by the oracle.
#[derive(Debug)]
pub struct Chat {
    pub chat: ChatRows,
    pub stream: StreamId,
    pub oracle: Oracle,
    /// Bytes of text that ops have carried.
    pub op_bytes: usize,
    /// The oracle is compared after every so many batches; 0: nothing is drained while bytes come in.
    watch: usize,
    batches: usize,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub rows: Value,
    pub panels: Value,
    /// Offset, reason and excerpt.
    pub faults: Vec<(u64, String, String)>,
    /// See [`Chat::counts`].
    pub tally: Tally,
    pub end: Option<End>,
}

/// How to feed an input.
#[derive(Debug, Clone, Copy)]
pub enum Cuts {
    Whole,
    /// Pieces of so many bytes, a drain after each.
    Every(usize),
    /// Two pieces, a drain between them.
    At(usize),
    /// Pieces and drains at random.
    Seed(u64),
}

impl Chat {
    pub fn new() -> Chat {
        chat_with(Options::default())
    }

    /// Of this format.
    pub fn of(format: Format) -> Chat {
        chat_of(format, Options::default())
    }

    /// Without drains while bytes come in.
    pub fn unwatched() -> Chat {
        Chat { watch: 0, ..Chat::new() }
    }

    /// With a look at the oracle after every so many batches: what is compared is all there is.
    pub fn sparse(watch: usize) -> Chat {
        Chat { watch, ..Chat::new() }
    }

    pub fn feed(&mut self, input: &[u8], cuts: Cuts) {
        match cuts {
            Cuts::Whole => self.push(input),
            Cuts::Every(size) => {
                for piece in input.chunks(size) {
                    self.push(piece);
                    self.look();
                }
            }
            Cuts::At(place) => {
                self.push(&input[..place]);
                self.look();
                self.push(&input[place..]);
            }
            Cuts::Seed(seed) => {
                let (mut rest, mut random) = (input, Random(seed));
                while !rest.is_empty() {
                    let most = [3, 40, 400][random.below(3)];
                    let (piece, after) = rest.split_at((1 + random.below(most)).min(rest.len()));
                    self.push(piece);
                    if random.below(3) == 0 {
                        self.look();
                    }
                    rest = after;
                }
            }
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.chat.push(self.stream, bytes);
    }

    pub fn finish(&mut self) -> End {
        self.chat.finish(self.stream)
    }

    pub fn abort(&mut self) -> End {
        self.chat.abort(self.stream)
    }

    fn look(&mut self) {
        match self.watch {
            0 => {}
            1 => drop(self.drain()),
            every => {
                self.apply();
                self.batches += 1;
                if self.batches.is_multiple_of(every) {
                    self.compare(&[]);
                }
            }
        }
    }

    /// Hands out what is pending and returns the ops, as JSON. The oracle must come to what the chat says.
    pub fn drain(&mut self) -> Vec<Value> {
        let ops = self.apply();
        self.compare(&ops);
        ops
    }

    fn compare(&self, ops: &[Value]) {
        assert_eq!(self.oracle.rows(), self.rows(), "the ops do not lead to the rows; the last batch: {ops:#?}");
        assert_eq!(self.oracle.panels(), self.panels(), "the ops do not lead to the panels");
    }

    fn apply(&mut self) -> Vec<Value> {
        let mut buffer = OpBuffer::default();
        let mut ops: Vec<Value> = Vec::new();
        let said = self.chat.drain(&mut |op: RowOp<'_>| {
            let mut json = JsonWriter::default();
            op.write_json(&mut json);
            ops.push(serde_json::from_str(&json.into_string()).expect("an op is JSON"));
            buffer.op(op);
        });
        assert_eq!(said, !ops.is_empty(), "drain tells whether there was anything");
        self.op_bytes += buffer.text.len();
        assert_eq!(decode(&buffer.words, &buffer.text), ops, "the op buffer says something else");
        for op in &ops {
            if let Err(wrong) = self.oracle.apply(op) {
                panic!("{wrong}\nin the batch {ops:#?}");
            }
        }
        ops
    }

    pub fn rows(&self) -> Value {
        serde_json::from_str(&self.chat.rows_json()).expect("rows are JSON")
    }

    pub fn panels(&self) -> Value {
        serde_json::from_str(&self.chat.panels_json()).expect("panels are JSON")
    }

    pub fn lines(&self) -> String {
        lines(&self.rows())
    }

    pub fn faults(&self) -> Vec<String> {
        self.chat.faults().map(|fault| fault.reason.to_owned()).collect()
    }

    /// The stream's counts; work and shortcuts depend on the cuts and are left out.
    pub fn counts(&self) -> Tally {
        Tally { work: 0, shortcuts: 0, ..self.chat.stream_tally(self.stream) }
    }

    /// All that the chat has come to, as text.
    pub fn summary(&self) -> String {
        let (faults, counts) = (self.chat.faults().collect::<Vec<_>>(), self.counts());
        format!("{}\n{}\n{faults:?}\n{counts:?}", self.chat.rows_json(), self.chat.panels_json())
    }

    /// Drains, and tells what the chat came to.
    pub fn outcome(&mut self) -> Outcome {
        self.drain();
        assert!(self.drain().is_empty(), "a second drain says something");
        let faults = self.chat.faults().map(|fault| (fault.offset, fault.reason.to_owned(), fault.excerpt.clone()));
        Outcome {
            rows: self.rows(),
            panels: self.panels(),
            faults: faults.collect(),
            tally: self.counts(),
            end: self.chat.end(self.stream),
        }
    }
}

/// A chat with these options and one stream, watched by the oracle.
pub fn chat_with(options: Options) -> Chat {
    chat_of(Format::OpenAiChat, options)
}

/// A chat with these options and one stream of this format, watched by the oracle.
pub fn chat_of(format: Format, options: Options) -> Chat {
    let mut chat = ChatRows::new(options);
    let stream = chat.stream(format);
    Chat { chat, stream, oracle: Oracle::default(), op_bytes: 0, watch: 1, batches: 0 }
}

/// What `input` comes to in one piece, finished; every other way to feed it must come to the same.
pub fn outcome(input: &[u8]) -> Outcome {
    outcome_with(Options::default(), input)
}

/// The same under other caps.
pub fn outcome_with(options: Options, input: &[u8]) -> Outcome {
    outcome_of(Format::OpenAiChat, options, input)
}

/// The same in another format.
pub fn outcome_of(format: Format, options: Options, input: &[u8]) -> Outcome {
    let run = |cuts: Cuts, shortcut: bool| {
        let mut chat = chat_of(format, options);
        if !shortcut {
            chat.chat.without_shortcut(chat.stream);
        }
        chat.feed(input, cuts);
        chat.finish();
        let outcome = chat.outcome();
        rests(&outcome.rows, "at the end");
        honest(&outcome.rows);
        (outcome, chat)
    };
    let (outcome, mut chat) = run(Cuts::Whole, true);
    assert_eq!(outcome.tally.bytes, input.len() as u64, "bytes are not all counted");
    assert_eq!(outcome.panels["activity"]["state"], "idle", "something goes on after the end");

    let same = |cuts: Cuts, shortcut: bool| {
        let (other, _) = run(cuts, shortcut);
        assert_eq!(other, outcome, "{cuts:?}, shortcut {shortcut}: {}", String::from_utf8_lossy(input));
    };
    same(Cuts::Whole, false);
    same(Cuts::Every(1), true);
    let whole = chat.summary();
    for place in 1..if input.len() <= 1000 { input.len() } else { 1 } {
        // Without drains, which cost most of the time; every other way to feed has them.
        let mut chat = chat_of(format, options);
        chat.push(&input[..place]);
        chat.push(&input[place..]);
        chat.finish();
        assert_eq!(chat.summary(), whole, "cut at {place}: {}", String::from_utf8_lossy(input));
    }
    for seed in 0..if input.len() <= 20_000 { 8 } else { 2 } {
        same(Cuts::Seed(seed), seed % 2 == 0);
    }

    // The same bytes once more, declared as a replay, change nothing and say nothing.
    chat.chat.restart(chat.stream);
    chat.feed(input, Cuts::Whole);
    chat.finish();
    assert_eq!(lines(&chat.rows()), lines(&outcome.rows), "a replay changes rows");
    assert_eq!(chat.rows(), outcome.rows, "a replay changes rows");
    assert_eq!(chat.drain(), Vec::<Value>::new(), "a replay that changes nothing is not silent");
    chat.chat.restart(chat.stream);
    chat.feed(input, Cuts::Seed(input.len() as u64));
    chat.finish();
    chat.drain();
    assert_eq!(chat.rows(), outcome.rows, "a replay in other pieces changes rows");
    outcome
}

/// Feeds `input` in every way; these rows must come out, and no fault.
#[track_caller]
pub fn check(input: impl AsRef<[u8]>, expected: &str) -> Outcome {
    check_faults(input, expected, &[])
}

/// Feeds `input` in every way; these rows and faults must come out.
#[track_caller]
pub fn check_faults(input: impl AsRef<[u8]>, expected: &str, faults: &[&str]) -> Outcome {
    check_of(Format::OpenAiChat, input, expected, faults)
}

/// Feeds `input` of this format in every way; these rows and faults must come out.
#[track_caller]
pub fn check_of(format: Format, input: impl AsRef<[u8]>, expected: &str, faults: &[&str]) -> Outcome {
    let outcome = outcome_of(format, Options::default(), input.as_ref());
    assert_eq!(lines(&outcome.rows), unindent(expected));
    let reasons: Vec<&str> = outcome.faults.iter().map(|(_, reason, _)| &**reason).collect();
    assert_eq!(reasons, faults);
    outcome
}

/// Feeds `records` as events and as bare values; these rows must come out of both, and no fault.
#[track_caller]
pub fn check_lines<R: AsRef<str>>(records: &[R], expected: &str) -> Outcome {
    let records = || records.iter().map(AsRef::as_ref);
    let events = check(super::sse(records()), expected);
    let values = check(super::values(records()), expected);
    assert_eq!(events.rows, values.rows);
    assert_eq!(events.panels, values.panels);
    events
}

/// What shows after `input` while the stream lives, however it is cut.
#[track_caller]
pub fn check_open(input: impl AsRef<[u8]>, expected: &str) -> Value {
    check_open_of(Format::OpenAiChat, input, expected)
}

/// What shows after `input` of this format while the stream lives, however it is cut.
#[track_caller]
pub fn check_open_of(format: Format, input: impl AsRef<[u8]>, expected: &str) -> Value {
    let input = input.as_ref();
    let run = |cuts: Cuts| {
        let mut chat = Chat::of(format);
        chat.feed(input, cuts);
        chat.drain();
        chat.rows()
    };
    let rows = run(Cuts::Whole);
    assert_eq!(lines(&rows), unindent(expected));
    assert_eq!(run(Cuts::Every(1)), rows);
    if input.len() <= 700 {
        (1..input.len()).for_each(|place| assert_eq!(run(Cuts::At(place)), rows, "cut at {place}"));
    }
    rows
}

/// No row moves: neither streaming nor preparing nor running, and no spinner.
#[track_caller]
pub fn rests(rows: &Value, what: &str) {
    for row in rows.as_array().into_iter().flatten() {
        let moves = ["streaming", "preparing", "running"].iter().any(|state| row["state"] == *state);
        assert!(!moves && row["busy"] == false, "{what}: not at rest: {row}");
    }
}

/// What may be executed is what a strict parser takes; a call that failed says why.
fn honest(rows: &Value) {
    for row in rows.as_array().into_iter().flatten().filter(|row| row["kind"] == "tool") {
        let (input, done) = (row["tool"]["input"].as_str().unwrap_or("?"), row["tool"]["inputDone"] == true);
        assert!(!done || is_strict_json(input), "whole, yet no JSON: {row}");
        assert_eq!(row["state"] == "pending", done, "pending and whole are the same for a native call: {row}");
        assert!(row["state"] != "failed" || row["error"]["code"].is_string(), "failed without saying why: {row}");
    }
}

/// Numbers that are the same at every run.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}
