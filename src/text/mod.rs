//! Text that the presenter makes or takes apart.

mod byte_label;
pub(crate) mod markers;
mod preparing;

pub use byte_label::byte_label;
pub use preparing::{PREPARING_INTERVAL_MILLIS, PreparingEmitter, parse_preparing_marker, preparing_marker};

/// A sentence that ends in a list of names.
pub(crate) fn list(mut sentence: String, names: &[&str]) -> String {
    for (place, name) in names.iter().enumerate() {
        sentence.push_str(if place == 0 { " " } else { ", " });
        sentence.push_str(name);
    }
    sentence
}
