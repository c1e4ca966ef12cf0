//! `cargo xtask test`: everything that must hold, as named steps. A step sets
//! up what it needs; one that fails does not keep the others from running.
//! The last line is `N passed, M failed`.

use chatrows::Format;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use lexopt::prelude::*;

use crate::command::{find, path_with, run};
use crate::package::{self, Kind};
use crate::project::Project;
use crate::setup::{self, Browser};
use crate::{boundary, size};

struct Step {
    name: &'static str,
    /// What holds when it passes.
    promise: &'static str,
    /// What to do when it fails.
    advice: &'static str,
    run: fn(&Project) -> Result<()>,
}

/// In order of cost: what is soon told comes first.
const STEPS: &[Step] = &[
    Step { name: "fmt", promise: "the source is formatted", advice: "run `cargo fmt --all`", run: fmt },
    Step {
        name: "boundary",
        promise: "only src/wasm names a crate of the JavaScript boundary",
        advice: "move what needs the crate to src/wasm",
        run: boundary::check,
    },
    Step {
        name: "clippy",
        promise: "clippy has nothing to say, natively and for the module's target",
        advice: "follow clippy's words above",
        run: clippy,
    },
    Step {
        name: "doc",
        promise: "the documentation builds without a warning",
        advice: "follow rustdoc's words above",
        run: doc,
    },
    Step {
        name: "native",
        promise: "the native tests and the examples in the documentation pass",
        advice: "run one alone with `cargo test NAME`",
        run: native,
    },
    Step {
        name: "renderer",
        promise: "the tests of rows.js pass in node",
        advice: "run them alone with `cargo xtask test --only renderer`",
        run: renderer,
    },
    Step {
        name: "size",
        promise: "the release package keeps within size.toml",
        advice: "see the table above; `cargo xtask size` prints it again",
        run: size_gate,
    },
    Step {
        name: "types",
        promise: "a strict TypeScript consumer of the package compiles",
        advice: "make src/wasm/types.ts, www/rows.d.ts and tests/types/consumer.ts agree",
        run: types,
    },
    Step {
        name: "dist",
        promise: "the packed release package turns a stream into rows in node",
        advice: "see xtask/src/smoke.mjs, which failed above",
        run: dist,
    },
    Step {
        name: "wasm-chromium",
        promise: "the module's tests pass in Chromium",
        advice: "run them alone with `cargo xtask test --only wasm-chromium`",
        run: |project| wasm(project, Browser::Chromium),
    },
    Step {
        name: "wasm-firefox",
        promise: "the module's tests pass in Firefox",
        advice: "run them alone with `cargo xtask test --only wasm-firefox`",
        run: |project| wasm(project, Browser::Firefox),
    },
    Step {
        name: "page",
        promise: "the renderer, the demo page and a task over a WebSocket do what they should in Chromium and Firefox",
        advice: "target/screens shows the page as it failed; \
                 run one test alone with `cargo test -p page NAME`",
        run: page,
    },
];

pub fn run_steps(project: &Project, arguments: lexopt::Parser) -> Result<ExitCode> {
    let Some(steps) = chosen(arguments)? else {
        for step in STEPS {
            println!("{:14} {}", step.name, step.promise);
        }
        return Ok(ExitCode::SUCCESS);
    };
    let outcomes: Vec<_> = steps.iter().map(|step| (step, outcome(step, project))).collect();

    println!();
    for (step, (time, result)) in &outcomes {
        let seconds = time.as_secs_f64();
        println!("{:6} {:14} {seconds:6.1} s", if result.is_ok() { "ok" } else { "FAILED" }, step.name);
        if let Err(error) = result {
            for line in format!("{error:#}\n{}", step.advice).lines() {
                println!("       {line}");
            }
        }
    }
    let failed = outcomes.iter().filter(|(_, (_, result))| result.is_err()).count();
    println!("{} passed, {failed} failed", outcomes.len() - failed);
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The steps that were asked for; none for `--list`.
fn chosen(mut arguments: lexopt::Parser) -> Result<Option<Vec<&'static Step>>> {
    let mut only = Vec::new();
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("list") => return Ok(None),
            Long("only") => {
                for name in arguments.values()? {
                    let name = name.string()?;
                    let step = STEPS.iter().find(|step| step.name == name);
                    only.push(
                        step.with_context(|| format!("there is no step `{name}`: see `cargo xtask test --list`"))?,
                    );
                }
            }
            _ => return Err(argument.unexpected().into()),
        }
    }
    Ok(Some(if only.is_empty() { STEPS.iter().collect() } else { only }))
}

fn outcome(step: &Step, project: &Project) -> (Duration, Result<()>) {
    println!("\n── {}: {}", step.name, step.promise);
    let start = Instant::now();
    let result = (step.run)(project);
    let time = start.elapsed();
    match &result {
        Ok(()) => println!("── {}: ok, {:.1} s", step.name, time.as_secs_f64()),
        Err(error) => println!("── {}: FAILED, {:.1} s\n{error:#}", step.name, time.as_secs_f64()),
    }
    (time, result)
}

fn fmt(project: &Project) -> Result<()> {
    setup::rust_component("rustfmt", "rustfmt")?;
    run(project.cargo().args(["fmt", "--all", "--check"]))
}

