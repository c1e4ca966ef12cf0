//! What a link is told once: where its task is, and how patient to be.

use super::backoff::Backoff;
use super::request::{DataForm, UserInput};

/// How a task's stream is dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskMode {
    /// Opens a turn: the server waits for the user's input.
    New,
    /// Joins a task: its latest turn is replayed, then it goes on live.
    Attach,
}

impl TaskMode {
    /// The mode's name in an address.
    pub fn name(self) -> &'static str {
        match self {
            TaskMode::New => "new",
            TaskMode::Attach => "attach",
        }
    }
}

/// The close codes after which dialling again would bring the same. Of RFC 6455: what one side says breaks the protocol
/// (1002), cannot be taken (1003, 1007) or lacks an extension (1010), and the policy of the server (1008). Of the codes
/// left to applications those that servers make of an HTTP status: 400, 401, 403, 404 and 410; a client that sees the
/// status of a refused handshake reports it as 4000 more.
///
/// Not among them: 1000 and 1001, for a task that goes on says its end by `task-ended` and by nothing else, and servers
/// close so when they restart; 1005, 1006 and 1015, which only say that nothing is known; 1009, for what was too long
/// is not sent again; 1011 to 1014, which pass.
pub const STOP_CODES: &[u16] = &[1002, 1003, 1007, 1008, 1010, 4400, 4401, 4403, 4404, 4410];

/// What a link is told once. Times are milliseconds; a time or a number of 0 is none.
#[derive(Debug, Clone)]
pub struct LinkOptions {
    /// Where the server is; see [`task_url`](crate::task_url).
    pub base: String,
    /// The task's id.
    pub task: String,
    /// How the first dial is made. Once an input was sent each further dial attaches.
    pub mode: TaskMode,
    /// What the user says first.
    pub input: Option<UserInput>,
    /// Tools run without asking: said on every connection, before anything else.
    pub auto_approve: bool,
    /// Questions are answered at once, by the first option of each; see [`TaskLink::frame`](crate::TaskLink::frame).
    pub auto_answer: bool,
    /// How data is written.
    pub form: DataForm,
    /// How long to wait before dialling again.
    pub backoff: Backoff,
    /// A number from 0 to 1, another one each time; asked for the jitter of each delay.
    pub random: fn() -> f64,
    /// Dials in a row that may fail to open: 10. With the delays of [`Backoff`] they cover 47 s, which a server that
    /// restarts or a machine that wakes up stays under.
    pub max_dials: u32,
    /// How long the task may take from [`TaskLink::start`](crate::TaskLink::start) on, connected or not: 10 minutes.
    pub timeout: u64,
    /// How long a socket may be silent before the panel says so: 30 s, three of the server's pings. A dial that does
    /// not open is silent too.
    pub silence: u64,
    /// A silent socket is taken for lost, and dialled again.
    pub drop_silent: bool,
    /// The close codes that end the task; see [`STOP_CODES`].
    pub stop_codes: Vec<u16>,
    /// Somebody is asked about each loss that no code decides; see [`Action::Classify`](crate::Action::Classify).
    pub classify: bool,
}

impl LinkOptions {
    /// The defaults for the task `task` at `base`.
    pub fn new(base: impl Into<String>, task: impl Into<String>, mode: TaskMode) -> Self {
        LinkOptions {
            base: base.into(),
            task: task.into(),
            mode,
            input: None,
            auto_approve: false,
            auto_answer: false,
            form: DataForm::default(),
            backoff: Backoff::default(),
            random: || 0.0,
            max_dials: 10,
            timeout: 600_000,
            silence: 30_000,
            drop_silent: false,
            stop_codes: STOP_CODES.to_vec(),
            classify: false,
        }
    }
}
