//! What the turns of a stream have to do with its rows: the presenter says which block shows and which call runs, the
//! rows say what came of the blocks, and the outside world is asked and answers.

use crate::json::{JsonWriter, Raw};
use crate::present::blocks::Stage;
use crate::present::chat::StreamId;
use crate::present::spoken::{asks, speak};
use crate::present::turn::{
    Answer, BlockEnd, BlockNumber, Skip, Turn, TurnBlock, TurnHost, TurnOptions, TurnStage, WaitId,
};
use crate::row::{Changed, Fact, Row, RowId, RowKind, RowState, approval, error, message};

/// How the calls of a stream are run: one after the other, each when its turn has come.
#[derive(Debug, Clone, Default)]
pub struct RunTools {
    /// A turn may use more than one call.
    pub parallel: bool,
    /// All blocks show as they come, and only the calls wait for one another. None: so it is unless calls are written
    /// as tags. Blocks that the wire names always show as they come.
    pub concurrent: Option<bool>,
    /// The user is asked before a call runs.
    pub approval: bool,
    /// The first call that changes something waits for a checkpoint.
    pub checkpoint: bool,
    /// The tools that change nothing. None: [`RunTools::READ_ONLY`].
    pub read_only: Option<Vec<String>>,
    /// The tools there are; a call of another fails. None: nobody knows here.
    pub known: Option<Vec<String>>,
}

impl RunTools {
    /// Tools of coding agents that change nothing.
    pub const READ_ONLY: [&'static str; 10] = [
        "list_files",
        "read_file",
        "search_files",
        "list_code_definition_names",
        "browser_action",
        "ask_followup_question",
        "web_search",
        "web_fetch",
        "use_skill",
        "use_subagents",
    ];

    fn is_read_only(&self, name: &str) -> bool {
        match &self.read_only {
            Some(names) => names.iter().any(|known| known == name),
            None => Self::READ_ONLY.contains(&name),
        }
    }
}

/// What the outside world is asked for. What has a [`WaitId`] is answered once, by
/// [`ChatRows::settle`](crate::ChatRows::settle).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Make the checkpoint, or say when it is made.
    Checkpoint(WaitId),
    /// Ask the user whether the call of this row may run.
    Approve(WaitId, RowId),
    /// Run the call of this row; [`ChatRows::args`](crate::ChatRows::args) has its arguments.
    Run(WaitId, RowId),
    /// Nobody waits for this any more.
    Cancel(WaitId),
    /// All blocks of the message are handled.
    Ready,
    /// The turn was aborted: who waits for it to be ready waits in vain.
    Aborted,
}

impl Asked {
    /// What is to be answered.
    fn wait(self) -> Option<WaitId> {
        match self {
            Asked::Checkpoint(wait) | Asked::Approve(wait, _) | Asked::Run(wait, _) => Some(wait),
            Asked::Cancel(_) | Asked::Ready | Asked::Aborted => None,
        }
    }
}

/// Adds what a stream asks for. What nobody has heard of yet is taken back in silence.
pub(super) fn collect(all: &mut Vec<(StreamId, Asked)>, stream: StreamId, news: &mut Vec<Asked>) {
    for asked in news.drain(..) {
        let before = match asked {
            Asked::Cancel(wait) => all.iter().position(|(of, asked)| *of == stream && asked.wait() == Some(wait)),
            _ => None,
        };
        match before {
            Some(place) => drop(all.remove(place)),
            None => all.push((stream, asked)),
        }
    }
}

/// What the outside world answers: `Yes` and `No` to a checkpoint or a question of leave, `Ended` to a run, `Failed` to
/// each. A run that is answered with `Yes` ended without output, one with `No` failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// The checkpoint is made; the call may run.
    Yes,
    /// The user rejects the call.
    No,
    /// The checkpoint, the question or the tool failed, for this reason.
    Failed(&'a str),
    /// The tool has come to its end. Without output what it showed so far stands.
    Ended {
        /// What it gave.
        output: Option<&'a str>,
        /// What it gave is an error.
        is_error: bool,
    },
}

