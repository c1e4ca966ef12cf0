//! What several messages add to one row: the output of a command. Lines that a carriage return rewrites are shown as
//! they stand in the end. Appending costs what is appended, whatever is there.

use super::Key;

/// Collected output.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// All of it.
    pub text: String,
    /// How much of it stands as it was told last.
    pub same: usize,
    /// The last part: whose it is, where it starts, and what it rewrote of the line before.
    last: Option<Last>,
    /// A carriage return was the last thing written.
    returned: bool,
    /// Something is on its way.
    pub started: bool,
    /// JSON that adds to the body.
    pub body: String,
}

#[derive(Debug)]
struct Last {
    key: Key,
    start: usize,
    rewrote: String,
    returned: bool,
}

impl Output {
    /// Adds a part, or what the last one has become. False: it belongs before the last one.
    pub fn put(&mut self, key: Key, text: &str) -> bool {
        match self.last.take() {
            Some(last) if last.key == key => {
                self.cut(last.start);
                self.text.push_str(&last.rewrote);
                self.returned = last.returned;
            }
            Some(last) if last.key > key => {
                self.last = Some(last);
                return false;
            }
            _ => {}
        }
        if text.is_empty() {
            return true;
        }
        let returned = std::mem::take(&mut self.returned);
        let whole = self.text.len();
        let rewrites = (returned || text.starts_with('\r')) && !text.trim_start_matches('\r').starts_with('\n');
        let mut rewrote = String::new();
        if rewrites {
            let line = self.line_start();
            rewrote.push_str(self.text.get(line..).unwrap_or_default());
            self.cut(line);
        }
        let start = self.text.len();
        self.last = Some(Last { key, start, rewrote, returned });
        if !rewrites && whole > 0 && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let first = self.text.len();
        for (place, piece) in text.split('\r').enumerate() {
            if place > 0 && !piece.is_empty() && !piece.starts_with('\n') {
                let line = self.line_start().max(first);
                self.text.truncate(line);
            }
            self.text.push_str(piece);
        }
        self.returned = text.ends_with('\r');
        true
    }

    fn line_start(&self) -> usize {
        self.text.rfind('\n').map_or(0, |end| end + 1)
    }

    fn cut(&mut self, to: usize) {
        self.text.truncate(to);
        self.same = self.same.min(to);
    }
}
