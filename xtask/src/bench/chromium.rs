//! A headless Chromium with a page of benches/ in it: functions of the page are
//! called with JSON and answer with JSON, through chromedriver's plain HTTP.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serve::{Mount, Server};

use crate::project::Project;
use crate::setup::Browser;

/// Nothing here takes as long as this.
const PATIENCE_SECONDS: u64 = 3600;

/// Under the first two the page is isolated, and its clock has 5 µs; the others let pages of ours stand in one another,
/// of other sites too.
const HEADERS: &[(&str, &str)] = &[
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Embedder-Policy", "require-corp"),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
    (
        "Content-Security-Policy",
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; frame-src http://*.localhost:*",
    ),
];

/// Calls a function of `window.bench`; what it throws comes back as an answer.
const CALL: &str = "
    const [name, argument, done] = arguments;
    const call = async () => {
        if (!window.bench) throw new Error('the page did not start');
        return window.bench[name](argument);
    };
    call().then((value) => done({ value }), (error) => done({ error: String(error?.stack ?? error) }));
";

/// A browser with one page, ended when dropped.
pub struct Chromium {
    driver: Driver,
    server: Server,
    session: String,
    pub version: String,
}

/// A chromedriver process, ended when dropped.
struct Driver {
    process: Child,
    url: String,
    /// Kept open: a driver that cannot print would end.
    _output: BufReader<ChildStdout>,
}

impl Chromium {
    /// Starts the browser, which sees benches/ with the package and the parser under it.
    pub fn start(project: &Project, package: &Path, parser: &Path) -> Result<Chromium> {
        let mounts = vec![
            Mount { prefix: "/chatrows/", folder: package.to_owned() },
            Mount { prefix: "/eventsource-parser/", folder: parser.join("dist") },
            Mount { prefix: "/", folder: project.root.join("benches") },
        ];
        let server = Server::start_with(mounts, 0, HEADERS).context("no port for the page")?;
        let capabilities = std::fs::read(project.root.join("webdriver.json")).context("webdriver.json")?;
        let capabilities: Value = serde_json::from_slice(&capabilities).context("webdriver.json")?;
        let driver = Driver::start(&Browser::Chromium.driver()?)?;
        let answer = driver.post(
            "session",
            json!({ "capabilities": { "alwaysMatch": {
                "goog:chromeOptions": capabilities["goog:chromeOptions"],
                "timeouts": { "script": PATIENCE_SECONDS * 1000 },
            } } }),
        )?;
        let text = |value: &Value| value.as_str().map(str::to_owned).context("chromedriver opened no session");
        let session = text(&answer["sessionId"])?;
        let version = text(&answer["capabilities"]["browserVersion"])?;
        Ok(Chromium { driver, server, session, version })
    }

    /// Opens a page anew. Another `site` is another process of the browser.
    pub fn open(&self, site: &str, page: &str) -> Result<()> {
        // Chromium takes every name under `localhost` for this machine.
        let url = self.server.url().replace("127.0.0.1", &format!("{site}.localhost")) + page;
        self.driver.post(&format!("session/{}/url", self.session), json!({ "url": url }))?;
        Ok(())
    }

    /// Calls a function of the page.
    pub fn call<T: DeserializeOwned>(&self, function: &str, argument: Value) -> Result<T> {
        let command = format!("session/{}/execute/async", self.session);
        let answer = self.driver.post(&command, json!({ "script": CALL, "args": [function, argument] }))?;
        if let Some(error) = answer["error"].as_str() {
            bail!("in Chromium, {function}: {error}");
        }
        Ok(serde_json::from_value(answer["value"].clone())?)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // Without it the browser would outlive its driver.
        let _ = minreq::delete(format!("{}/session/{}", self.driver.url, self.session)).send();
    }
}

impl Driver {
    fn start(program: &Path) -> Result<Driver> {
        let mut process = Command::new(program)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        let output = process.stdout.take().context("chromedriver has no output")?;
        let mut driver = Driver { process, url: String::new(), _output: BufReader::new(output) };
        // "ChromeDriver was started successfully on port 12345."
        let mut line = String::new();
        while driver._output.read_line(&mut line)? > 0 {
            if let Some((_, port)) = line.trim_end().trim_end_matches('.').rsplit_once("successfully on port ") {
                driver.url = format!("http://127.0.0.1:{port}");
                return Ok(driver);
            }
            line.clear();
        }
        bail!("chromedriver ended without naming its port");
    }

    fn post(&self, command: &str, body: Value) -> Result<Value> {
        let response = minreq::post(format!("{}/{command}", self.url))
            .with_header("Content-Type", "application/json")
            .with_body(body.to_string())
            .with_timeout(PATIENCE_SECONDS)
            .send()
            .context("chromedriver does not answer")?;
        let mut answer: Value = serde_json::from_str(response.as_str()?).context("chromedriver")?;
        match answer["value"]["message"].as_str() {
            Some(message) if response.status_code != 200 => Err(anyhow!("chromedriver: {message}")),
            _ => Ok(answer["value"].take()),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
