//! Text that grows and is trimmed at both ends as it does. What JavaScript's trim takes counts as space; a space is held
//! until something follows it, and so is whatever else is added before the caller lets it go.

/// Whether JavaScript's `trim` takes it.
pub(crate) fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r'
            | ' '
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
            | '\u{feff}'
    )
}

pub(crate) fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

pub(crate) fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// Text that was not let go.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    text: String,
    /// Where the spaces at the end of it begin.
    solid: usize,
}

impl Held {
    pub fn push(&mut self, text: &str) {
        let solid = trim_end(text).len();
        if solid > 0 {
            self.solid = self.text.len() + solid;
        }
        self.text.push_str(text);
    }

    /// All of it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// All but the spaces at its end.
    pub fn solid(&self) -> &str {
        self.text.get(..self.solid).unwrap_or_default()
    }

    /// Forgets all but the spaces at its end.
    pub fn let_go(&mut self) {
        self.text.drain(..self.solid);
        self.solid = 0;
    }

    /// Forgets what stands from `at` on; before it there are only spaces.
    pub fn cut_to_spaces(&mut self, at: usize) {
        self.text.truncate(at);
        self.solid = 0;
    }

    /// Forgets the last space.
    pub fn pop(&mut self) {
        self.text.pop();
    }

    pub fn clear(&mut self) {
        self.cut_to_spaces(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_those_of_javascript() {
        for c in ['\u{b}', '\u{c}', '\r', '\u{a0}', '\u{2003}', '\u{2028}', '\u{3000}', '\u{feff}'] {
            assert!(is_space(c), "{c:?}");
        }
        for c in ['\u{85}', '\u{200b}', '\u{180e}', '\u{1c}', '\0', '_'] {
            assert!(!is_space(c), "{c:?}");
        }
    }

    #[test]
    fn spaces_stay_until_something_follows() {
        let mut held = Held::default();
        held.push("a ");
        held.push(" ");
        assert_eq!(held.solid(), "a");
        held.let_go();
        held.push("b\n");
        assert_eq!((held.solid(), held.text()), ("  b", "  b\n"));
    }
}
