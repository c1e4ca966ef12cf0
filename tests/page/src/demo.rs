//! The demo in its own words: choosing, playing and stopping a recording, and
//! what the rows then show. A recording's own content is read by
//! `scripts/wire.js`, which knows nothing of the crate.

use fantoccini::Locator;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Page;

/// What the page says while a scene waits for the reader.
const WAITING: &str = "Waiting for you";

/// The buttons of what asks the reader something.
const ASKS: &str = "#log .cr-ask button:enabled, #log .cr-retry";

/// What the reader sees of one row.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ShownRow {
    /// For a screen reader.
    pub role: String,
    /// For a screen reader: `Assistant`.
    pub name: String,
    pub kind: String,
    pub state: String,
    /// `aria-busy`.
    pub busy: bool,
    /// A spinner that takes up room and is not transparent.
    pub spinner: bool,
    pub text: String,
    /// The line above a tool: `Preparing write_file…`.
    pub title: String,
    /// The byte label: `200.0 KB`.
    pub bytes: String,
    /// The arguments, path and text.
    pub fields: Vec<(String, String)>,
    pub output: String,
    /// What an error says, with its code below.
    pub error: String,
    /// `Cancelled`, `Cut short`.
    pub flags: Vec<String>,
    /// `Alternative 2`.
    pub choice: String,
}

/// What a recording carries, by plain concatenation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Wire {
    /// What the page lets the user say first.
    pub ask: String,
    /// By choice.
    pub texts: Vec<String>,
    pub reasoning: String,
    /// Names and arguments, by index.
    pub calls: Vec<(String, String)>,
    /// As the wire writes it; `null` where it reports none.
    pub usage: Value,
}

impl Page {
    /// Opens the demo and waits until it can be played.
    pub async fn open(&self) {
        self.goto("").await;
        self.wait_for("document.querySelector('#app[data-ready], #failure:not([hidden])')").await;
        assert_eq!(self.text("#reason").await, "");
    }

    /// Chooses a recording by its title.
    pub async fn choose(&self, recording: &str) {
        self.select("Recording", recording).await;
    }

    /// Chooses a speed: `As recorded`, `4× faster`, `Instantly`.
    pub async fn set_speed(&self, speed: &str) {
        self.select("Speed", speed).await;
    }

    /// Chooses an option of the list that is called so: `select("Language", "Français")`.
    pub async fn select(&self, name: &str, option: &str) {
        let select = self.by_role("combobox", name).await;
        let outcome = select.select_by(Locator::XPath(&format!(".//option[normalize-space()=\"{option}\"]"))).await;
        outcome.unwrap_or_else(|error| panic!("{name} `{option}`: {error}"));
    }

    /// Clicks the button that is called so.
    pub async fn press(&self, button: &str) {
        let clicked = self.by_role("button", button).await.click().await;
        clicked.unwrap_or_else(|error| panic!("button `{button}`: {error}"));
    }

    /// Presses keys where the focus is.
    pub async fn keys(&self, keys: &str) {
        let focused = self.client().active_element().await.expect("a focused element");
        focused.send_keys(keys).await.unwrap_or_else(|error| panic!("keys {keys:?}: {error}"));
    }

    /// Plays a recording at once, until the page says how it ended and the
    /// calls in it have been run. Whatever it asks the reader is allowed, or
    /// has its first answer.
    pub async fn play_through(&self, recording: &str) {
        self.choose(recording).await;
        self.set_speed("Instantly").await;
        self.press("Play").await;
        loop {
            self.wait_for(
                "/^(Done|Ended early|Aborted|Waiting for you)$/.test(document.querySelector('#status').textContent)",
            )
            .await;
            if self.text("#status").await != WAITING {
                break;
            }
            self.frames(2).await; // the buttons follow with the next frame
            self.click(ASKS).await;
        }
        self.wait_for_end().await;
    }

    /// Plays the recording that is chosen until it waits for the reader.
    pub async fn wait_for_ask(&self) {
        self.wait_for_status(WAITING).await;
        self.find(ASKS).await;
        self.frames(2).await;
    }

    /// Clicks the first element that a CSS selector finds.
    pub async fn click(&self, selector: &str) {
        let clicked = self.find(selector).await.click().await;
        clicked.unwrap_or_else(|error| panic!("`{selector}`: {error}"));
    }

    /// Waits until the page has said how the recording ended, and the calls in
    /// it have been run.
    pub async fn wait_for_end(&self) {
        self.wait_for("/^(Done|Ended early|Aborted)$/.test(document.querySelector('#status').textContent)").await;
        self.frames(2).await; // the rows follow with the next frame
        self.wait_for("!document.querySelector('#log [data-state=pending], #log [data-state=running]')").await;
    }

    pub async fn wait_for_status(&self, status: &str) {
        self.wait_for(&format!("document.querySelector('#status').textContent === {}", json!(status))).await;
    }

    /// Waits for some frames to be drawn: what changes with time has then had its chance.
    pub async fn frames(&self, frames: u32) {
        let body = "let left = arguments[0]; return new Promise((resolve) => { \
                    const frame = () => left-- ? requestAnimationFrame(frame) : resolve(); frame(); });";
        self.call(body, vec![json!(frames)]).await;
    }

    /// The rows in the order in which they are read.
    pub async fn rows(&self) -> Vec<ShownRow> {
        let rows = self.call(concat!(include_str!("scripts/rows.js"), "\nreturn rows();"), vec![]).await;
        serde_json::from_value(rows).expect("rows")
    }

    /// The one row of this kind.
    pub async fn row(&self, kind: &str) -> ShownRow {
        let mut rows = self.rows().await;
        rows.retain(|row| row.kind == kind);
        assert_eq!(rows.len(), 1, "rows of kind {kind}: {rows:#?}");
        rows.remove(0)
    }

    /// The content of the recording with this title.
    pub async fn wire(&self, recording: &str) -> Wire {
        let body = concat!(include_str!("scripts/wire.js"), "\nreturn wire(arguments[0]);");
        serde_json::from_value(self.call(body, vec![json!(recording)]).await).expect("a recording's content")
    }

    /// The values that a selector's first element has shown from now on, each
    /// change once, read with [`Page::seen`].
    pub async fn watch(&self, selector: &str) {
        self.call(include_str!("scripts/watch.js"), vec![json!(selector)]).await;
    }

    /// What has been seen since [`Page::watch`].
    pub async fn seen(&self, selector: &str) -> Vec<String> {
        let seen = self.call("return window.__seen[arguments[0]];", vec![json!(selector)]).await;
        serde_json::from_value(seen).expect("texts")
    }

    /// A value in the lists beside the chat: `fact("Late bytes")`.
    pub async fn fact(&self, name: &str) -> String {
        let body = "const row = [...document.querySelectorAll('.side dl > div')].find(\
                    (row) => row.firstChild.textContent === arguments[0]); return row?.lastChild.textContent ?? '';";
        self.call(body, vec![json!(name)]).await.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until a value beside the chat is this one.
    pub async fn wait_for_fact(&self, name: &str, value: &str) {
        self.wait_until(&format!("{name} {value}"), async || self.fact(name).await == value).await;
    }

    /// Drops a file of this content on the page, as a browser would tell it.
    pub async fn drop_file(&self, name: &str, content: &str) {
        self.call(include_str!("scripts/drop.js"), vec![json!(name), json!(content)]).await;
    }
}
