//! The presenter of a message: each of its guards by name, and every schedule of a few events.

#![cfg(not(target_arch = "wasm32"))]

use std::collections::HashSet;

use chatrows::{Answer, BlockEnd, BlockNumber, Skip, Turn, TurnBlock, TurnHost, TurnOptions, WaitId};

const READS: TurnBlock = TurnBlock::Tool { read_only: true };
const WRITES: TurnBlock = TurnBlock::Tool { read_only: false };
const DONE: BlockEnd = BlockEnd::Complete;

const SERIAL: TurnOptions = TurnOptions { parallel: false, concurrent: false, checkpoint: false };
const PARALLEL: TurnOptions = TurnOptions { parallel: true, ..SERIAL };
const CHECKED: TurnOptions = TurnOptions { checkpoint: true, ..PARALLEL };
const CONCURRENT: TurnOptions = TurnOptions { concurrent: true, ..PARALLEL };

/// What the outside world was told, as words.
#[derive(Default)]
struct Log {
    said: Vec<String>,
    /// What was asked last.
    wait: Option<WaitId>,
}

impl TurnHost for Log {
    fn show(&mut self, block: BlockNumber) {
        self.said.push(format!("show {block}"));
    }
    fn skip(&mut self, block: BlockNumber, why: Skip) {
        self.said.push(format!("skip {block} {why:?}"));
    }
    fn fail(&mut self, block: BlockNumber, code: &'static str) {
        self.said.push(format!("fail {block} {code}"));
    }
    fn checkpoint(&mut self, wait: WaitId) {
        self.said.push("checkpoint".into());
        self.wait = Some(wait);
    }
    fn approve(&mut self, block: BlockNumber, wait: WaitId) {
        self.said.push(format!("approve {block}"));
        self.wait = Some(wait);
    }
    fn reject(&mut self, block: BlockNumber) {
        self.said.push(format!("reject {block}"));
    }
    fn run(&mut self, block: BlockNumber, wait: WaitId) {
        self.said.push(format!("run {block}"));
        self.wait = Some(wait);
    }
    fn cancel(&mut self, _wait: WaitId) {
        self.said.push("cancel".into());
    }
    fn ready(&mut self) {
        self.said.push("ready".into());
    }
    fn aborted(&mut self) {
        self.said.push("aborted".into());
    }
}

/// One turn and what it said.
struct Play {
    turn: Turn,
    log: Log,
}

impl Play {
    fn new(options: TurnOptions) -> Play {
        Play { turn: Turn::new(options), log: Log::default() }
    }

    /// A block that is whole at once.
    fn whole(&mut self, block: TurnBlock) -> &mut Self {
        self.open(block);
        let number = self.turn.blocks() - 1;
        self.turn.end(number, DONE, &mut self.log);
        self
    }

    fn open(&mut self, block: TurnBlock) -> &mut Self {
        self.turn.begin(block, &mut self.log).unwrap();
        self
    }

    fn end(&mut self, block: BlockNumber, end: BlockEnd) -> &mut Self {
        self.turn.end(block, end, &mut self.log);
        self
    }

    fn grow(&mut self, block: BlockNumber) -> &mut Self {
        self.turn.grow(block, &mut self.log);
        self
    }

    fn complete(&mut self) -> &mut Self {
        self.turn.complete(&mut self.log);
        self
    }

    fn abort(&mut self) -> &mut Self {
        self.turn.abort(&mut self.log);
        self
    }

    fn answer(&mut self, answer: Answer) -> &mut Self {
        let wait = self.log.wait.expect("nothing was asked");
        assert!(self.turn.settle(wait, answer, &mut self.log));
        self
    }

    /// What was said since the last look.
    #[track_caller]
    fn said(&mut self, expected: &str) -> &mut Self {
        assert_eq!(std::mem::take(&mut self.log.said).join(", "), expected);
        self
    }
}