/// The turns of one stream.
#[derive(Debug)]
pub(crate) struct Turns {
    tools: RunTools,
    turn: Turn,
    /// The row of each block; none at the end of a message.
    rows: Vec<Option<RowId>>,
    /// The block of each row, by id.
    blocks: Vec<(RowId, BlockNumber)>,
    /// Rows that began or came to another state.
    noted: Vec<RowId>,
    /// Blocks before this one are handled and hold no row back.
    swept: BlockNumber,
    pub asked: Vec<Asked>,
}

/// There is no tool of the call's name.
const UNKNOWN: &str = "tool-unknown";

impl Turns {
    /// `concurrent`: what is so where nothing is said.
    pub fn new(mut tools: RunTools, concurrent: bool) -> Self {
        let concurrent = *tools.concurrent.get_or_insert(concurrent);
        let options = TurnOptions { parallel: tools.parallel, concurrent, checkpoint: tools.checkpoint };
        Turns {
            tools,
            turn: Turn::new(options),
            rows: Vec::new(),
            blocks: Vec::new(),
            noted: Vec::new(),
            swept: 0,
            asked: Vec::new(),
        }
    }

    /// Whether a new row waits for its place.
    pub fn holds(&self) -> bool {
        self.tools.concurrent == Some(false)
    }

    pub fn is_over(&self) -> bool {
        self.turn.is_over()
    }

    pub fn is_aborted(&self) -> bool {
        self.turn.is_aborted()
    }

    pub fn waits_for(&self) -> Option<WaitId> {
        self.turn.waits_for().map(|(wait, _)| wait)
    }

    /// The row began or came to another state.
    pub fn note(&mut self, row: RowId) {
        self.noted.push(row);
    }

    /// Looks after what was noted. `over`: with it the message is complete.
    pub fn attend(&mut self, over: bool, stage: &mut Stage<'_>) {
        for place in 0..self.noted.len() {
            self.attend_to(self.noted[place], stage);
        }
        self.noted.clear();
        if over {
            self.with(stage, None, |turn, host| turn.complete(host));
            self.rows.resize(self.turn.blocks(), None);
        }
    }

    fn attend_to(&mut self, id: RowId, stage: &mut Stage<'_>) {
        let known = self.blocks.binary_search_by_key(&id, |(row, _)| *row);
        let Some(row) = stage.rows.get(id) else {
            // It was taken away.
            let Ok(place) = known else { return };
            return self.take_back(self.blocks[place].1, stage);
        };
        let is_tool = row.kind == RowKind::Tool;
        let kind = match row.kind {
            RowKind::Tool => TurnBlock::Tool { read_only: false },
            RowKind::Reasoning => TurnBlock::Reasoning,
            RowKind::Text => TurnBlock::Text,
            _ if stage.rows.is_held(id) => TurnBlock::Text,
            // What only stands beside the message.
            _ => return,
        };
        let (is_open, is_executable) = (row.state.is_open(), is_executable(row));
        let name = row.tool.as_deref().map_or("", |tool| &tool.name);
        let is_read_only = self.tools.is_read_only(name);
        let is_known = self.tools.known.as_ref().is_none_or(|known| known.iter().any(|known| known == name));
        let block = match known.map(|place| self.blocks[place].1) {
            Ok(block) if self.turn.ended(block).is_none() => block,
            Ok(block) if !is_open && !is_executable => {
                if is_tool {
                    self.take_back(block, stage);
                    self.show_if_skipped(block, id, stage);
                }
                return;
            }
            // It was noted twice.
            Ok(block)
                if is_executable
                    && block >= self.turn.index()
                    && matches!(self.turn.ended(block), Some(BlockEnd::Complete | BlockEnd::Failed(UNKNOWN))) =>
            {
                return;
            }
            // It goes on after its end: in a replay, or because what was said of it was taken back.
            known => {
                if let Ok(block) = known {
                    if !is_tool {
                        return;
                    }
                    self.take_back(block, stage);
                    // What becomes of the block that was is nothing to the row.
                    self.rows[block] = None;
                }
                let block = self.turn.blocks();
                match self.blocks.binary_search_by_key(&id, |(row, _)| *row) {
                    Ok(place) => self.blocks[place].1 = block,
                    Err(place) => self.blocks.insert(place, (id, block)),
                }
                self.rows.push(Some(id));
                if self.with(stage, None, |turn, host| turn.begin(kind, host)).is_none() {
                    self.rows.pop();
                    drop_held(id, stage);
                    return;
                }
                block
            }
        };
        if is_open {
            return;
        }
        if is_read_only {
            self.turn.set_read_only(block);
        }
        let end = match () {
            () if !is_tool => BlockEnd::Complete,
            () if !is_executable => BlockEnd::Failed("arguments-incomplete"),
            () if !is_known => BlockEnd::Failed(UNKNOWN),
            () => BlockEnd::Complete,
        };
        self.with(stage, None, |turn, host| turn.end(block, end, host));
        self.show_if_skipped(block, id, stage);
    }