fn clippy(project: &Project) -> Result<()> {
    setup::rust_component("clippy", "cargo-clippy")?;
    setup::wasm_target()?;
    const STRICT: [&str; 3] = ["--", "-D", "warnings"];
    run(project.cargo().args(["clippy", "--workspace", "--all-targets"]).args(STRICT))?;
    let module = ["clippy", "--package", "chatrows", "--lib", "--tests", "--target", setup::WASM];
    run(project.cargo().args(module).args(STRICT))?;
    // Each format alone.
    for format in Format::ALL.iter().filter(|format| **format != Format::Auto).map(|format| format.name()) {
        let alone = ["clippy", "--package", "chatrows", "--lib", "--no-default-features", "--features", format];
        run(project.cargo().args(alone).args(["--target", setup::WASM]).args(STRICT))?;
    }
    Ok(())
}

fn doc(project: &Project) -> Result<()> {
    setup::wasm_target()?;
    let doc = |arguments: &[&str]| {
        run(project.cargo().args(["doc", "--no-deps"]).args(arguments).env("RUSTDOCFLAGS", "-Dwarnings"))
    };
    doc(&["--workspace"])?;
    doc(&["--package", "chatrows", "--target", setup::WASM])
}

fn native(project: &Project) -> Result<()> {
    run(project.cargo().args(["test", "--workspace", "--exclude", "page"]))
}

fn renderer(project: &Project) -> Result<()> {
    setup::node()?;
    let www = project.root.join("www");
    let entries = fs::read_dir(&www).context("www")?.collect::<Result<Vec<_>, _>>()?;
    let files = entries.iter().map(|entry| entry.path());
    let tests = files.filter(|file| file.to_string_lossy().ends_with(".test.js"));
    run(Command::new("node").current_dir(www).arg("--test").args(tests))
}

fn size_gate(project: &Project) -> Result<()> {
    size::gate(project, &package::build(project, Kind::Release)?, size::Mode::Check)
}

fn types(project: &Project) -> Result<()> {
    const CONFIG: &str = r#"{
  "compilerOptions": {
    "strict": true,
    "noEmit": true,
    "target": "es2022",
    "lib": ["es2022", "esnext.disposable", "dom", "dom.iterable"],
    "module": "nodenext",
    "types": []
  },
  "files": ["consumer.ts"]
}
"#;
    let consumer = installed_package(project)?;
    fs::copy(project.root.join("tests/types/consumer.ts"), consumer.join("consumer.ts"))
        .context("tests/types/consumer.ts")?;
    fs::write(consumer.join("tsconfig.json"), CONFIG)?;
    run(Command::new(setup::tsc(project)?).current_dir(consumer))
}

fn dist(project: &Project) -> Result<()> {
    let consumer = installed_package(project)?;
    fs::copy(project.root.join("xtask/src/smoke.mjs"), consumer.join("smoke.mjs")).context("xtask/src/smoke.mjs")?;
    run(Command::new("node").current_dir(consumer).arg("smoke.mjs"))
}

/// A folder in which the packed release package is installed, as a user has it.
fn installed_package(project: &Project) -> Result<PathBuf> {
    let package = package::build(project, Kind::Release)?;
    setup::node()?;
    let consumer = project.target.join("consumer");
    if consumer.exists() {
        fs::remove_dir_all(&consumer)?;
    }
    fs::create_dir_all(&consumer)?;
    fs::write(consumer.join("package.json"), "{ \"private\": true, \"type\": \"module\" }\n")?;
    let npm = |arguments: &[&str], path: &Path| {
        run(Command::new("npm").current_dir(&consumer).arg("--loglevel=error").args(arguments).arg(path))
    };
    npm(&["pack"], &package)?;
    let packed = consumer.join(format!("chatrows-{}.tgz", project.version));
    npm(&["install", "--offline", "--no-audit", "--no-fund"], &packed)?;
    Ok(consumer)
}

/// Through wasm-pack where it is installed, else as wasm-pack does it.
fn wasm(project: &Project, browser: Browser) -> Result<()> {
    setup::wasm_target()?;
    let driver = browser.driver()?;
    let runner = setup::wasm_bindgen_test_runner(project)?;
    let tools = runner.parent().context("the runner lies in a folder")?.to_owned();
    let mut command = match find("wasm-pack") {
        Some(wasm_pack) => {
            let (browser, option) = match browser {
                Browser::Chromium => ("--chrome", "--chromedriver"),
                Browser::Firefox => ("--firefox", "--geckodriver"),
            };
            let mut command = Command::new(wasm_pack);
            command.current_dir(&project.root);
            command.args(["test", "--mode", "no-install", "--headless", browser, option]);
            command.arg(&driver);
            command
        }
        None => {
            let mut command = project.cargo();
            command.args(["test", "--package", "chatrows", "--target", setup::WASM]);
            command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", &runner);
            command
        }
    };
    // The runner takes the first driver that it finds named.
    for other in [Browser::Chromium, Browser::Firefox] {
        command.env_remove(other.driver_variable());
    }
    run(command.env(browser.driver_variable(), driver).env("PATH", path_with(tools)?))
}

fn page(project: &Project) -> Result<()> {
    let mut tests = project.cargo();
    tests.args(["test", "--package", "page"]);
    for browser in [Browser::Chromium, Browser::Firefox] {
        tests.env(browser.driver_variable(), browser.driver()?);
    }
    package::build(project, Kind::Demo)?;
    setup::axe(project)?;
    run(&mut tests)
}
