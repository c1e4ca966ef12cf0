//! Text that the presenter makes or takes apart.

mod byte_label;

pub use byte_label::byte_label;
