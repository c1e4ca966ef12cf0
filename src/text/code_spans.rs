//! Where code stands in Markdown text, as far as it can be told without looking ahead: a run of backticks opens a span
//! that a run of equally many closes, and that ends at the end of the line anyway; a line that starts with three or
//! more backticks or tildes opens a fence, and a line of at least as many closes it. Resumable, one byte at a time.

/// What the text stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeSpans {
    /// At the start of a line, after so many spaces, [`MAX_INDENT`] at most.
    Start { spaces: u8 },
    /// In a run of marks: of backticks, or of tildes at the start of a line.
    Run { mark: u8, count: u32, starts_line: bool },
    /// In text.
    Text,
    /// In a code span, and so many backticks after its text.
    Span { ticks: u32, run: u32 },
    /// In the rest of the line that opens a fence.
    Info { mark: u8, count: u32 },
    /// Between fences.
    Fence { mark: u8, count: u32, line: Line },
}

/// What a line between fences is, so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// So many spaces.
    Spaces(u8),
    /// So many marks after them.
    Marks(u32),
    /// Enough marks, and spaces.
    Closing,
    /// Anything else.
    Code,
}

/// More spaces make a line of indented code, which opens and closes nothing.
const MAX_INDENT: u8 = 3;
const MIN_FENCE: u32 = 3;

impl Default for CodeSpans {
    fn default() -> Self {
        CodeSpans::Start { spaces: 0 }
    }
}

impl CodeSpans {
    /// Reads to the next `<` or to the end; answers how far that was.
    pub fn advance(&mut self, bytes: &[u8]) -> usize {
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'<' {
                return at;
            }
            self.feed(*byte);
        }
        bytes.len()
    }

    /// Whether the byte that was just read stands in code. None that marks it is asked about.
    pub fn protects(&self) -> bool {
        matches!(self, CodeSpans::Span { .. } | CodeSpans::Info { .. } | CodeSpans::Fence { .. })
    }

    pub fn feed(&mut self, byte: u8) {
        // A run ends with the byte after it.
        match *self {
            CodeSpans::Run { mark, count, starts_line } if mark != byte => {
                *self = match mark {
                    _ if starts_line && count >= MIN_FENCE => CodeSpans::Info { mark, count },
                    b'`' => CodeSpans::Span { ticks: count, run: 0 },
                    _ => CodeSpans::Text,
                };
            }
            CodeSpans::Span { ticks, run } if ticks == run && byte != b'`' => *self = CodeSpans::Text,
            _ => {}
        }
        *self = match (*self, byte) {
            (CodeSpans::Fence { mark, count, line }, _) => match line.next(byte, mark, count) {
                Some(line) => CodeSpans::Fence { mark, count, line },
                None => CodeSpans::default(),
            },
            (CodeSpans::Info { mark, count }, b'\n') => CodeSpans::Fence { mark, count, line: Line::Spaces(0) },
            (_, b'\n') => CodeSpans::default(),
            (CodeSpans::Start { spaces }, b' ') if spaces < MAX_INDENT => CodeSpans::Start { spaces: spaces + 1 },
            (CodeSpans::Start { .. }, b'`' | b'~') => CodeSpans::Run { mark: byte, count: 1, starts_line: true },
            (CodeSpans::Text, b'`') => CodeSpans::Run { mark: byte, count: 1, starts_line: false },
            (CodeSpans::Start { .. } | CodeSpans::Text, _) => CodeSpans::Text,
            (CodeSpans::Run { mark, count, starts_line }, _) => {
                CodeSpans::Run { mark, count: count.saturating_add(1), starts_line }
            }
            (CodeSpans::Span { ticks, run }, b'`') => CodeSpans::Span { ticks, run: run.saturating_add(1) },
            (CodeSpans::Span { ticks, .. }, _) => CodeSpans::Span { ticks, run: 0 },
            // A line such as ```` ```a``` ```` opens no fence: it holds a span.
            (CodeSpans::Info { mark: b'`', count }, b'`') => CodeSpans::Span { ticks: count, run: 1 },
            (info @ CodeSpans::Info { .. }, _) => info,
        };
    }
}

impl Line {
    /// None: the line closed the fence.
    fn next(self, byte: u8, mark: u8, count: u32) -> Option<Line> {
        let closing = match self {
            Line::Marks(marks) => marks >= count,
            Line::Closing => true,
            Line::Spaces(_) | Line::Code => false,
        };
        Some(match (self, byte) {
            (_, b'\n') if closing => return None,
            (_, b'\n') => Line::Spaces(0),
            (_, b' ' | b'\t' | b'\r') if closing => Line::Closing,
            (Line::Spaces(spaces), b' ') if spaces < MAX_INDENT => Line::Spaces(spaces + 1),
            (Line::Spaces(_), _) if byte == mark => Line::Marks(1),
            (Line::Marks(marks), _) if byte == mark => Line::Marks(marks.saturating_add(1)),
            _ => Line::Code,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The letters of `text` that are in code are written as `#`.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut code = CodeSpans::default();
        let shown: String = text
            .bytes()
            .map(|byte| {
                code.feed(byte);
                if byte.is_ascii_alphabetic() && code.protects() { '#' } else { byte as char }
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_run_of_backticks_opens_and_an_equal_run_closes() {
        check("a `b` c", "a `#` c");
        check("a ``b`c`` d", "a ``#`#`` d");
        check("a `b``c` d", "a `#``#` d");
        check("`a`b`c`d", "`#`b`#`d");
    }

    #[test]
    fn a_span_that_is_not_closed_ends_with_its_line() {
        check("a `b\nc `d\r\ne", "a `#\nc `#\r\ne");
        check("a ``b`\nc", "a ``#`\nc");
    }

    #[test]
    fn a_line_of_marks_opens_a_fence_and_one_of_as_many_closes_it() {
        check("```\na\n```\nb", "```\n#\n```\nb");
        check("~~~x y\na\n~~~\nb", "~~~# #\n#\n~~~\nb");
        check("````\na\n```\nb\n`````\nc", "````\n#\n```\n#\n`````\nc");
        check("```\na\n~~~\nb\n```\nc", "```\n#\n~~~\n#\n```\nc");
        check("```\na\n``` b\nc\n``` \t\nd", "```\n#\n``` #\n#\n``` \t\nd");
        check("```\n``a\nb", "```\n``#\n#");
        check("a\n```\nb", "a\n```\n#");
    }

    #[test]
    fn fences_end_with_either_newline() {
        check("```\r\na\r\n```\r\nb", "```\r\n#\r\n```\r\nb");
    }

    #[test]
    fn a_fence_is_indented_by_three_spaces_at_most() {
        check("   ```\na\n   ```\nb", "   ```\n#\n   ```\nb");
        check("    ```\na", "    ```\na");
        check("```\na\n    ```\nb", "```\n#\n    ```\n#");
        check("    `a` b", "    `#` b");
    }

    #[test]
    fn marks_that_are_too_few_or_not_at_the_start_open_no_fence() {
        check("``a``\nb", "``#``\nb");
        check("~~\na", "~~\na");
        check("a ~~~\nb", "a ~~~\nb");
        check("a ```\nb", "a ```\nb");
    }

    #[test]
    fn a_fence_cannot_be_opened_by_a_line_with_more_backticks_in_it() {
        check("```a``` b\nc", "```#``` b\nc");
        check("~~~a~~~ b\nc", "~~~#~~~ #\n#");
    }
}