#[test]
fn text_shows_as_it_grows_and_an_unchanged_turn_says_nothing() {
    let mut play = Play::new(SERIAL);
    play.open(TurnBlock::Text)
        .said("show 0")
        .grow(0)
        .said("show 0")
        .end(0, DONE)
        .said("show 0")
        .complete()
        .said("ready");
    play.complete().grow(0).said("");
}

#[test]
fn out_of_bounds_is_normal_and_means_ready_only_when_the_stream_is_complete() {
    let mut play = Play::new(SERIAL);
    play.whole(TurnBlock::Text).said("show 0, show 0");
    play.open(TurnBlock::Text).said("show 1");
    play.complete().said("show 1, ready");
    Play::new(SERIAL).complete().said("ready");
}

#[test]
fn a_partial_call_only_shows_and_a_complete_one_asks_and_runs() {
    let mut play = Play::new(SERIAL);
    play.open(WRITES).said("show 0").grow(0).said("show 0");
    play.end(0, DONE).said("show 0, approve 0").answer(Answer::Yes).said("run 0").answer(Answer::Yes).said("");
    play.complete().said("ready");
}

#[test]
fn while_a_block_is_dispatched_what_comes_only_leaves_a_mark() {
    let mut play = Play::new(PARALLEL);
    play.whole(WRITES).said("show 0, show 0, approve 0");
    assert!(!play.turn.is_pending());
    play.open(TurnBlock::Text).grow(1).said("");
    assert!(play.turn.is_pending());
    play.answer(Answer::Yes).said("run 0").answer(Answer::Yes).said("show 1");
    assert!(!play.turn.is_pending());
}

#[test]
fn one_call_a_turn_unless_parallel() {
    let mut play = Play::new(SERIAL);
    play.whole(READS).answer(Answer::Yes).answer(Answer::Yes).said("show 0, show 0, approve 0, run 0");
    play.whole(TurnBlock::Text).whole(READS).complete().said("skip 2 Used, ready");
    let mut play = Play::new(PARALLEL);
    play.whole(READS).answer(Answer::Yes).answer(Answer::Yes).said("show 0, show 0, approve 0, run 0");
    play.whole(TurnBlock::Text).whole(READS).said("show 1, show 1, show 2, show 2, approve 2");
}

/// A tool that throws has given its result as well.
#[test]
fn a_call_that_failed_was_used() {
    let mut play = Play::new(SERIAL);
    play.whole(READS).answer(Answer::Yes).answer(Answer::Failed).whole(READS).complete();
    play.said("show 0, show 0, approve 0, run 0, skip 1 Used, ready");
}

#[test]
fn after_a_rejection_text_is_left_alone_and_calls_are_skipped_once() {
    let mut play = Play::new(PARALLEL);
    play.whole(WRITES).answer(Answer::No).said("show 0, show 0, approve 0, reject 0");
    assert!(play.turn.is_rejected());
    play.whole(TurnBlock::Text).said("");
    play.open(READS).said("skip 2 Rejected").grow(2).end(2, DONE).said("").complete().said("ready");
}

#[test]
fn the_first_call_that_changes_something_waits_for_the_checkpoint() {
    let mut play = Play::new(CHECKED);
    play.whole(READS).said("show 0, show 0, approve 0").answer(Answer::Yes).answer(Answer::Yes).said("run 0");
    play.whole(WRITES).said("show 1, show 1, checkpoint").answer(Answer::Yes).said("approve 1");
    play.answer(Answer::Yes).answer(Answer::Yes).said("run 1");
    play.whole(WRITES).said("show 2, show 2, approve 2");
}

/// The original goes on without its checkpoint.
#[test]
fn without_its_checkpoint_no_call_that_changes_something_runs() {
    let mut play = Play::new(CHECKED);
    play.whole(WRITES).answer(Answer::Failed).said("show 0, show 0, checkpoint, fail 0 checkpoint-failed");
    play.whole(WRITES).said("show 1, show 1, fail 1 checkpoint-failed");
    play.whole(READS).said("show 2, show 2, approve 2");
}

