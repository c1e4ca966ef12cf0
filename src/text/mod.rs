//! Text that the presenter makes or takes apart.

mod byte_label;
mod call_body;
mod code_spans;
mod grammar;
mod held;
pub(crate) mod markers;
mod preparing;
mod tag_cleaner;
mod tagged;
mod tagged_args;

pub use byte_label::byte_label;
pub use grammar::Grammar;
pub use preparing::{PREPARING_INTERVAL_MILLIS, PreparingEmitter, parse_preparing_marker, preparing_marker};
pub use tag_cleaner::{CleanSink, TagCleaner, Thoughts};
pub use tagged::{TaggedParser, TaggedSink};
pub use tagged_args::TaggedArgs;

/// A sentence that ends in a list of names.
pub(crate) fn list(mut sentence: String, names: &[&str]) -> String {
    for (place, name) in names.iter().enumerate() {
        sentence.push_str(if place == 0 { " " } else { ", " });
        sentence.push_str(name);
    }
    sentence
}

/// Length of what two texts have in common at their start; a character is never cut. Eight bytes at a time.
pub(crate) fn common_prefix(a: &str, b: &str) -> usize {
    let (a_bytes, b_bytes) = (a.as_bytes(), b.as_bytes());
    let eights = a_bytes.as_chunks::<8>().0.iter().zip(b_bytes.as_chunks::<8>().0);
    let start = eights.take_while(|(a, b)| u64::from_ne_bytes(**a) == u64::from_ne_bytes(**b)).count() * 8;
    let rest = a_bytes[start..].iter().zip(&b_bytes[start..]);
    let same = start + rest.take_while(|(a, b)| a == b).count();
    (0..=same).rev().find(|at| b.is_char_boundary(*at)).unwrap_or(0)
}

/// Length of what two texts have in common at their start, `same` bytes of which are known.
pub(crate) fn common_prefix_after(a: &str, b: &str, same: usize) -> usize {
    let start = same.min(a.len()).min(b.len());
    let tails = a.get(start..).zip(b.get(start..));
    tails.map_or_else(|| common_prefix(a, b), |(a, b)| start + common_prefix(a, b))
}

#[cfg(test)]
mod tests {
    use super::common_prefix;

    #[test]
    fn a_common_prefix_ends_between_characters() {
        for (a, b, same) in [
            ("", "", 0),
            ("abc", "", 0),
            ("abcdefghij", "abcdefghij", 10),
            ("abcdefghij", "abcdefghiJ", 9),
            ("abcdefgé", "abcdefgè", 7),
            ("abcdefgh", "abcdefghi", 8),
            ("漢字かな交じり", "漢字かなまじり", 12),
        ] {
            assert_eq!(common_prefix(a, b), same, "{a} {b}");
            assert_eq!(common_prefix(b, a), same, "{b} {a}");
        }
    }
}
