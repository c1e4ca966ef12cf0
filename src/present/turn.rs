//! The presenter: the blocks of a message, one after the other, while the message is still being written. A call waits
//! for its turn, for the checkpoint, for the user's leave and for its own end; what stands behind it waits with it.
//!
//! It is pure: blocks come in, what is to be done goes to a [`TurnHost`], and what the outside world answers comes back
//! by [`Turn::settle`]. Nothing it calls can call it, so no failure leaves it locked.

/// A block of the message, in the order in which they began, from 0.
pub type BlockNumber = usize;

/// Something the outside world was asked for: answered once, by [`ChatRows::settle`](crate::ChatRows::settle), or by
/// [`Turn::settle`] where the presenter stands alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WaitId(u32);

impl WaitId {
    /// The number, from 1.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnBlock {
    /// Text of the answer.
    Text,
    /// Reasoning: shown, and never in anybody's way.
    Reasoning,
    /// A call.
    Tool {
        /// It changes nothing, so it need not wait for the checkpoint.
        read_only: bool,
    },
}

/// How a block ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockEnd {
    /// Complete; of a call: its arguments may be executed.
    Complete,
    /// Its arguments are none, or nobody knows the tool: an error row with this code.
    Failed(&'static str),
}

/// Why a block is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Skip {
    /// The user rejected a call before it.
    Rejected,
    /// A call before it was the one that the turn allows.
    Used,
}

/// What the outside world answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Yes; it is done.
    Yes,
    /// No: the user rejects the call.
    No,
    /// It failed, in its own words to the host.
    Failed,
}

/// Does what the presenter says. None of it may block.
pub trait TurnHost {
    /// Bring the block's row up to date with what has come.
    fn show(&mut self, block: BlockNumber);
    /// The call is passed over; its row says why. Told once for each call.
    fn skip(&mut self, block: BlockNumber, why: Skip);
    /// The call, which shows, failed before it could run: an error row with this code.
    fn fail(&mut self, block: BlockNumber, code: &'static str);
    /// Make the first checkpoint, or say when it is made.
    fn checkpoint(&mut self, wait: WaitId);
    /// Ask the user whether the call may run.
    fn approve(&mut self, block: BlockNumber, wait: WaitId);
    /// The user rejected the call.
    fn reject(&mut self, block: BlockNumber);
    /// Run the call. Its end, good or bad, is its row's as well.
    fn run(&mut self, block: BlockNumber, wait: WaitId);
    /// Nobody waits for this any more.
    fn cancel(&mut self, wait: WaitId);
    /// All blocks of the message are handled. Told once.
    fn ready(&mut self);
    /// The turn was aborted: what waits for it to be ready waits in vain. Told once.
    fn aborted(&mut self);
}

/// How a message is presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TurnOptions {
    /// A turn may use more than one call.
    pub parallel: bool,
    /// Blocks carry identity: all of them show as they come, and only the calls wait for one another.
    pub concurrent: bool,
    /// The first call that changes something waits for a checkpoint.
    pub checkpoint: bool,
}

/// How far the call at hand is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnStage {
    /// It waits for the checkpoint.
    Checkpoint,
    /// It waits for the user's leave.
    Approval,
    /// It runs.
    Run,
}

impl TurnStage {
    /// The name that JavaScript sees.
    pub fn name(self) -> &'static str {
        match self {
            TurnStage::Checkpoint => "checkpoint",
            TurnStage::Approval => "approval",
            TurnStage::Run => "run",
        }
    }
}

