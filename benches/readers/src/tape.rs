//! The crate's own: one pass leaves a tape of value positions, which is asked.

use crate::json::{Half, Tape, Value};
use crate::{Digest, Reader};

/// The tape, and the buffer for strings with escapes.
#[derive(Default)]
pub struct TapeReader {
    tape: Tape,
    text: String,
}

impl Reader for TapeReader {
    fn read(&mut self, record: &[u8], digest: &mut Digest) -> Option<()> {
        let record = self.tape.read(std::str::from_utf8(record).ok()?).ok()?;
        let choice = record.root().get("choices").at(0);
        with_text(choice.get("delta").get("content"), &mut self.text, |text| digest.content(text));
        with_text(choice.get("finish_reason"), &mut self.text, |text| digest.finish(text));
        Some(())
    }
}

fn with_text(value: Value<'_>, buffer: &mut String, take: impl FnOnce(&str)) {
    let Some(string) = value.str() else { return };
    if let Some(text) = string.borrowed(Half::default()) {
        return take(text);
    }
    buffer.clear();
    string.decode_into(buffer, &mut Half::default());
    take(buffer);
}