#[test]
fn a_failed_approval_fails_the_call_and_goes_on() {
    let mut play = Play::new(SERIAL);
    play.whole(WRITES).answer(Answer::Failed).said("show 0, show 0, approve 0, fail 0 approval-failed");
    assert_eq!(play.turn.ended(0), Some(BlockEnd::Failed("approval-failed")));
    play.whole(WRITES).said("show 1, show 1, approve 1");
}

/// The original hangs on an unknown tool, and runs one that was never closed.
#[test]
fn what_cannot_run_is_an_error_and_the_index_advances() {
    let mut play = Play::new(SERIAL);
    play.open(WRITES).end(0, BlockEnd::Failed("unknown-tool")).said("show 0, show 0, fail 0 unknown-tool");
    play.open(WRITES).complete().said("show 1, show 1, fail 1 arguments-incomplete, ready");
}

#[test]
fn text_that_is_open_at_the_end_is_what_it_is() {
    let mut play = Play::new(SERIAL);
    play.open(TurnBlock::Text).open(WRITES).complete();
    let ends = [DONE, BlockEnd::Failed("arguments-incomplete")].map(Some);
    assert_eq!([play.turn.ended(0), play.turn.ended(1)], ends);
}

#[test]
fn ready_is_armed_by_the_last_known_block_and_disarmed_when_more_arrive() {
    let mut play = Play::new(SERIAL);
    play.whole(TurnBlock::Text).open(WRITES).said("show 0, show 0, show 1");
    play.end(1, DONE).complete().said("show 1, approve 1");
    play.answer(Answer::Yes).said("run 1").answer(Answer::Yes).said("ready");
}

#[test]
fn an_abort_comes_first_and_ends_what_waits() {
    let mut play = Play::new(SERIAL);
    play.whole(WRITES).said("show 0, show 0, approve 0");
    let asked = play.log.wait.unwrap();
    play.abort().said("cancel, aborted");
    assert_eq!(play.turn.waits_for(), None);
    assert!(!play.turn.settle(asked, Answer::Yes, &mut play.log));
    assert_eq!(play.turn.begin(TurnBlock::Text, &mut play.log), None);
    play.grow(0).complete().abort().said("");
    play.turn.withdraw(0, "x", &mut play.log);
    play.said("");
}

/// What was rejected and what was used is so for one message.
#[test]
fn the_next_message_is_another_turn() {
    let mut play = Play::new(SERIAL);
    play.whole(WRITES).answer(Answer::No).complete().said("show 0, show 0, approve 0, reject 0, ready");
    assert!(play.turn.is_over() && play.turn.is_rejected());
    // Block 1 is the end of the message.
    play.whole(WRITES).said("show 2, show 2, approve 2");
    assert!(!play.turn.is_over() && !play.turn.is_rejected());
    play.answer(Answer::Yes).answer(Answer::Yes).whole(WRITES).said("run 2, skip 3 Used").complete().said("ready");
    play.open(TurnBlock::Text).said("show 5").complete().said("show 5, ready");
    let mut play = Play::new(CONCURRENT);
    play.whole(TurnBlock::Text).complete().said("show 0, show 0, ready");
    play.open(TurnBlock::Text).complete().said("show 2, show 2, show 2, ready");
}

#[test]
fn a_message_waits_for_the_one_before() {
    let mut play = Play::new(SERIAL);
    play.whole(WRITES).complete().said("show 0, show 0, approve 0").whole(READS).complete().said("");
    play.answer(Answer::No).said("reject 0, ready, show 2, approve 2");
    play.answer(Answer::No).said("reject 2, ready");
}

