//! Set-up: everything a step needs beyond Rust and a C compiler, fetched the
//! first time that it is needed. Each function answers once the thing is there,
//! or fails saying what is missing, what for, and the command that gets it.
//!
//! What is on the PATH in the right version is used. What has to be built goes
//! to a cache that all clones share, npm packages to `target/tools`, and the
//! rest comes from rustup and the system's package manager.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::command::{find, output, run};
use crate::project::Project;

/// The target of the module.
pub const WASM: &str = "wasm32-unknown-unknown";

const BINARYEN: &str = "132.0.0";
const ESBUILD: &str = "0.28.2";
const TYPESCRIPT: &str = "5.9.3";
const GECKODRIVER: &str = "0.37.1";
const AXE: &str = "4.14.1";
pub const EVENTSOURCE_PARSER: &str = "4.1.3";

/// The standard library for the module's target.
pub fn wasm_target() -> Result<()> {
    let libraries = output(Command::new("rustc").args(["--print", "target-libdir", "--target", WASM]));
    if libraries.is_some_and(|folder| Path::new(folder.trim_end()).is_dir()) {
        return Ok(());
    }
    let command = format!("rustup target add {WASM}");
    if find("rustup").is_none() {
        bail!(
            "Rust's target {WASM} is not installed, and there is no rustup to add it.\n\
             It compiles the module. Install Rust with rustup (https://rustup.rs), \
             or your distribution's package with the standard library for {WASM}."
        );
    }
    say(&format!("adding Rust's target {WASM}"));
    run(Command::new("rustup").args(["target", "add", WASM]))
        .with_context(|| format!("the module needs Rust's target {WASM} (by hand: `{command}`)"))
}

/// A component of the toolchain: `rustfmt` or `clippy`.
pub fn rust_component(name: &str, program: &str) -> Result<()> {
    if output(Command::new(program).arg("--version")).is_some() {
        return Ok(());
    }
    ensure!(
        find("rustup").is_some(),
        "{name} is not installed, and there is no rustup to add it.\n\
         Install Rust with rustup (https://rustup.rs), or your distribution's package of {name}."
    );
    say(&format!("adding Rust's component {name}"));
    run(Command::new("rustup").args(["component", "add", name]))
}

/// The source of Rust's standard library, which the release package compiles with the module.
pub fn standard_library() -> Result<()> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"])).unwrap_or_default();
    if Path::new(sysroot.trim_end()).join("lib/rustlib/src/rust/library/std/Cargo.toml").is_file() {
        return Ok(());
    }
    ensure!(
        find("rustup").is_some(),
        "The source of Rust's standard library is not installed, and there is no rustup to add it.\n\
         The release package compiles it with the module. Install Rust with rustup (https://rustup.rs), \
         or your distribution's package with that source (rust-src)."
    );
    say("adding the source of Rust's standard library");
    run(Command::new("rustup").args(["component", "add", "rust-src"]))
}

/// Node and npm.
pub fn node() -> Result<()> {
    if find("node").is_some() && find("npm").is_some() {
        return Ok(());
    }
    apt_install(&["nodejs", "npm"], "Node runs wasm-opt, the TypeScript compiler and the package's test")
}

/// `wasm-opt`, which shrinks the module of the release package.
pub fn wasm_opt(project: &Project) -> Result<PathBuf> {
    npm_program(project, "binaryen", BINARYEN, "wasm-opt")
}

/// `esbuild`, which takes comments and long names out of the release package's scripts.
pub fn esbuild(project: &Project) -> Result<PathBuf> {
    npm_program(project, "esbuild", ESBUILD, "esbuild")
}

/// `tsc`, which checks the package's types.
pub fn tsc(project: &Project) -> Result<PathBuf> {
    npm_program(project, "typescript", TYPESCRIPT, "tsc")
}

/// The folder of `eventsource-parser`, which the package is measured against.
pub fn eventsource_parser(project: &Project) -> Result<PathBuf> {
    npm_package(project, "eventsource-parser", EVENTSOURCE_PARSER)
}

/// `axe-core`, which looks for what keeps readers out of the page.
pub fn axe(project: &Project) -> Result<PathBuf> {
    npm_package(project, "axe-core", AXE)
}

/// A browser that tests run in.
#[derive(Clone, Copy, Debug)]
pub enum Browser {
    Chromium,
    Firefox,
}

impl Browser {
    /// The variable that names its driver, to us and to wasm-bindgen's runner.
    pub fn driver_variable(self) -> &'static str {
        match self {
            Browser::Chromium => "CHROMEDRIVER",
            Browser::Firefox => "GECKODRIVER",
        }
    }

    /// Sees to the browser and answers with its WebDriver.
    pub fn driver(self) -> Result<PathBuf> {
        let named = std::env::var_os(self.driver_variable()).map(PathBuf::from);
        match self {
            Browser::Chromium => {
                let browser = find("chromium").or_else(|| find("google-chrome"));
                if browser.is_none() || named.is_none() && find("chromedriver").is_none() {
                    apt_install(&["chromium", "chromium-driver"], "the tests run in Chromium")?;
                }
                let driver = named.or_else(|| find("chromedriver"));
                driver.context("chromium-driver is installed, but no chromedriver is on the PATH")
            }
            Browser::Firefox => {
                if find("firefox").or_else(|| find("firefox-esr")).is_none() {
                    apt_install(&["firefox-esr"], "the tests run in Firefox")?;
                }
                match named.or_else(|| find("geckodriver")) {
                    Some(driver) => Ok(driver),
                    None => cargo_install("geckodriver", GECKODRIVER, "geckodriver", &["--locked"]),
                }
            }
        }
    }
}