    fn show_if_skipped(&self, block: BlockNumber, id: RowId, stage: &mut Stage<'_>) {
        if let Some(why) = self.turn.skipped(block) {
            show_skipped(id, why, stage);
        }
    }

    /// The call can run no more.
    fn take_back(&mut self, block: BlockNumber, stage: &mut Stage<'_>) {
        const CODE: &str = "arguments-incomplete";
        self.with(stage, None, |turn, host| {
            turn.withdraw(block, CODE, host);
            turn.end(block, BlockEnd::Failed(CODE), host);
        });
    }

    /// The page removed rows: nobody waits for those that are gone.
    pub fn check(&mut self, stage: &mut Stage<'_>) {
        for block in self.turn.index()..self.rows.len() {
            if self.rows[block].is_some_and(|row| stage.rows.get(row).is_none()) {
                self.take_back(block, stage);
            }
        }
        if let Some((wait, TurnStage::Run)) = self.turn.waits_for()
            && self.rows[self.turn.index()].is_some_and(|row| stage.rows.get(row).is_none())
        {
            self.asked.push(Asked::Cancel(wait));
            self.with(stage, None, |turn, host| turn.settle(wait, Answer::Yes, host));
        }
    }

    /// The answer to what was asked. False: nobody waits for it.
    pub fn settle(&mut self, wait: WaitId, outcome: Outcome<'_>, stage: &mut Stage<'_>) -> bool {
        let Some((_, asked)) = self.turn.waits_for().filter(|(id, _)| *id == wait) else { return false };
        let row = self.rows.get(self.turn.index()).copied().flatten();
        let (answer, words) = match outcome {
            Outcome::Yes | Outcome::Ended { .. } => (Answer::Yes, None),
            Outcome::No => (Answer::No, None),
            Outcome::Failed(words) => (Answer::Failed, Some(words)),
        };
        match (asked, row) {
            (TurnStage::Approval, Some(row)) => {
                let chosen = match answer {
                    Answer::Yes => Some("approve"),
                    Answer::No => Some("reject"),
                    Answer::Failed => None,
                };
                // Who failed to ask asks no more.
                let permission = chosen.map(|chosen| approval(Some(chosen)));
                stage.rows.change(row, |row| {
                    row.facts.set(Fact::Permission, permission);
                    Changed::FACTS
                });
            }
            (TurnStage::Run, Some(row)) => {
                let (output, is_error) = match outcome {
                    Outcome::Ended { output, is_error } => (output, is_error),
                    Outcome::Yes => (None, false),
                    Outcome::No | Outcome::Failed(_) => (None, true),
                };
                if let Some(words) = words {
                    stage.rows.change(row, |row| {
                        row.facts.set(Fact::Error, Some(error(words, Some("tool-failed"), None)));
                        Changed::FACTS
                    });
                }
                stage.rows.end_call(row, output, is_error, stage.now);
            }
            _ => {}
        }
        // What a tool failed with its row has; the next one has its own reasons.
        let words = words.filter(|_| asked != TurnStage::Run);
        self.with(stage, words, |turn, host| turn.settle(wait, answer, host))
    }

