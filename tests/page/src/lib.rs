//! Drives pages as a user would, the demo and the renderer's own: starts a server
//! and a browser's WebDriver, and hands a test the open browser as a [`Page`].
//!
//! [`each_browser`] promises that a test runs in Chromium and in Firefox, that
//! the page it leaves open has seen no error and no violation of its policy,
//! and that server, driver and browser are gone at the end, however it ends.

mod browser;
mod demo;
mod page;

pub use browser::{Reader, each_browser, each_browser_of};
pub use demo::{ShownRow, Wire};
pub use fantoccini::Locator;
pub use fantoccini::elements::Element;
pub use fantoccini::key::Key;
pub use page::Page;
pub use serve::Reply;