/// `wasm-bindgen-test-runner`, which runs the module's tests in a browser, in
/// the crate's version of wasm-bindgen.
pub fn wasm_bindgen_test_runner(project: &Project) -> Result<PathBuf> {
    const RUNNER: &str = "wasm-bindgen-test-runner";
    let version = project.wasm_bindgen()?;
    if let Some(runner) = find(RUNNER) {
        let installed = output(Command::new(&runner).arg("--version")).unwrap_or_default();
        if installed.split_whitespace().last() == Some(version.as_str()) {
            return Ok(runner);
        }
    }
    // Without --locked: only with current dependencies does it build everywhere.
    cargo_install("wasm-bindgen-cli", &version, RUNNER, &[])
}

/// A program that cargo builds, kept by version in a cache for all clones.
fn cargo_install(krate: &str, version: &str, program: &str, options: &[&str]) -> Result<PathBuf> {
    let root = cache()?.join(format!("{krate}-{version}"));
    let file = root.join("bin").join(program);
    if file.is_file() {
        return Ok(file);
    }
    say(&format!("building {krate} {version}: some minutes, once for all clones"));
    let mut install = Command::new("cargo");
    install.args(["install", krate, "--version", version]).args(options);
    let by_hand = crate::command::line(&install);
    // Not our target folder: `cargo install` would leave its build in it.
    install.arg("--root").arg(&root).env_remove("CARGO_TARGET_DIR");
    run(&mut install).with_context(|| format!("{program} is needed (by hand: `{by_hand}`)"))?;
    Ok(file)
}

fn cache() -> Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = cache.filter(|folder| folder.is_absolute()).or_else(home);
    Ok(cache.context("HOME is not set, so there is no cache for tools")?.join("chatrows"))
}

/// A program from an npm package.
fn npm_program(project: &Project, package: &str, version: &str, program: &str) -> Result<PathBuf> {
    let package = npm_package(project, package, version).with_context(|| format!("{program} is needed"))?;
    Ok(package.with_file_name(".bin").join(program))
}

/// The folder of an npm package, kept under the target folder.
fn npm_package(project: &Project, package: &str, version: &str) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Installed {
        version: String,
    }
    node()?;
    let tools = project.target.join("tools");
    let folder = tools.join("node_modules").join(package);
    let installed = std::fs::read(folder.join("package.json")).ok();
    let installed = installed.and_then(|json| serde_json::from_slice::<Installed>(&json).ok());
    if installed.is_none_or(|installed| installed.version != version) {
        say(&format!("installing {package} {version} from npm"));
        std::fs::create_dir_all(&tools)?;
        // Without a manifest of its own, npm would look for one further up.
        let manifest = tools.join("package.json");
        if !manifest.exists() {
            std::fs::write(manifest, "{ \"private\": true }\n")?;
        }
        let package = format!("{package}@{version}");
        run(Command::new("npm")
            .current_dir(&tools)
            .args(["install", "--save-exact", "--no-audit", "--no-fund", "--loglevel=error"])
            .arg(&package)
            .stdout(Stdio::null()))
        .with_context(|| format!("the npm package {package} cannot be had"))?;
    }
    Ok(folder)
}

/// Packages of the system, where we may install them.
fn apt_install(packages: &[&str], why: &str) -> Result<()> {
    let list = packages.join(" ");
    let by_hand = format!("Run: sudo apt-get install --no-install-recommends {list}");
    let what = format!("{list} must be installed: {why}.");
    ensure!(
        find("apt-get").is_some(),
        "{what}\nThere is no apt-get here: install them with your system's package manager."
    );
    let root = output(Command::new("id").arg("-u")).is_some_and(|id| id.trim_end() == "0");
    let sudo = !root && output(Command::new("sudo").args(["-n", "true"])).is_some();
    ensure!(root || sudo, "{what}\n{by_hand}");
    say(&format!("installing {list} with apt-get: {why}"));
    let apt_get = |arguments: &[&str]| {
        let mut command = Command::new(if sudo { "sudo" } else { "apt-get" });
        if sudo {
            command.args(["-n", "apt-get"]);
        }
        command.args(["-q", "-y", "-o", "Dpkg::Use-Pty=0"]).args(arguments);
        command.env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
        run(&mut command)
    };
    let install = [&["install", "--no-install-recommends"], packages].concat();
    // A fresh machine may have no package lists, or old ones.
    apt_get(&["update"]).and_then(|()| apt_get(&install)).with_context(|| format!("{what}\n{by_hand}"))
}

/// Tells what takes its time.
fn say(what: &str) {
    println!("set-up: {what}");
}