#[test]
fn what_is_taken_back_does_not_run() {
    let mut play = Play::new(PARALLEL);
    play.whole(WRITES).whole(WRITES).open(WRITES).said("show 0, show 0, approve 0");
    for block in [2, 1, 0] {
        play.turn.withdraw(block, "gone", &mut play.log);
    }
    play.said("cancel, fail 0 gone, show 1, fail 1 gone, show 2").end(2, DONE).said("show 2, approve 2");
    assert_eq!([0, 1].map(|block| play.turn.ended(block)), [Some(BlockEnd::Failed("gone")); 2]);
    play.answer(Answer::Yes).said("run 2");
    play.turn.withdraw(2, "gone", &mut play.log);
    play.turn.withdraw(1, "gone", &mut play.log);
    play.turn.withdraw(9, "gone", &mut play.log);
    play.answer(Answer::Yes).complete().said("ready");
    let mut play = Play::new(CHECKED);
    play.whole(WRITES).said("show 0, show 0, checkpoint");
    play.turn.withdraw(0, "gone", &mut play.log);
    play.whole(WRITES).said("cancel, fail 0 gone, show 1, show 1, checkpoint");
}

#[test]
fn what_is_handled_or_aborted_cannot_be_taken_back() {
    let mut play = Play::new(PARALLEL);
    play.whole(WRITES).answer(Answer::Yes).answer(Answer::Yes).whole(WRITES);
    play.said("show 0, show 0, approve 0, run 0, show 1, show 1, approve 1");
    play.turn.withdraw(0, "gone", &mut play.log);
    play.said("").answer(Answer::No).complete().said("reject 1, ready");
    play.turn.withdraw(1, "gone", &mut play.log);
    assert_eq!((play.turn.ended(0), play.turn.ended(1)), (Some(DONE), Some(DONE)));
    play.whole(WRITES).whole(WRITES).abort();
    for block in [3, 4] {
        play.turn.withdraw(block, "gone", &mut play.log);
        assert_eq!(play.turn.ended(block), Some(DONE));
    }
}

#[test]
fn a_message_that_goes_on_after_all_is_the_same_turn() {
    let mut play = Play::new(PARALLEL);
    play.turn.reopen();
    play.whole(WRITES).answer(Answer::No).complete().said("show 0, show 0, approve 0, reject 0, ready");
    play.turn.reopen();
    assert!(!play.turn.is_over());
    play.whole(WRITES).complete().said("skip 2 Rejected, ready");
    let mut play = Play::new(PARALLEL);
    play.whole(WRITES).complete().said("show 0, show 0, approve 0");
    play.turn.reopen();
    play.whole(WRITES).answer(Answer::No).said("reject 0, skip 1 Rejected").complete().said("ready");
}

#[test]
fn an_answer_counts_once() {
    let mut play = Play::new(PARALLEL);
    play.whole(WRITES).answer(Answer::Yes);
    let run = play.log.wait.unwrap();
    play.answer(Answer::Yes).said("show 0, show 0, approve 0, run 0");
    assert!(!play.turn.settle(run, Answer::Failed, &mut play.log));
    play.whole(WRITES).said("show 1, show 1, approve 1");
    assert!(!play.turn.settle(run, Answer::No, &mut play.log), "an answer to the call before");
}

#[test]
fn a_block_ends_once() {
    let mut play = Play::new(SERIAL);
    play.open(WRITES).end(0, BlockEnd::Failed("x")).end(0, DONE).grow(0).said("show 0, show 0, fail 0 x");
    play.whole(WRITES).whole(WRITES).end(2, BlockEnd::Failed("x")).said("show 1, show 1, approve 1");
    play.turn.withdraw(1, "gone", &mut play.log);
    play.said("cancel, fail 1 gone, show 2, approve 2");
}

