//! From nothing to an open browser and back: server, WebDriver, session.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fantoccini::{Client, ClientBuilder};
use futures_util::FutureExt;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};
use serve::{Mount, Server};
use tokio::runtime::Runtime;

use crate::Page;

/// A browser: its name, its driver, and the part of `webdriver.json` that is its own.
struct Browser {
    name: &'static str,
    driver: &'static str,
    driver_variable: &'static str,
    options: &'static str,
}

const BROWSERS: [Browser; 2] = [
    Browser {
        name: "chromium",
        driver: "chromedriver",
        driver_variable: "CHROMEDRIVER",
        options: "goog:chromeOptions",
    },
    Browser { name: "firefox", driver: "geckodriver", driver_variable: "GECKODRIVER", options: "moz:firefoxOptions" },
];

/// A driver that has not answered by then will not.
const DRIVER_START: Duration = Duration::from_secs(30);

/// The server, and the browsers that tests have left open for the next one.
/// One test has them at a time: two would share the cores and be late for everything.
static OPEN: Mutex<Option<Open>> = Mutex::new(None);

/// Tests that wait for their turn. The last one closes what is open.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// What the reader has set in the system or the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Nothing.
    Default,
    /// Less motion.
    ReducedMotion,
    /// Dark colours.
    Dark,
    /// Few colours, all of the reader's own choice: high contrast.
    ForcedColors,
}

impl Reader {
    /// Adds the setting to the browser's part of `webdriver.json`.
    fn apply(self, browser: &Browser, options: &mut Value) {
        let (argument, preference, value) = match self {
            Reader::Default => return,
            Reader::ReducedMotion => ("--force-prefers-reduced-motion", "ui.prefersReducedMotion", 1),
            Reader::Dark => ("--blink-settings=preferredColorScheme=0", "ui.systemUsesDarkTheme", 1),
            // Chromium is told later: it takes them from the system alone.
            Reader::ForcedColors => ("--force-high-contrast", "browser.display.document_color_use", 2),
        };
        match browser.driver {
            "geckodriver" => options["prefs"][preference] = json!(value),
            _ => options["args"].as_array_mut().expect("args").push(json!(argument)),
        }
    }
}

/// Runs a test in each browser, on the demo as `cargo xtask demo` serves it,
/// and beside it, under `renderer/`, the pages of this package.
///
/// # Panics
/// When the test does, after a picture of the page has been left in
/// `target/screens`; when the page has met problems; when the package is not
/// built or a driver is missing.
pub fn each_browser(test: impl AsyncFn(&Page)) {
    each_browser_of(Reader::Default, test);
}

/// Runs a test in each browser, as [`each_browser`] does, for a reader with a setting.
pub fn each_browser_of(reader: Reader, test: impl AsyncFn(&Page)) {
    WAITING.fetch_add(1, Ordering::SeqCst);
    let mut turn = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    WAITING.fetch_sub(1, Ordering::SeqCst);
    let open = turn.get_or_insert_with(Open::new);
    let failure = (0..BROWSERS.len()).find_map(|browser| open.run(browser, reader, &test).err());
    if WAITING.load(Ordering::SeqCst) == 0 {
        open.close();
        *turn = None;
    }
    drop(turn);
    if let Some(panic) = failure {
        resume_unwind(panic);
    }
}

struct Open {
    server: Arc<Server>,
    runtime: Runtime,
    /// As in `BROWSERS`.
    sessions: [Option<Session>; 2],
}

struct Session {
    client: Client,
    _driver: Driver,
}

impl Open {
    fn new() -> Open {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Open { server: Arc::new(serve_demo()), runtime, sessions: [None, None] }
    }

    /// Runs a test in one browser. The next test has the browser after it,
    /// unless the test has failed or has left more than one window.
    fn run(&mut self, browser: usize, reader: Reader, test: &impl AsyncFn(&Page)) -> thread::Result<()> {
        let (browser, place) = (&BROWSERS[browser], &mut self.sessions[browser]);
        let kept = if reader == Reader::Default { place.take() } else { None };
        self.runtime.block_on(async {
            let session = match kept {
                Some(session) => session,
                None => Session::start(browser, reader).await,
            };
            let page = Page::new(session.client.clone(), Arc::clone(&self.server), browser.name);
            let run = async {
                test(&page).await;
                page.assert_no_problems().await;
            };
            let outcome = AssertUnwindSafe(run).catch_unwind().await;
            if outcome.is_err() {
                let test = thread::current().name().unwrap_or("test").replace("::", "-");
                eprintln!("failed in {}", browser.name);
                page.report(&format!("failed-{test}")).await;
            }
            let as_found = session.client.windows().await.is_ok_and(|windows| windows.len() == 1);
            if outcome.is_ok() && as_found && reader == Reader::Default {
                *place = Some(session);
            } else {
                session.close().await;
            }
            outcome
        })
    }

    fn close(&mut self) {
        for session in self.sessions.iter_mut().filter_map(Option::take) {
            self.runtime.block_on(session.close());
        }
    }
}

impl Session {
    async fn start(browser: &Browser, reader: Reader) -> Session {
        let driver = Driver::start(browser);
        let client = driver.session(browser, reader).await;
        Session { client, _driver: driver }
    }

    /// A browser that has crashed cannot be closed; its driver ends it.
    async fn close(self) {
        let _ = self.client.close().await;
    }
}

fn serve_demo() -> Server {
    let package = target().join("pkg");
    assert!(
        package.join("package.json").is_file(),
        "the demo's package is not built: run `cargo xtask test --only page`"
    );
    let axe = target().join("tools/node_modules/axe-core");
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("pages");
    let mounts = vec![
        Mount { prefix: "/pkg/", folder: package },
        Mount { prefix: "/axe/", folder: axe },
        Mount { prefix: "/renderer/", folder: pages },
        Mount { prefix: "/", folder: root().join("www") },
    ];
    Server::start(mounts, 0).expect("a free port")
}

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Cargo's target folder: a test's program lies in `target/debug/deps`.
pub(crate) fn target() -> PathBuf {
    let program = std::env::current_exe().expect("the test's own program");
    program.ancestors().nth(3).expect("target/debug/deps").to_owned()
}

/// A WebDriver process, ended when dropped.
struct Driver {
    process: Child,
    port: u16,
}

impl Driver {
    fn start(browser: &Browser) -> Driver {
        let program = std::env::var_os(browser.driver_variable);
        let program = program.unwrap_or_else(|| browser.driver.into());
        let port = free_port();
        let process = Command::new(program)
            .arg(format!("--port={port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{} ({error}): run `cargo xtask test --only page`", browser.driver));
        let driver = Driver { process, port };
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(start.elapsed() < DRIVER_START, "{} does not answer", browser.driver);
            thread::sleep(Duration::from_millis(10));
        }
        driver
    }

    async fn session(&self, browser: &Browser, reader: Reader) -> Client {
        let capabilities = fs::read(root().join("webdriver.json")).expect("webdriver.json");
        let mut capabilities: Map<String, Value> = serde_json::from_slice(&capabilities).expect("webdriver.json");
        capabilities.retain(|key, _| key == browser.options);
        reader.apply(browser, &mut capabilities[browser.options]);
        ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{}", self.port))
            .await
            .unwrap_or_else(|error| panic!("{} opens no session: {error}", browser.driver))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("its own address").port()
}
