//! The marker that announces a call while its arguments stream: `NUL tool_preparing NUL name NUL bytes NUL`, as the whole
//! of one piece of reasoning. Built and parsed here and nowhere else, and [`PreparingEmitter`] says when a provider
//! should send which.

pub(crate) const PREPARING: &str = "tool_preparing";

/// The marker that says that a call of the tool `name` is being prepared and that `bytes` bytes of its arguments have
/// come. None for a name that no marker can carry: an empty one, or one with a NUL.
///
/// ```
/// use chatrows::preparing_marker;
/// assert_eq!(preparing_marker("write_file", 1234).unwrap(), "\0tool_preparing\0write_file\01234\0");
/// assert_eq!(preparing_marker("", 0), None);
/// ```
pub fn preparing_marker(name: &str, bytes: u64) -> Option<String> {
    let fits = !name.is_empty() && !name.contains('\0');
    fits.then(|| ["\0", PREPARING, "\0", name, "\0", &bytes.to_string(), "\0"].concat())
}

/// The tool's name and the bytes that have come, if `text` is one marker and nothing else. A name may hold anything but
/// NUL; a count is decimal digits, without a sign, and one beyond 2⁶⁴ − 1 counts as that.
///
/// ```
/// use chatrows::parse_preparing_marker;
/// assert_eq!(parse_preparing_marker("\0tool_preparing\0my tool\07\0"), Some(("my tool", 7)));
/// for text in ["tool_preparing", "\0tool_preparing\0\07\0", "\0tool_preparing\0f\0-7\0", "x\0tool_preparing\0f\07\0"] {
///     assert_eq!(parse_preparing_marker(text), None);
/// }
/// ```
pub fn parse_preparing_marker(text: &str) -> Option<(&str, u64)> {
    let body = text.strip_prefix('\0')?.strip_prefix(PREPARING)?.strip_prefix('\0')?.strip_suffix('\0')?;
    let (name, digits) = body.split_once('\0')?;
    if name.is_empty() || digits.is_empty() {
        return None;
    }
    let bytes = digits.bytes().try_fold(0u64, |count, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        Some(count.saturating_mul(10).saturating_add(digit))
    })?;
    Some((name, bytes))
}

/// Milliseconds between two markers of one call, unless told otherwise.
pub const PREPARING_INTERVAL_MILLIS: u64 = 100;
/// Milliseconds without anything visible after which markers are sent again: a sign of life.
const SIGN_OF_LIFE_MILLIS: u64 = 5000;

/// Says which markers a provider should send while the calls of a response stream: at once when a call's name is first
/// known, then as its arguments grow, at most one an interval, and every 5 s while nothing else was visible; none once
/// the call was reported or the stream has ended. It has no clock: every method that needs the time is told it, in
/// milliseconds.
///
/// ```
/// use chatrows::PreparingEmitter;
/// let mut emitter = PreparingEmitter::new(100);
/// // A delta of call 0: the name came, and 12 bytes of arguments so far.
/// let marker = emitter.delta("0", Some("write_file"), 12, 1_000);
/// assert_eq!(marker.as_deref(), Some("\0tool_preparing\0write_file\012\0"));
/// assert!(emitter.is_preparing());
/// // Too soon for another one: it is due at the end of the interval.
/// assert_eq!(emitter.delta("0", None, 30, 1_040), None);
/// assert_eq!(emitter.next_due(1_040), Some(1_100));
/// assert_eq!(emitter.tick(1_100), ["\0tool_preparing\0write_file\030\0"]);
/// // The call went out as a whole.
/// emitter.reported("0");
/// assert!(!emitter.is_preparing() && emitter.tick(60_000).is_empty());
/// ```
#[derive(Debug)]
pub struct PreparingEmitter {
    interval: u64,
    calls: Vec<Announced>,
    /// When the reader last saw anything new.
    visible: u64,
    ended: bool,
}