#[test]
fn concurrent_blocks_show_as_they_come_and_calls_wait_for_each_other() {
    let mut play = Play::new(CONCURRENT);
    play.open(WRITES).open(WRITES).said("show 0, show 1, show 0");
    play.end(1, DONE).said("show 1, show 0").end(0, DONE).said("show 0, approve 0");
    play.open(TurnBlock::Text).grow(2).said("show 2, show 2");
    play.answer(Answer::Yes).answer(Answer::Yes).said("run 0, show 1, approve 1");
    play.complete().said("show 2").answer(Answer::No).said("reject 1, show 2, ready");
}

/// All of them show, so none may be shown that did not grow.
#[test]
fn a_concurrent_block_that_ended_or_was_aborted_grows_no_more() {
    let mut play = Play::new(CONCURRENT);
    play.open(WRITES).open(WRITES).end(1, DONE).said("show 0, show 1, show 0, show 1, show 0");
    play.grow(1).grow(9).said("");
    play.open(TurnBlock::Text).said("show 2, show 0").abort().said("aborted");
    play.grow(2).end(2, DONE).complete().said("");
    assert!(!play.turn.is_complete());
}

/// What a turn tells of itself.
#[track_caller]
fn check_told(turn: &Turn, complete: bool, rejected: bool, used: bool, over: bool) {
    let told = (turn.is_complete(), turn.is_rejected(), turn.is_used(), turn.is_over());
    assert_eq!(told, (complete, rejected, used, over));
}

#[test]
fn a_turn_tells_what_it_has_come_to() {
    let mut play = Play::new(PARALLEL);
    check_told(&play.turn, false, false, false, false);
    play.whole(WRITES).answer(Answer::Yes).answer(Answer::Yes).whole(WRITES).complete();
    check_told(&play.turn, true, false, true, false);
    play.answer(Answer::No);
    check_told(&play.turn, true, true, true, true);
    play.whole(WRITES);
    check_told(&play.turn, false, false, false, false);
    play.answer(Answer::No);
    check_told(&play.turn, false, true, false, false);
    play.complete();
    check_told(&play.turn, true, true, false, true);
}

// Every schedule.

/// What the outside world knows, as far as the turn could break its promises to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct World {
    /// What is asked: of which block, if of one.
    asked: Option<(WaitId, Question)>,
    ends: Vec<Option<BlockEnd>>,
    kinds: Vec<TurnBlock>,
    /// What became of each block that is a call.
    outcomes: Vec<Vec<&'static str>>,
    approved: Option<BlockNumber>,
    checkpoint: bool,
    /// The block after the last of each message that is complete.
    ends_at: Vec<BlockNumber>,
    complete: bool,
    /// The messages of which a call was rejected.
    rejected: Vec<usize>,
    ready: usize,
    aborted: u8,
    wrong: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Question {
    Checkpoint,
    Approval(BlockNumber),
    Run(BlockNumber),
}

impl World {
    fn outcome(&mut self, block: BlockNumber, outcome: &'static str) {
        self.rests(block, "something comes to its end after the end");
        self.outcomes[block].push(outcome);
    }

    fn ask(&mut self, wait: WaitId, question: Question) {
        if self.asked.replace((wait, question)).is_some() {
            self.wrong = Some("two things are waited for");
        }
        if let Question::Approval(block) | Question::Run(block) = question {
            self.rests(block, "something begins after the end");
        }
    }

    /// The message of a block.
    fn turn_of(&self, block: BlockNumber) -> usize {
        self.ends_at.iter().filter(|end| **end <= block).count()
    }

    fn rests(&mut self, block: BlockNumber, wrong: &'static str) {
        if self.aborted > 0 || self.turn_of(block) < self.ready {
            self.wrong = Some(wrong);
        }
    }
}

