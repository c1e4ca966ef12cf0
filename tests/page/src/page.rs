//! The open browser: what a test does to the page, and what it asks of it.
//! Every question that is not answered in time ends the test, with the
//! question in its message.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fantoccini::actions::{WheelAction, WheelActions};
use fantoccini::elements::Element;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, Locator};
use http::Method;
use serde_json::{Value, json};
use serve::{Reply, Server};
use url::{ParseError, Url};

use crate::browser::target;

/// How long a condition may take to come true. Long, since a busy machine is
/// no fault; nothing waits for it that is already there.
const PATIENCE: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(20);

/// The demo in one browser.
pub struct Page {
    client: Client,
    server: Arc<Server>,
    browser: &'static str,
    opened: Cell<bool>,
}

impl Page {
    pub(crate) fn new(client: Client, server: Arc<Server>, browser: &'static str) -> Page {
        Page { client, server, browser, opened: Cell::new(false) }
    }

    /// `chromium` or `firefox`.
    pub fn browser(&self) -> &'static str {
        self.browser
    }

    /// The WebDriver client itself, for keys, windows and gestures.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Opens a page of the demo: `""` is its start. The one that is left must have met no problem.
    pub async fn goto(&self, path: &str) {
        if self.opened.replace(true) {
            self.assert_no_problems().await;
        }
        let url = format!("{}{path}", self.server.url());
        self.client.goto(&url).await.unwrap_or_else(|error| panic!("{url}: {error}"));
    }

    /// The answer to the page's next request for `path`, as `text/event-stream`, for the test to write. An announced
    /// length may be more than what comes.
    pub fn reply(&self, path: &str, length: Option<u64>) -> Reply {
        self.server.reply(path, "text/event-stream", length)
    }

    /// The value of a JavaScript expression; a promise is awaited.
    pub async fn eval(&self, expression: &str) -> Value {
        self.call(&format!("return ({expression});"), vec![]).await
    }

    /// Runs the body of a JavaScript function with `arguments`; a promise is awaited.
    pub async fn call(&self, body: &str, arguments: Vec<Value>) -> Value {
        let value = self.client.execute(body, arguments).await;
        value.unwrap_or_else(|error| panic!("{body}: {error}"))
    }

    /// The text of every element that a CSS selector finds, in document order.
    pub async fn texts(&self, selector: &str) -> Vec<String> {
        let body = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent);";
        let texts = self.call(body, vec![json!(selector)]).await;
        serde_json::from_value(texts).expect("texts")
    }

    /// The text of the one element that a CSS selector finds.
    pub async fn text(&self, selector: &str) -> String {
        match <[String; 1]>::try_from(self.texts(selector).await) {
            Ok([text]) => text,
            Err(texts) => panic!("`{selector}` finds {} elements", texts.len()),
        }
    }

    /// The element that a CSS selector finds, once it is there.
    pub async fn find(&self, selector: &str) -> Element {
        let found = self.client.wait().at_most(PATIENCE).every(POLL);
        let found = found.for_element(Locator::Css(selector)).await;
        found.unwrap_or_else(|error| panic!("`{selector}`: {error}"))
    }

    /// The element that has this role and this name for a screen reader, once
    /// it is there: `by_role("button", "Play")`.
    pub async fn by_role(&self, role: &str, name: &str) -> Element {
        let path = xpath(role, name);
        let found = self.client.wait().at_most(PATIENCE).every(POLL);
        let found = found.for_element(Locator::XPath(&path)).await;
        found.unwrap_or_else(|error| panic!("{role} `{name}`: {error}"))
    }

    /// What the browser tells a screen reader of the element that a CSS selector finds: role and name.
    pub async fn accessible(&self, selector: &str) -> (String, String) {
        let element = self.find(selector).await.element_id().to_string();
        let mut told = Vec::new();
        for what in ["computedrole", "computedlabel"] {
            let value = self.client.issue_cmd(Computed { element: element.clone(), what }).await;
            let value = value.unwrap_or_else(|error| panic!("{what} of `{selector}`: {error}"));
            told.push(value.as_str().unwrap_or_default().to_owned());
        }
        (told.remove(0), told.remove(0))
    }

    /// Waits until the condition holds; `what` is said when it does not in time.
    pub async fn wait_until(&self, what: &str, mut condition: impl AsyncFnMut() -> bool) {
        let start = Instant::now();
        while !condition().await {
            assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain for {what}");
            tokio::time::sleep(POLL).await;
        }
    }

    /// Waits until a JavaScript expression is truthy.
    pub async fn wait_for(&self, expression: &str) {
        let truth = format!("!!({expression})");
        self.wait_until(expression, async || self.eval(&truth).await == true).await;
    }

    /// What has gone wrong on the page, as its first script has collected it:
    /// errors, unhandled rejections, violations of the content security policy.
    pub async fn problems(&self) -> Vec<String> {
        let problems = self.eval("window.__problems ? window.__problems.map(String) : ['no window.__problems']").await;
        serde_json::from_value(problems).expect("window.__problems")
    }

    /// Waits for problems that the test has caused, so many that begin so, and takes them from the page's list.
    pub async fn take_problems(&self, count: usize, start: &str) -> Vec<String> {
        let mut taken = Vec::new();
        self.wait_until(start, async || {
            taken = self.problems().await;
            taken.retain(|problem| problem.starts_with(start));
            taken.len() >= count
        })
        .await;
        assert_eq!(taken.len(), count, "{taken:?}");
        let body = "window.__problems = window.__problems.filter((problem) => !problem.startsWith(arguments[0]));";
        self.call(body, vec![json!(start)]).await;
        taken
    }

    /// # Panics
    /// When the page has met a problem, or collects none.
    pub async fn assert_no_problems(&self) {
        let problems = self.problems().await;
        assert!(problems.is_empty(), "the page has met problems: {problems:#?}");
    }

    /// What axe has to say of the page, in a line each.
    pub async fn axe(&self) -> Vec<String> {
        let load = "if (!window.axe) await new Promise((resolve, reject) => document.head.append(Object.assign(\
                    document.createElement('script'), { src: '/axe/axe.min.js', onload: resolve, onerror: reject }))); ";
        let ask = "const { violations } = await axe.run(document, { resultTypes: ['violations'] }); \
                   return violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`));";
        let body = format!("return (async () => {{ {load}{ask} }})();");
        serde_json::from_value(self.call(&body, vec![]).await).expect("violations")
    }

    /// Makes what is seen of the page so large, in CSS pixels.
    pub async fn resize(&self, width: u32, height: u32) {
        self.client.set_window_size(width, height).await.expect("a resized window");
        let frame = self.eval("[outerWidth - innerWidth, outerHeight - innerHeight]").await;
        let (right, top): (u32, u32) = serde_json::from_value(frame).expect("sizes");
        self.client.set_window_size(width + right, height + top).await.expect("a resized window");
        self.wait_for(&format!("innerWidth === {width} && innerHeight === {height}")).await;
    }

    /// Opens the demo in a window of its own that is so narrow.
    pub async fn open_narrow(&self, width: u32) {
        self.goto_narrow("", width).await;
        self.wait_for("document.querySelector('#app[data-ready]')").await;
    }

    /// Opens a page of the demo in a window of its own that is so narrow.
    pub async fn goto_narrow(&self, path: &str, width: u32) {
        self.goto(path).await;
        let before = self.client.windows().await.expect("windows");
        let open = "window.open(location.href, '', `popup,width=${arguments[0]},height=740`);";
        self.call(open, vec![json!(width)]).await;
        self.wait_until("a window", async || self.client.windows().await.is_ok_and(|now| now.len() > before.len()))
            .await;
        let windows = self.client.windows().await.expect("windows");
        let narrow = windows.into_iter().find(|window| !before.contains(window)).expect("a window");
        self.client.switch_to_window(narrow).await.expect("the window");
        self.wait_for(&format!("innerWidth === {width}")).await;
    }

    /// Turns the mouse wheel over an element, by so many pixels down.
    pub async fn wheel(&self, selector: &str, pixels: i64) {
        let centre = "const box = document.querySelector(arguments[0]).getBoundingClientRect(); \
                      return [box.x + box.width / 2, box.y + box.height / 2].map(Math.round);";
        let centre = self.call(centre, vec![json!(selector)]).await;
        let (x, y): (i64, i64) = serde_json::from_value(centre).expect("a place");
        let mut wheel = WheelActions::new("wheel".to_owned());
        wheel.push(WheelAction::Scroll { duration: None, x, y, delta_x: 0, delta_y: pixels });
        self.client.perform_actions(wheel).await.expect("a turn of the wheel");
    }

    /// A file for the page to open, of this content.
    pub fn temporary_file(&self, name: &str, content: &str) -> PathBuf {
        let folder = target().join("tmp");
        fs::create_dir_all(&folder).expect("target/tmp");
        let file = folder.join(name);
        fs::write(&file, content).expect("a file in target/tmp");
        file.canonicalize().expect("its path")
    }

    /// Leaves a picture of the page as `target/screens/NAME-BROWSER.png`.
    pub async fn screenshot(&self, name: &str) -> PathBuf {
        let png = self.client.screenshot().await.expect("a screenshot");
        let folder = target().join("screens");
        fs::create_dir_all(&folder).expect("target/screens");
        let file = folder.join(format!("{name}-{}.png", self.browser));
        fs::write(&file, png).expect("a file in target/screens");
        file
    }

    /// After a failure: a picture, as far as the browser can still give one.
    pub(crate) async fn report(&self, name: &str) {
        if self.client.current_url().await.is_ok() {
            eprintln!("the page as it failed: {}", self.screenshot(name).await.display());
        }
    }
}

/// A question of WebDriver's about an element's place in the accessibility tree.
#[derive(Debug)]
struct Computed {
    element: String,
    what: &'static str,
}

impl WebDriverCompatibleCommand for Computed {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/element/{}/{}", session.unwrap_or_default(), self.element, self.what))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::GET, None)
    }
}

/// Elements of the role by attribute or by tag, of the name by `aria-label` or
/// else by what is written in them or in their label.
fn xpath(role: &str, name: &str) -> String {
    let tag = match role {
        "button" => "self::button or self::summary",
        "checkbox" => "self::input[@type='checkbox']",
        "combobox" => "self::select",
        "link" => "self::a[@href]",
        "slider" => "self::input[@type='range']",
        "textbox" => "self::textarea or self::input[not(@type) or @type='text']",
        _ => "false()",
    };
    let name = format!("\"{name}\"");
    format!(
        "//*[(@role='{role}' or not(@role) and ({tag})) and (@aria-label={name} or \
         not(@aria-label) and (normalize-space()={name} or \
         @id=//label[normalize-space()={name}]/@for or ancestor::label[normalize-space(text())={name} or normalize-space(span)={name}]))]"
    )
}