/// The presenter of the messages of one stream, a turn each.
///
/// ```
/// use chatrows::{Answer, BlockEnd, BlockNumber, Skip, Turn, TurnBlock, TurnHost, TurnOptions, WaitId};
///
/// #[derive(Default)]
/// struct Log(Vec<String>, Option<WaitId>);
/// impl TurnHost for Log {
///     fn show(&mut self, block: BlockNumber) { self.0.push(format!("show {block}")); }
///     fn skip(&mut self, block: BlockNumber, _: Skip) { self.0.push(format!("skip {block}")); }
///     fn fail(&mut self, block: BlockNumber, code: &'static str) { self.0.push(format!("fail {block} {code}")); }
///     fn checkpoint(&mut self, _: WaitId) {}
///     fn approve(&mut self, _: BlockNumber, wait: WaitId) { self.1 = Some(wait); }
///     fn reject(&mut self, block: BlockNumber) { self.0.push(format!("reject {block}")); }
///     fn run(&mut self, block: BlockNumber, _: WaitId) { self.0.push(format!("run {block}")); }
///     fn cancel(&mut self, _: WaitId) {}
///     fn ready(&mut self) { self.0.push("ready".into()); }
///     fn aborted(&mut self) {}
/// }
///
/// let (mut turn, mut log) = (Turn::new(TurnOptions::default()), Log::default());
/// turn.begin(TurnBlock::Tool { read_only: false }, &mut log);
/// turn.end(0, BlockEnd::Complete, &mut log);
/// turn.complete(&mut log);
/// let asked = log.1.unwrap();
/// turn.settle(asked, Answer::No, &mut log);
/// assert_eq!(log.0, ["show 0", "show 0", "reject 0", "ready"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Turn {
    options: TurnOptions,
    blocks: Vec<State>,
    /// The block that is presented.
    index: BlockNumber,
    /// What the block that is dispatched waits for. While there is any, a call of the presenter only leaves a mark.
    locked: Option<Waiting>,
    /// Something came while it was locked.
    pending: bool,
    /// The first block of the message that is written.
    first: BlockNumber,
    /// No block of it begins and none grows any more.
    complete: bool,
    flags: Flags,
    /// As they were at the end of the turn before.
    before: Flags,
    aborted: bool,
    checkpoint: Checkpoint,
    waits: u32,
}