    /// Nothing runs, nothing waits, and what waited for its place will have none.
    pub fn abort(&mut self, stage: &mut Stage<'_>) {
        let noted = std::mem::take(&mut self.noted);
        // What the end of the text gave back is text as any other; a call must not begin any more.
        let is_tool = |id: &RowId| stage.rows.get(*id).is_some_and(|row| row.kind == RowKind::Tool);
        let before = noted.iter().position(is_tool).unwrap_or(noted.len());
        for id in noted.iter().take(before) {
            self.attend_to(*id, stage);
        }
        self.with(stage, None, |turn, host| turn.abort(host));
        for id in self.rows.iter().flatten().chain(&noted) {
            drop_held(*id, stage);
        }
    }

    /// The stream is read again: what was handled is handled.
    pub fn restart(&mut self) {
        if self.turn.is_aborted() {
            self.turn.begin_anew();
            self.blocks.clear();
            self.swept = 0;
        }
        self.turn.reopen();
        self.rows.truncate(self.turn.blocks());
    }

    /// Where the presenter stands: an object with the properties of the TypeScript interface `TurnState`.
    pub fn write_json(&self, json: &mut JsonWriter) {
        let waits = self.turn.waits_for();
        let row = self.rows.get(self.turn.index()).copied().flatten();
        json.object(|json| {
            json.key("index").number(self.turn.index() as u64);
            json.key("blocks").number(self.turn.blocks() as u64);
            if let Some(row) = row {
                json.key("row").number(u64::from(row.get()));
            }
            if let Some((_, stage)) = waits {
                json.key("waitsFor").string(stage.name());
            }
            for (name, is) in [
                ("locked", waits.is_some()),
                ("pending", self.turn.is_pending()),
                ("rejected", self.turn.is_rejected()),
                ("used", self.turn.is_used()),
                ("complete", self.turn.is_complete()),
                ("aborted", self.turn.is_aborted()),
                ("over", self.turn.is_over()),
            ] {
                json.key(name).bool(is);
            }
        });
    }

    fn with<T>(
        &mut self,
        stage: &mut Stage<'_>,
        words: Option<&str>,
        act: impl FnOnce(&mut Turn, &mut Host<'_, '_>) -> T,
    ) -> T {
        let Turns { turn, rows, asked, tools, .. } = self;
        let mut host = Host { rows, asked, asks: tools.approval, at_once: None, words, stage };
        let answer = act(turn, &mut host);
        while let Some((wait, answer)) = host.at_once.take() {
            turn.settle(wait, answer, &mut host);
        }
        // What was passed over never shows. A call says why, when it has come to its end.
        for row in self.rows.get(self.swept..self.turn.index()).unwrap_or_default().iter().flatten() {
            if stage.rows.is_held(*row) && stage.rows.get(*row).is_some_and(|row| row.kind != RowKind::Tool) {
                stage.rows.remove(*row);
            }
        }
        self.swept = self.turn.index().min(self.rows.len());
        answer
    }
}

/// From what the presenter says to rows, and to what is asked.
struct Host<'a, 'b> {
    rows: &'a [Option<RowId>],
    asked: &'a mut Vec<Asked>,
    /// The user is asked before a call runs.
    asks: bool,
    /// What needs no outside world to be answered.
    at_once: Option<(WaitId, Answer)>,
    /// Why something failed.
    words: Option<&'a str>,
    stage: &'a mut Stage<'b>,
}

impl Host<'_, '_> {
    fn row(&self, block: BlockNumber) -> Option<RowId> {
        self.rows.get(block).copied().flatten()
    }

