//! What the user sees of a link: the values of the panel `connection`.

use crate::json::{JsonWriter, Raw};

/// Why it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEnd {
    /// The server said that the task ended.
    TaskEnded,
    /// The server said that the task failed.
    TaskError,
    /// The task took too long. This is no error.
    TimedOut,
    /// The user closed it.
    Closed,
    /// The server said no, or the one who was asked.
    Refused,
    /// So many dials in a row did not open.
    Unreachable,
}

impl LinkEnd {
    /// The name that the panel shows as its `reason`.
    pub fn name(self) -> &'static str {
        match self {
            LinkEnd::TaskEnded => "task-ended",
            LinkEnd::TaskError => "task-error",
            LinkEnd::TimedOut => "timeout",
            LinkEnd::Closed => "closed",
            LinkEnd::Refused => "refused",
            LinkEnd::Unreachable => "unreachable",
        }
    }
}

/// What a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkState {
    /// Not started.
    #[default]
    Idle,
    /// Dialled.
    Connecting,
    /// Open.
    Open,
    /// Open or dialled, and nothing has come for a while.
    Silent,
    /// Lost, and to be dialled again.
    Retrying,
    /// Over.
    Closed,
}

impl LinkState {
    /// The name that the panel shows.
    pub fn name(self) -> &'static str {
        match self {
            LinkState::Idle => "idle",
            LinkState::Connecting => "connecting",
            LinkState::Open => "open",
            LinkState::Silent => "silent",
            LinkState::Retrying => "retrying",
            LinkState::Closed => "closed",
        }
    }
}

/// What the panel `connection` shows.
///
/// ```
/// use chatrows::{LinkOptions, TaskLink, TaskMode};
/// let mut link = TaskLink::new(LinkOptions::new("wss://ide.example", "7", TaskMode::Attach));
/// link.start(1_000);
/// let shown = r#"{"state":"connecting","attempt":1,"retryAt":null,"code":null,"reason":null}"#;
/// assert_eq!(link.connection().to_json(), shown);
/// link.closed(1006, 1_200);
/// let shown = r#"{"state":"retrying","attempt":2,"retryAt":1700,"code":1006,"reason":null}"#;
/// assert_eq!(link.connection().to_json(), shown);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Connection {
    /// What it is.
    pub state: LinkState,
    /// The number of the dial in a row that goes on, or that comes next; 1 unless dials failed. None when open or over.
    pub attempt: Option<u32>,
    /// When that dial is made, on the clock that the link is told; none if somebody decides about it first.
    pub retry_at: Option<u64>,
    /// The close code of the loss that it comes from.
    pub code: Option<u16>,
    /// Why it is over.
    pub end: Option<LinkEnd>,
}

impl Connection {
    /// The panel's values, each of them, `null` where there is none.
    pub fn values(&self) -> [(&'static str, Raw); 5] {
        let number =
            |number: Option<u64>| number.map_or(Raw::null(), |number| Raw::written(|json| json.number(number)));
        let name = |name: Option<&str>| name.map_or(Raw::null(), |name| Raw::written(|json| json.string(name)));
        [
            ("state", name(Some(self.state.name()))),
            ("attempt", number(self.attempt.map(u64::from))),
            ("retryAt", number(self.retry_at)),
            ("code", number(self.code.map(u64::from))),
            ("reason", name(self.end.map(LinkEnd::name))),
        ]
    }

    /// The values as one JSON object.
    pub fn to_json(&self) -> String {
        let mut json = JsonWriter::default();
        json.object(|json| {
            for (name, value) in self.values() {
                json.key(name).raw(value.as_str());
            }
        });
        json.into_string()
    }
}