/// What the turn at hand has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Flags {
    rejected: bool,
    used: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    /// None: here the message ends.
    block: Option<TurnBlock>,
    end: Option<BlockEnd>,
    skipped: Option<Skip>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Waiting {
    id: WaitId,
    stage: TurnStage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Checkpoint {
    /// The next call that changes something waits for it.
    Due,
    /// It failed: no call that changes something may run.
    Failed,
    /// Made, or not wanted.
    Done,
}

impl Turn {
    /// A turn in which nothing has come.
    pub fn new(options: TurnOptions) -> Turn {
        Turn {
            options,
            blocks: Vec::new(),
            index: 0,
            locked: None,
            pending: false,
            first: 0,
            complete: false,
            flags: Flags::default(),
            before: Flags::default(),
            aborted: false,
            checkpoint: if options.checkpoint { Checkpoint::Due } else { Checkpoint::Done },
            waits: 0,
        }
    }

    /// The stream begins anew after an abort. What is asked from here on has other numbers than what was asked before.
    pub fn begin_anew(&mut self) {
        *self = Turn { waits: self.waits, ..Turn::new(self.options) };
    }

    /// A block begins: of the message that is written, or, if that is complete, of the next. None after an abort.
    pub fn begin(&mut self, block: TurnBlock, host: &mut impl TurnHost) -> Option<BlockNumber> {
        if self.aborted {
            return None;
        }
        let number = self.blocks.len();
        if std::mem::take(&mut self.complete) {
            self.first = number;
        }
        self.blocks.push(State { block: Some(block), end: None, skipped: None });
        self.came(number, host);
        Some(number)
    }

    /// The call's name, which may come late, says that it changes nothing.
    pub fn set_read_only(&mut self, block: BlockNumber) {
        if let Some(TurnBlock::Tool { read_only }) = self.blocks.get_mut(block).and_then(|state| state.block.as_mut()) {
            *read_only = true;
        }
    }

    /// The block has grown.
    pub fn grow(&mut self, block: BlockNumber, host: &mut impl TurnHost) {
        if !self.is_over() && self.blocks.get(block).is_some_and(|state| state.end.is_none()) {
            self.came(block, host);
        }
    }

    /// The block ended. A second end changes nothing.
    pub fn end(&mut self, block: BlockNumber, end: BlockEnd, host: &mut impl TurnHost) {
        if self.is_over() {
            return;
        }
        if let Some(state) = self.blocks.get_mut(block).filter(|state| state.end.is_none()) {
            state.end = Some(end);
            self.came(block, host);
        }
    }

    /// A call that was complete can run no more: what its wire said of it is taken back, or its row is gone. One that
    /// runs goes on.
    pub fn withdraw(&mut self, block: BlockNumber, code: &'static str, host: &mut impl TurnHost) {
        let hand = self.index;
        let Some(state) = self.blocks.get_mut(block).filter(|_| block >= hand && !self.aborted) else { return };
        if block > hand {
            state.end = state.end.map(|_| BlockEnd::Failed(code));
        } else if let Some(waiting) = self.locked.take_if(|waiting| waiting.stage != TurnStage::Run) {
            state.end = Some(BlockEnd::Failed(code));
            host.cancel(waiting.id);
            host.fail(block, code);
            self.index += 1;
            self.present(host);
        }
    }

    /// The message ended: text that is open is what it is, a call that is open will never be one.
    pub fn complete(&mut self, host: &mut impl TurnHost) {
        if self.aborted || self.complete {
            return;
        }
        self.complete = true;
        for number in self.first..self.blocks.len() {
            let state = &mut self.blocks[number];
            if state.end.is_none() {
                let is_tool = matches!(state.block, Some(TurnBlock::Tool { .. }));
                state.end = Some(if is_tool { BlockEnd::Failed("arguments-incomplete") } else { BlockEnd::Complete });
                if self.options.concurrent {
                    host.show(number);
                }
            }
        }
        self.blocks.push(State { block: None, end: None, skipped: None });
        self.present(host);
    }

    /// The message that was complete goes on after all: its stream is read again.
    pub fn reopen(&mut self) {
        if !std::mem::take(&mut self.complete) {
            return;
        }
        if self.index == self.blocks.len() {
            self.flags = self.before;
        } else {
            self.blocks.pop();
        }
    }

    /// The answer to what the host was asked for. False: nobody waits for it, or any more.
    pub fn settle(&mut self, wait: WaitId, answer: Answer, host: &mut impl TurnHost) -> bool {
        let Some(Waiting { stage, .. }) = self.locked.take_if(|waiting| waiting.id == wait) else { return false };
        let block = self.index;
        match (stage, answer) {
            (TurnStage::Checkpoint, Answer::Yes) => {
                self.checkpoint = Checkpoint::Done;
                self.wait(TurnStage::Approval, host);
                return true;
            }
            (TurnStage::Checkpoint, Answer::No | Answer::Failed) => {
                self.checkpoint = Checkpoint::Failed;
                host.fail(block, "checkpoint-failed");
            }
            (TurnStage::Approval, Answer::Yes) => {
                self.wait(TurnStage::Run, host);
                return true;
            }
            (TurnStage::Approval, Answer::No) => {
                self.flags.rejected = true;
                host.reject(block);
            }
            (TurnStage::Approval, Answer::Failed) => {
                const CODE: &str = "approval-failed";
                self.blocks[block].end = Some(BlockEnd::Failed(CODE));
                host.fail(block, CODE);
            }
            // Its result, good or bad, is what the turn had to give.
            (TurnStage::Run, _) => self.flags.used = true,
        }
        self.index += 1;
        self.present(host);
        true
    }

    /// Ends it all: nothing runs, nothing waits, nothing more comes.
    pub fn abort(&mut self, host: &mut impl TurnHost) {
        if self.is_over() {
            return;
        }
        self.aborted = true;
        if let Some(waiting) = self.locked.take() {
            host.cancel(waiting.id);
        }
        host.aborted();
    }

    /// Whether the turn is over, and no other began: ready or aborted.
    pub fn is_over(&self) -> bool {
        self.aborted || self.complete && self.index == self.blocks.len()
    }

    /// Whether it was aborted.
    pub fn is_aborted(&self) -> bool {
        self.aborted
    }

    /// Whether no block of the message begins and none grows any more.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// What is waited for, and for what of the block at hand, if that is dispatched.
    pub fn waits_for(&self) -> Option<(WaitId, TurnStage)> {
        self.locked.map(|waiting| (waiting.id, waiting.stage))
    }

    /// How the block ended; none while it is open.
    pub fn ended(&self, block: BlockNumber) -> Option<BlockEnd> {
        self.blocks.get(block)?.end
    }

    /// Why the block was passed over, if it is a call that was.
    pub fn skipped(&self, block: BlockNumber) -> Option<Skip> {
        self.blocks.get(block)?.skipped
    }

    /// The block that is presented: those before it are handled.
    pub fn index(&self) -> BlockNumber {
        self.index
    }

    /// How many blocks have begun, ends of messages among them.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Whether something came while a block was dispatched.
    pub fn is_pending(&self) -> bool {
        self.pending
    }

    /// Whether the user has rejected a call of the turn, of the last one where no other began.
    pub fn is_rejected(&self) -> bool {
        self.last_flags().rejected
    }

    /// Whether a call of the turn has run, of the last one where no other began.
    pub fn is_used(&self) -> bool {
        self.last_flags().used
    }

    fn last_flags(&self) -> Flags {
        if self.complete && self.index == self.blocks.len() { self.before } else { self.flags }
    }

    fn came(&mut self, block: BlockNumber, host: &mut impl TurnHost) {
        if self.options.concurrent && block != self.index {
            host.show(block);
        }
        self.present(host);
    }

    /// Presents what can be: from the block at hand on until one goes on, or waits.
    fn present(&mut self, host: &mut impl TurnHost) {
        if self.locked.is_some() {
            self.pending = true;
            return;
        }
        self.pending = false;
        // Out of bounds is normal.
        while let Some(state) = self.blocks.get(self.index).copied() {
            match state.block {
                // All of the message is handled.
                None => {
                    self.before = std::mem::take(&mut self.flags);
                    host.ready();
                }
                Some(block) => {
                    if !self.dispatch(state, block, host) || state.end.is_none() && self.skips().is_none() {
                        return;
                    }
                }
            }
            self.index += 1;
        }
    }

    /// Why nothing more of the turn is presented, if that is so.
    fn skips(&self) -> Option<Skip> {
        match () {
            () if self.flags.rejected => Some(Skip::Rejected),
            () if self.flags.used && !self.options.parallel => Some(Skip::Used),
            () => None,
        }
    }

    /// Shows or runs the block at hand. False: it waits.
    fn dispatch(&mut self, state: State, block: TurnBlock, host: &mut impl TurnHost) -> bool {
        let skip = self.skips();
        let TurnBlock::Tool { read_only } = block else {
            if skip.is_none() || self.options.concurrent {
                host.show(self.index);
            }
            return true;
        };
        if let Some(why) = skip {
            self.blocks[self.index].skipped = Some(why);
            host.skip(self.index, why);
            return true;
        }
        host.show(self.index);
        match state.end {
            None => return true,
            Some(BlockEnd::Failed(code)) => {
                host.fail(self.index, code);
                return true;
            }
            Some(BlockEnd::Complete) => {}
        }
        match self.checkpoint {
            Checkpoint::Due if !read_only => self.wait(TurnStage::Checkpoint, host),
            Checkpoint::Failed if !read_only => {
                host.fail(self.index, "checkpoint-failed");
                return true;
            }
            _ => self.wait(TurnStage::Approval, host),
        }
        false
    }

    fn wait(&mut self, stage: TurnStage, host: &mut impl TurnHost) {
        self.waits += 1;
        let id = WaitId(self.waits);
        self.locked = Some(Waiting { id, stage });
        match stage {
            TurnStage::Checkpoint => host.checkpoint(id),
            TurnStage::Approval => host.approve(self.index, id),
            TurnStage::Run => host.run(self.index, id),
        }
    }
}