/// A call that was heard of.
#[derive(Debug)]
struct Announced {
    key: Box<str>,
    /// Empty until it is known.
    name: Box<str>,
    bytes: u64,
    /// The count that was sent last, and when.
    sent: Option<(u64, u64)>,
    reported: bool,
}

impl Announced {
    /// A marker of it went out, and it was not reported yet.
    fn is_preparing(&self) -> bool {
        self.sent.is_some() && !self.reported
    }

    /// When the growth since the last marker may be told.
    fn due(&self, interval: u64) -> Option<u64> {
        let (bytes, at) = self.sent.filter(|_| !self.reported)?;
        (bytes != self.bytes).then(|| at.saturating_add(interval))
    }

    fn send(&mut self, now: u64) -> Option<String> {
        self.sent = Some((self.bytes, now));
        preparing_marker(&self.name, self.bytes)
    }
}

impl PreparingEmitter {
    /// For one response. `interval`: milliseconds between two markers of one call, such as
    /// [`PREPARING_INTERVAL_MILLIS`].
    pub fn new(interval: u64) -> Self {
        PreparingEmitter { interval, calls: Vec::new(), visible: 0, ended: false }
    }

    /// A delta of the call `key` (its index or id) came: its name, if it says it, and how many bytes its arguments have
    /// by now. Answers with the marker to send now, if one is due.
    pub fn delta(&mut self, key: &str, name: Option<&str>, bytes: u64, now: u64) -> Option<String> {
        if self.ended {
            return None;
        }
        let interval = self.interval;
        let call = self.call(key);
        call.bytes = bytes;
        if let Some(name) = name.filter(|_| call.name.is_empty()) {
            call.name = name.replace('\0', "").into();
        }
        if call.reported || call.name.is_empty() {
            return None;
        }
        if call.sent.is_some() && call.due(interval).is_none_or(|due| now < due) {
            return None;
        }
        let marker = call.send(now);
        self.visible = now;
        marker
    }

    /// Time has passed: the markers to send now. Call it when [`PreparingEmitter::next_due`] says, or as often as the
    /// interval.
    pub fn tick(&mut self, now: u64) -> Vec<String> {
        let mut markers = Vec::new();
        if self.ended {
            return markers;
        }
        let quiet = now >= self.visible.saturating_add(SIGN_OF_LIFE_MILLIS);
        let interval = self.interval;
        for call in self.calls.iter_mut().filter(|call| call.is_preparing()) {
            if quiet || call.due(interval).is_some_and(|due| now >= due) {
                markers.extend(call.send(now));
            }
        }
        if !markers.is_empty() {
            self.visible = now;
        }
        markers
    }

    /// When [`PreparingEmitter::tick`] will have something to send, `now` at the soonest; none as long as nothing is
    /// being prepared.
    pub fn next_due(&self, now: u64) -> Option<u64> {
        if !self.is_preparing() {
            return None;
        }
        let growth = self.calls.iter().filter_map(|call| call.due(self.interval));
        growth.chain([self.visible.saturating_add(SIGN_OF_LIFE_MILLIS)]).min().map(|due| due.max(now))
    }

    /// The reader saw something else that is new, such as text: no sign of life is needed for a while.
    pub fn note_visible(&mut self, now: u64) {
        self.visible = now;
    }

    /// The call went out as a whole: no marker of it from now on.
    pub fn reported(&mut self, key: &str) {
        self.call(key).reported = true;
    }

    /// The stream ended, well or not: no marker from now on.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether a call has been announced that was not reported yet, on a stream that has not ended.
    pub fn is_preparing(&self) -> bool {
        !self.ended && self.calls.iter().any(Announced::is_preparing)
    }

    fn call(&mut self, key: &str) -> &mut Announced {
        let known = self.calls.iter().position(|call| *call.key == *key);
        let place = known.unwrap_or(self.calls.len());
        if known.is_none() {
            self.calls.push(Announced { key: key.into(), name: Box::default(), bytes: 0, sent: None, reported: false });
        }
        &mut self.calls[place]
    }
}