impl TurnHost for World {
    fn show(&mut self, block: BlockNumber) {
        self.rests(block, "something shows after the end");
    }
    fn skip(&mut self, block: BlockNumber, _why: Skip) {
        self.outcome(block, "skipped");
    }
    fn fail(&mut self, block: BlockNumber, _code: &'static str) {
        self.outcome(block, "failed");
    }
    fn checkpoint(&mut self, wait: WaitId) {
        self.ask(wait, Question::Checkpoint);
    }
    fn approve(&mut self, block: BlockNumber, wait: WaitId) {
        self.ask(wait, Question::Approval(block));
    }
    fn reject(&mut self, block: BlockNumber) {
        self.outcome(block, "rejected");
    }
    fn run(&mut self, block: BlockNumber, wait: WaitId) {
        self.outcome(block, "run");
        self.ask(wait, Question::Run(block));
        if self.approved != Some(block) || self.rejected.contains(&self.turn_of(block)) {
            self.wrong = Some("a call runs that was not approved, or after a rejection");
        }
        if self.ends[block] != Some(DONE) {
            self.wrong = Some("a call runs that is not complete");
        }
    }
    fn cancel(&mut self, wait: WaitId) {
        if self.asked.take().is_none_or(|(asked, _)| asked != wait) {
            self.wrong = Some("what is not waited for is cancelled");
        }
    }
    fn ready(&mut self) {
        self.ready += 1;
        if self.ready > self.ends_at.len() {
            self.wrong = Some("a turn is ready before its message is complete, or twice");
        }
    }
    fn aborted(&mut self) {
        self.aborted += 1;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Begin(TurnBlock),
    Grow(BlockNumber),
    End(BlockNumber, BlockEnd),
    Withdraw(BlockNumber),
    Complete,
    Answer(Answer),
    Abort,
}

/// Blocks of calls and text, and the ends of messages between them.
const MOST_BLOCKS: usize = 4;

fn events(world: &World) -> Vec<Event> {
    let mut events = vec![Event::Complete, Event::Abort];
    if world.kinds.len() < MOST_BLOCKS {
        events.extend([TurnBlock::Text, READS, WRITES].map(Event::Begin));
    }
    for block in 0..world.ends.len() {
        match world.ends[block] {
            None => {
                let ends = [DONE, BlockEnd::Failed("bad")].map(|end| Event::End(block, end));
                events.extend([Event::Grow(block), ends[0], ends[1]]);
            }
            Some(DONE) if world.kinds[block] == WRITES => events.push(Event::Withdraw(block)),
            Some(_) => {}
        }
    }
    if world.asked.is_some() {
        events.extend([Answer::Yes, Answer::No, Answer::Failed].map(Event::Answer));
    }
    events
}

fn happen(event: Event, turn: &mut Turn, world: &mut World) {
    match event {
        Event::Begin(block) => {
            if world.aborted > 0 {
                assert_eq!(turn.begin(block, world), None);
                return;
            }
            world.kinds.push(block);
            world.ends.push(None);
            world.outcomes.push(Vec::new());
            world.complete = false;
            assert_eq!(turn.begin(block, world), Some(world.kinds.len() - 1));
        }
        Event::Grow(block) => turn.grow(block, world),
        Event::End(block, end) => {
            if world.aborted == 0 {
                world.ends[block] = Some(end);
            }
            turn.end(block, end, world);
        }
        Event::Withdraw(block) => {
            let runs = world.asked.is_some_and(|(_, question)| question == Question::Run(block));
            if !runs && world.aborted == 0 {
                world.ends[block] = Some(BlockEnd::Failed("gone"));
            }
            turn.withdraw(block, "gone", world);
        }
        Event::Complete => {
            if !world.complete && world.aborted == 0 {
                world.complete = true;
                for end in world.ends.iter_mut().filter(|end| end.is_none()) {
                    *end = Some(BlockEnd::Failed("open"));
                }
                // The end of a message has a number among its blocks.
                world.kinds.push(TurnBlock::Text);
                world.ends.push(Some(DONE));
                world.outcomes.push(Vec::new());
                world.ends_at.push(world.kinds.len());
            }
            turn.complete(world);
        }
        Event::Answer(answer) => {
            let (wait, question) = world.asked.take().expect("nothing is asked");
            match question {
                Question::Checkpoint => world.checkpoint = answer == Answer::Yes,
                Question::Approval(block) if answer == Answer::Yes => world.approved = Some(block),
                Question::Approval(block) if answer == Answer::No => world.rejected.push(world.turn_of(block)),
                Question::Approval(_) => {}
                Question::Run(_) => {}
            }
            if !turn.settle(wait, answer, world) {
                world.wrong = Some("an answer that is waited for is refused");
            }
            if turn.settle(wait, answer, world) {
                world.wrong = Some("an answer counts twice");
            }
        }
        Event::Abort => turn.abort(world),
    }
}

#[track_caller]
fn check(turn: &Turn, world: &World, options: TurnOptions, path: &[Event]) {
    assert_eq!(world.wrong, None, "{path:?}");
    let waits = turn.waits_for().map(|(wait, _)| wait);
    assert_eq!(waits, world.asked.map(|(wait, _)| wait), "the lock is not what is waited for: {path:?}");
    assert!(world.aborted <= 1, "aborted twice: {path:?}");
    let mut runs = [0; MOST_BLOCKS + 9];
    for (block, outcomes) in world.outcomes.iter().enumerate() {
        assert!(outcomes.len() <= 1, "{block} came to two ends: {path:?}");
        runs[world.turn_of(block)] += usize::from(outcomes.as_slice() == ["run"]);
        let is_call = matches!(world.kinds[block], TurnBlock::Tool { .. });
        let handled = world.turn_of(block) < world.ready && is_call;
        assert!(!handled || outcomes.len() == 1, "{block} was never handled: {path:?}");
        let wrote = world.kinds[block] == WRITES && outcomes.as_slice() == ["run"];
        assert!(!wrote || !options.checkpoint || world.checkpoint, "{block} runs without the checkpoint: {path:?}");
    }
    assert!(options.parallel || runs.iter().all(|runs| *runs <= 1), "a second use: {path:?}");
}

/// Whatever happened, the end of the stream and the answers lead to ready, and an abort leads to rest.
#[track_caller]
fn check_end(turn: &Turn, world: &World, options: TurnOptions, path: &[Event]) {
    let (mut turn, mut world) = (turn.clone(), world.clone());
    happen(Event::Complete, &mut turn, &mut world);
    let mut answers = 0;
    while world.asked.is_some() {
        happen(Event::Answer(Answer::Yes), &mut turn, &mut world);
        answers += 1;
        assert!(answers < 16, "it asks without end: {path:?}");
    }
    assert!(turn.is_over(), "never ready: {path:?}");
    assert!(world.aborted > 0 || world.ready == world.ends_at.len(), "not ready once a turn: {path:?}");
    check(&turn, &world, options, path);
}

#[test]
fn every_schedule_of_eight_events_keeps_the_promises() {
    let mut states = 0;
    for bits in 0..8 {
        let options = TurnOptions { parallel: bits & 1 > 0, concurrent: bits & 2 > 0, checkpoint: bits & 4 > 0 };
        let mut seen: HashSet<(Turn, World)> = HashSet::new();
        let mut now = vec![(Turn::new(options), World::default(), Vec::new())];
        for _ in 0..8 {
            let mut next = Vec::new();
            for (turn, world, path) in now {
                for event in events(&world) {
                    let (mut turn, mut world) = (turn.clone(), world.clone());
                    let mut path: Vec<Event> = path.clone();
                    path.push(event);
                    happen(event, &mut turn, &mut world);
                    check(&turn, &world, options, &path);
                    if seen.insert((turn.clone(), world.clone())) {
                        check_end(&turn, &world, options, &path);
                        next.push((turn, world, path));
                    }
                }
            }
            now = next;
        }
        states += seen.len();
    }
    assert!(states > 10_000, "only {states} states were seen");
}
