//! When pending changes are handed out. The core has no clock and no timers: it is told the time and answers how long
//! the page may wait.

/// How often changes are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cadence {
    /// At each animation frame.
    #[default]
    Frame,
    /// At most every so many milliseconds; what appears or ends does not wait for it.
    Millis(u32),
}

impl Cadence {
    /// Where drawing is cheap: the page runs beside the extension.
    pub const LOCAL: Cadence = Cadence::Millis(40);
    /// Where each message travels: the extension runs on another machine.
    pub const REMOTE: Cadence = Cadence::Millis(90);
}

/// When the page should drain next.
///
/// ```
/// use chatrows::{ChatRows, Due, Options, RowOp};
/// let mut chat = ChatRows::new(Options::default());
/// chat.add_user("hi");
/// assert_eq!(chat.due(false), Due::Frame);
/// chat.drain(&mut |_: RowOp<'_>| {});
/// assert_eq!(chat.due(false), Due::Never);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Nothing is pending.
    Never,
    /// At the next animation frame.
    Frame,
    /// After so many milliseconds.
    After(u64),
}

/// A hidden page draws no frames; its changes are handed out once a second.
pub const HIDDEN_MILLIS: u64 = 1000;

/// Answers when the next drain is due. `pending`: something changed; `urgent`: something appeared or ended.
pub(crate) fn due(cadence: Cadence, since_last: u64, pending: bool, urgent: bool, hidden: bool) -> Due {
    if !pending {
        return Due::Never;
    }
    match cadence {
        _ if hidden => Due::After(HIDDEN_MILLIS.saturating_sub(since_last)),
        Cadence::Millis(millis) if !urgent => Due::After(u64::from(millis).saturating_sub(since_last)),
        _ => Due::Frame,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_where_it_shows_and_a_timer_where_it_does_not() {
        let due = |cadence, since, pending, urgent, hidden| super::due(cadence, since, pending, urgent, hidden);
        assert_eq!(due(Cadence::Frame, 5, false, false, false), Due::Never);
        assert_eq!(due(Cadence::Frame, 5, true, false, false), Due::Frame);
        assert_eq!(due(Cadence::Millis(90), 30, true, false, false), Due::After(60));
        assert_eq!(due(Cadence::Millis(90), 300, true, false, false), Due::After(0));
        assert_eq!(due(Cadence::Millis(90), 30, true, true, false), Due::Frame);
        assert_eq!(due(Cadence::Frame, 400, true, true, true), Due::After(600));
    }
}
