//! The demo page, driven as its user would in Chromium and Firefox: recordings
//! in, rows and what stands beside them out. After each test the page has met
//! no error and no violation of its policy.

mod controls;
mod faults;
mod files;
mod live;
mod playing;
mod posted;
mod prepared;
mod reader;
mod replay;
mod session;
mod settings;
mod start;
mod tool_calls;
mod waiting;
mod webview;
