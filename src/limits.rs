//! The caps. Each is a named default with an option in [`Limits`]; what a cap cuts is visible on the row or as a
//! fault, never silent.

/// Bytes of one record, framing aside: 32 MiB.
pub const RECORD_BYTES: usize = 32 << 20;
/// Values in one record (every object, array, key, string, number and literal is one): four million.
pub const RECORD_VALUES: usize = 4_000_000;
/// Bytes of one call's arguments: 16 MiB.
pub const TOOL_INPUT_BYTES: usize = 16 << 20;
/// Bytes of one row's text, or of one call's output: 64 MiB.
pub const TEXT_BYTES: usize = 64 << 20;
/// Containers inside containers, in a record and in arguments.
pub const NESTING: usize = 256;
/// Containers inside containers whose leaves show in the preview of arguments; what is deeper shows when it closes.
pub const PREVIEW_DEPTH: usize = 32;
/// Leaf values in the preview of one call's arguments.
pub const PREVIEW_FIELDS: usize = 4096;
/// Bytes of a key in the preview; the value under a longer one shows nothing.
pub const PREVIEW_KEY_BYTES: usize = 1024;
/// Rows of one stream that are neither at rest nor ended.
pub const OPEN_BLOCKS: usize = 1024;
/// Rows of one chat.
pub const ROWS: usize = 200_000;
/// Sources of one text; a patch carries them all.
pub const SOURCES: usize = 100;
/// Faults kept for inspection; all are counted.
pub const FAULTS: usize = 100;
/// Frames of a task stream that are remembered, so that one that comes again is known.
pub const SEEN_FRAMES: usize = 2000;
/// Frames of a task that its events are told from, so that none is told again however long a turn is replayed.
pub const TURN_FRAMES: usize = 1 << 20;
/// Answers to questions that a task stream's link remembers, so that none is given twice.
pub const REPLIES: usize = 256;

/// The caps of one chat.
///
/// ```
/// use chatrows::Limits;
/// let limits = Limits { rows: 500, ..Limits::default() };
/// assert_eq!(limits.record_bytes, 32 << 20);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// See [`RECORD_BYTES`].
    pub record_bytes: usize,
    /// See [`RECORD_VALUES`].
    pub record_values: usize,
    /// See [`TOOL_INPUT_BYTES`].
    pub tool_input_bytes: usize,
    /// See [`TEXT_BYTES`].
    pub text_bytes: usize,
    /// See [`NESTING`].
    pub nesting: usize,
    /// See [`PREVIEW_DEPTH`].
    pub preview_depth: usize,
    /// See [`PREVIEW_FIELDS`].
    pub preview_fields: usize,
    /// See [`PREVIEW_KEY_BYTES`].
    pub preview_key_bytes: usize,
    /// See [`OPEN_BLOCKS`].
    pub open_blocks: usize,
    /// See [`ROWS`].
    pub rows: usize,
    /// See [`SOURCES`].
    pub sources: usize,
    /// See [`FAULTS`].
    pub faults: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            record_bytes: RECORD_BYTES,
            record_values: RECORD_VALUES,
            tool_input_bytes: TOOL_INPUT_BYTES,
            text_bytes: TEXT_BYTES,
            nesting: NESTING,
            preview_depth: PREVIEW_DEPTH,
            preview_fields: PREVIEW_FIELDS,
            preview_key_bytes: PREVIEW_KEY_BYTES,
            open_blocks: OPEN_BLOCKS,
            rows: ROWS,
            sources: SOURCES,
            faults: FAULTS,
        }
    }
}
