//! Readers of JSON on one job: of chat completion chunks, each one record, the
//! text of `choices[0].delta.content` and of `choices[0].finish_reason`. Bytes go
//! in, strings come out, borrowed where no escape stands in them. What else a
//! record holds is skipped, and a record that is not JSON is refused.
//!
//! Each reader is a feature and a file. For WebAssembly one feature is chosen,
//! and the module is as small as that reader lets it be.

#[cfg(feature = "hifijson")]
pub mod hifijson;
#[cfg(feature = "jiter")]
pub mod jiter;
#[cfg(feature = "serde_json")]
pub mod serde_json;
#[cfg(feature = "tape")]
pub mod tape;

/// The crate's own reader, by its files: as a dependency the crate would bring
/// its whole JavaScript edge into the module that is weighed.
#[cfg(feature = "tape")]
#[allow(clippy::all, dead_code, unused_imports)]
#[path = "../../../src/json"]
mod json {
    mod record;
    mod strings;

    pub use record::{Tape, Value};
    pub use strings::Half;
}
#[cfg(feature = "tape")]
#[allow(dead_code)]
#[path = "../../../src/limits.rs"]
mod limits;

/// A reader, with what it keeps from record to record.
pub trait Reader: Default {
    /// Reads one record; none if it is not JSON.
    fn read(&mut self, record: &[u8], digest: &mut Digest) -> Option<()>;
}

/// What was read, as numbers that all readers must agree on: FNV-1a of the contents and of the finish reasons.
#[derive(Debug, PartialEq, Eq)]
pub struct Digest {
    content: u32,
    finish: u32,
}

impl Default for Digest {
    fn default() -> Self {
        Digest { content: 0x811c_9dc5, finish: 0x811c_9dc5 }
    }
}

impl Digest {
    /// Takes the content of a record.
    pub fn content(&mut self, text: &str) {
        self.content = fnv(self.content, text);
    }

    /// Takes the finish reason of a record.
    pub fn finish(&mut self, text: &str) {
        self.finish = fnv(self.finish, text);
    }

    /// Both as one.
    pub fn number(&self) -> u32 {
        self.content ^ self.finish.rotate_left(16)
    }
}

fn fnv(hash: u32, text: &str) -> u32 {
    text.bytes().chain([0xff]).fold(hash, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Reads the records that end at `ends`; those that are refused leave no trace in the digest.
pub fn read_all<R: Reader>(bytes: &[u8], ends: &[u32]) -> Digest {
    let (mut reader, mut digest, mut start) = (R::default(), Digest::default(), 0);
    for &end in ends {
        let record = bytes.get(start..end as usize).unwrap_or_default();
        // Only whether the digests agree is of interest.
        let _ = reader.read(record, &mut digest);
        start = end as usize;
    }
    digest
}

/// The export of a module.
#[cfg(target_arch = "wasm32")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn read(bytes: &[u8], ends: &[u32]) -> u32 {
    #[cfg(feature = "hifijson")]
    use hifijson::HifiJson as Chosen;
    #[cfg(feature = "jiter")]
    use jiter::JiterReader as Chosen;
    #[cfg(feature = "serde_json")]
    use serde_json::SerdeJson as Chosen;
    #[cfg(feature = "tape")]
    use tape::TapeReader as Chosen;

    /// No reader at all: what every module weighs.
    #[cfg(not(any(feature = "hifijson", feature = "jiter", feature = "serde_json", feature = "tape")))]
    #[derive(Default)]
    struct Chosen;
    #[cfg(not(any(feature = "hifijson", feature = "jiter", feature = "serde_json", feature = "tape")))]
    impl Reader for Chosen {
        fn read(&mut self, record: &[u8], digest: &mut Digest) -> Option<()> {
            std::str::from_utf8(record).ok().map(|text| digest.content(text))
        }
    }

    read_all::<Chosen>(bytes, ends).number()
}