    /// The row, if its call may run now.
    fn executable(&self, block: BlockNumber) -> Option<RowId> {
        self.row(block).filter(|row| self.stage.rows.get(*row).is_some_and(is_executable))
    }
}

impl TurnHost for Host<'_, '_> {
    fn show(&mut self, block: BlockNumber) {
        if let Some(row) = self.row(block) {
            self.stage.rows.release(row);
        }
    }

    fn skip(&mut self, block: BlockNumber, why: Skip) {
        if let Some(row) = self.row(block) {
            show_skipped(row, why, self.stage);
        }
    }

    fn fail(&mut self, block: BlockNumber, code: &'static str) {
        if let Some(row) = self.executable(block) {
            let why = error(self.words.take().unwrap_or_default(), Some(code), None);
            end(row, RowState::Failed, Fact::Error, why, self.stage);
        }
    }

    fn checkpoint(&mut self, wait: WaitId) {
        self.asked.push(Asked::Checkpoint(wait));
    }

    fn approve(&mut self, block: BlockNumber, wait: WaitId) {
        // The page may have taken the row away, or have run the call itself.
        let Some(row) = self.executable(block) else {
            self.at_once = Some((wait, Answer::Failed));
            return;
        };
        // What asks the user needs no leave to ask.
        if !self.asks || self.stage.rows.get(row).is_some_and(asks) {
            self.at_once = Some((wait, Answer::Yes));
            return;
        }
        self.stage.rows.change(row, |row| {
            row.facts.set(Fact::Permission, Some(approval(None)));
            Changed::FACTS
        });
        self.asked.push(Asked::Approve(wait, row));
    }

    fn reject(&mut self, block: BlockNumber) {
        if let Some(row) = self.executable(block) {
            end(row, RowState::Cancelled, Fact::Message, message("tool.rejected", &[]), self.stage);
        }
    }

    fn run(&mut self, block: BlockNumber, wait: WaitId) {
        let Some(row) = self.executable(block) else {
            self.at_once = Some((wait, Answer::Failed));
            return;
        };
        self.stage.rows.change(row, |row| {
            row.state = RowState::Running;
            Changed::STATE
        });
        speak(row, self.stage.rows);
        self.asked.push(Asked::Run(wait, row));
    }

    fn cancel(&mut self, wait: WaitId) {
        self.asked.push(Asked::Cancel(wait));
    }

    fn ready(&mut self) {
        self.asked.push(Asked::Ready);
    }

    fn aborted(&mut self) {
        self.asked.push(Asked::Aborted);
    }
}

/// A call that is complete and waits.
fn is_executable(row: &Row) -> bool {
    row.state == RowState::Pending && row.tool.as_deref().is_some_and(|tool| tool.input_done && !tool.is_remote)
}

/// The call was passed over: once it is complete its row says so.
fn show_skipped(id: RowId, why: Skip, stage: &mut Stage<'_>) {
    let Some(row) = stage.rows.get(id).filter(|row| !row.state.is_open()) else { return };
    let executable = is_executable(row);
    stage.rows.release(id);
    if executable {
        let key = match why {
            Skip::Rejected => "tool.skipped",
            Skip::Used => "tool.used",
        };
        end(id, RowState::Cancelled, Fact::Message, message(key, &[]), stage);
    }
}

/// What waits for a place that never comes.
fn drop_held(id: RowId, stage: &mut Stage<'_>) {
    if stage.rows.is_held(id) {
        stage.rows.remove(id);
    }
}

fn end(id: RowId, state: RowState, fact: Fact, value: Raw, stage: &mut Stage<'_>) {
    let now = stage.now;
    stage.rows.change(id, |row| {
        row.state = state;
        row.ended_at = Some(now);
        row.facts.set(fact, Some(value));
        let mut changed = Changed::STATE;
        changed.add(Changed::ENDED_AT);
        changed.add(Changed::FACTS);
        changed
    });
}
