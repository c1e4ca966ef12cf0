//! chatrows
