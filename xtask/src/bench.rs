//! `cargo xtask bench`: the release package beside the least that a page can do
//! in JavaScript, on the same bytes in the same run, in headless Chromium and in
//! node; and the package's sizes and memory. Prints tables with a verdict for
//! each budget. A missed budget is told, and fails nothing: only what could not
//! be measured does.
//!
//! What is measured, and how, is written in benches/README.md.

mod chromium;
mod figures;
mod frame;
mod readers;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Error, Result, bail, ensure};
use lexopt::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::command::{line, output};
use crate::package::{self, Kind};
use crate::project::Project;
use crate::{setup, size};
use chromium::Chromium;
use figures::{Spread, short, table, whole};
use frame::Frame;

/// Fewer rounds have no quartiles worth the name.
const ROUNDS: usize = 15;

/// What a figure should be.
#[derive(Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Bound::AtLeast(bound) => value >= bound,
            Bound::AtMost(bound) => value <= bound,
        }
    }
}

#[derive(Clone, Copy)]
struct Budget {
    bound: Bound,
    /// What would be better still.
    aim: Option<f64>,
}

const fn budget(bound: Bound, aim: Option<f64>) -> Option<Budget> {
    Some(Budget { bound, aim })
}

/// The warm cases, by their names in benches/measure.js.
const CASES: &[(&str, &str, Option<Budget>)] = &[
    ("text", "text deltas", budget(Bound::AtLeast(4.0), Some(8.0))),
    ("text-per-piece", "the same, drained after each piece", None),
    ("argument", "a 1 MiB argument in 24-character deltas", budget(Bound::AtLeast(3.0), Some(6.0))),
    ("varied", "text deltas, no two events alike", budget(Bound::AtLeast(0.9), None)),
    ("padded", "text deltas, padding in each event", None),
    ("usage", "text deltas, usage in each event", None),
    ("write-to-file", "a call in tags that writes 1 MiB, in 24-character deltas", None),
    ("tagged-text", "1 MiB of text read for calls in tags, in 24-character deltas", None),
];
/// Inputs four times as long as others, by their names there.
const GROWTH: &[(&str, &str, &str, Option<Budget>)] = &[
    ("argument-256k", "argument", "an argument of 1 MiB, beside 256 KiB", FOUR_TIMES),
    ("argument", "argument-4m", "an argument of 4 MiB, beside 1 MiB", None),
    ("write-to-file-256k", "write-to-file", "a call in tags that writes 1 MiB, beside 256 KiB", FOUR_TIMES),
    ("tagged-text-256k", "tagged-text", "1 MiB of text read for calls in tags, beside 256 KiB", FOUR_TIMES),
];
const FOUR_TIMES: Option<Budget> = budget(Bound::AtMost(4.4), None);
const COLD: Budget = Budget { bound: Bound::AtMost(2.0), aim: Some(1.2) };
/// Memory may be this many times the text, and so much more.
const MEMORY: (f64, f64) = (3.0, 2e6);
/// What is measured besides the warm cases.
const OTHERS: [&str; 5] = ["growth", "cold", "frame", "memory", "sizes"];

/// What benches/measure.js answers with; times in milliseconds.
#[derive(Debug, Deserialize, Serialize)]
struct Warm {
    cases: Vec<Case>,
    growth: Vec<Growth>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Case {
    name: String,
    deltas: u64,
    bytes: u64,
    floor: Vec<f64>,
    chatrows: Vec<f64>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Growth {
    name: String,
    bytes: u64,
    samples: Vec<f64>,
}

/// The first use of a new process.
#[derive(Debug, Default, Serialize)]
struct Cold {
    floor: Vec<f64>,
    chatrows: Vec<f64>,
}

/// One program that runs JavaScript, and what was measured in it.
#[derive(Debug, Serialize)]
struct Environment {
    name: String,
    warm: Warm,
    cold: Cold,
}

/// What the module holds after a job.
#[derive(Debug, Deserialize, Serialize)]
struct Memory {
    name: String,
    rows: u64,
    memory: u64,
    /// UTF-8 bytes of all rows' text, input and output.
    text: u64,
}

/// What is measured, and with what.
struct Bench<'a> {
    project: &'a Project,
    rounds: usize,
    only: Vec<String>,
    package: PathBuf,
    parser: PathBuf,
}

/// What a budget is judged on, and how.
#[derive(Serialize)]
struct Verdict {
    environment: String,
    name: String,
    value: f64,
    bound: f64,
    holds: bool,
}

pub fn run(project: &Project, mut arguments: lexopt::Parser) -> Result<()> {
    let (mut rounds, mut only, mut json, mut readers) = (ROUNDS, Vec::new(), false, false);
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("rounds") => rounds = arguments.value()?.parse().map_err(Error::msg)?,
            Long("only") => {
                for name in arguments.values()? {
                    only.push(known(name.string()?)?);
                }
            }
            Long("json") => json = true,
            Long("readers") => readers = true,
            _ => return Err(argument.unexpected().into()),
        }
    }
    ensure!(rounds > 0, "at least one round is needed");
    warn_if_busy();
    if readers {
        return readers::run(project, rounds);
    }
    setup::node()?;
    let bench = Bench {
        project,
        rounds,
        only,
        package: package::build(project, Kind::Release)?,
        parser: setup::eventsource_parser(project)?,
    };
    bench.run(json)
}

fn known(name: String) -> Result<String> {
    let mut names = CASES.iter().map(|(name, ..)| *name).chain(OTHERS);
    if names.any(|known| known == name) {
        return Ok(name);
    }
    let names: Vec<_> = CASES.iter().map(|(name, ..)| *name).chain(OTHERS).collect();
    bail!("there is no measurement `{name}`; there are: {}", names.join(", "));
}

/// Other work on the machine makes figures that are no one's.
fn warn_if_busy() {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().and_then(|load| load.parse::<f64>().ok());
    if let Some(load) = load.filter(|load| *load > 0.5) {
        eprintln!("the machine is busy (load {load}): figures will spread");
    }
}

impl Bench<'_> {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }

    fn run(&self, json: bool) -> Result<()> {
        let warm = self.wants("growth") || CASES.iter().any(|(name, ..)| self.wants(name));
        let environments = match warm || self.wants("cold") {
            true => vec![self.in_chromium()?, self.in_node()?],
            false => Vec::new(),
        };
        let frame = if self.wants("frame") { Some(self.frame()?) } else { None };
        let memory: Vec<Memory> = if self.wants("memory") { self.node("memory", json!(null))? } else { Vec::new() };
        let sizes = if self.wants("sizes") { size::sizes(&self.package)? } else { Vec::new() };

        let mut verdicts = Vec::new();
        println!(
            "chatrows {} beside eventsource-parser {}: {} interleaved rounds, {} cores",
            self.project.version,
            setup::EVENTSOURCE_PARSER,
            self.rounds,
            std::thread::available_parallelism().map_or(0, usize::from),
        );
        for environment in &environments {
            println!("\n{}\n", environment.name);
            print!("{}", environment.table(&mut verdicts));
        }
        if let Some(frame) = &frame {
            print!("\n{}", frame.tables(&mut verdicts));
        }
        if !memory.is_empty() {
            print!("\n{}", memory_table(&memory, &mut verdicts));
        }
        if !sizes.is_empty() {
            print!("\n{}", size_table(&sizes, size::budget(self.project)?, &mut verdicts));
        }
        let missed: Vec<_> = verdicts.iter().filter(|verdict| !verdict.holds).collect();
        println!("\n{} of {} budgets hold", verdicts.len() - missed.len(), verdicts.len());
        for Verdict { environment, name, value, bound, .. } in missed {
            println!("missed: {name} ({environment}): {} against {}", short(*value), short(*bound));
        }
        if json {
            let sizes: Vec<_> = sizes.iter().map(|size| json!([size.name, size.raw, size.gzip])).collect();
            let all = json!({
                "rounds": self.rounds, "environments": environments, "frame": frame, "memory": memory, "sizes": sizes,
                "budgets": verdicts,
            });
            println!("{all}");
        }
        Ok(())
    }

    fn options(&self) -> serde_json::Value {
        json!({ "rounds": self.rounds, "only": self.only })
    }

    fn in_chromium(&self) -> Result<Environment> {
        let chromium = Chromium::start(self.project, &self.package, &self.parser)?;
        chromium.open("warm", "page.html")?;
        let warm = chromium.call("warm", self.options())?;
        // A site of its own for each sample is a process of its own.
        let mut site = 0;
        let cold = self.cold(|side| {
            site += 1;
            chromium.open(&format!("cold-{site}"), "page.html")?;
            chromium.call("cold", json!(side))
        })?;
        Ok(Environment { name: format!("Chromium {}", chromium.version), warm, cold })
    }

    fn frame(&self) -> Result<Frame> {
        let chromium = Chromium::start(self.project, &self.package, &self.parser)?;
        chromium.open("frame", "frame.html")?;
        Frame::measure(&chromium, self.rounds)
    }

    fn in_node(&self) -> Result<Environment> {
        let version = output(Command::new("node").arg("--version")).context("node does not start")?;
        let name = format!("node {}", version.trim().trim_start_matches('v'));
        let warm = self.node("warm", self.options())?;
        let cold = self.cold(|side| self.node("cold", json!(side)))?;
        Ok(Environment { name, warm, cold })
    }

    fn cold(&self, mut sample: impl FnMut(&str) -> Result<f64>) -> Result<Cold> {
        let mut cold = Cold::default();
        if self.wants("cold") {
            // The first of each finds cold disks, which is not what is asked.
            sample("floor")?;
            sample("chatrows")?;
            for _ in 0..self.rounds {
                cold.floor.push(sample("floor")?);
                cold.chatrows.push(sample("chatrows")?);
            }
        }
        Ok(cold)
    }

    /// A task of benches/node.js, in a process of its own.
    fn node<T: DeserializeOwned>(&self, task: &str, options: serde_json::Value) -> Result<T> {
        let script = self.project.root.join("benches/node.js");
        let mut command = Command::new("node");
        command.args([&script, &self.package, &self.parser]).arg(task).arg(options.to_string());
        command_json(&mut command)
    }
}

/// What a command prints, as JSON.
fn command_json<T: DeserializeOwned>(command: &mut Command) -> Result<T> {
    let output = command.output().with_context(|| line(command))?;
    ensure!(output.status.success(), "`{}`: {}", line(command), String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).with_context(|| format!("`{}` printed something else", line(command)))
}

impl Environment {
    fn table(&self, verdicts: &mut Vec<Verdict>) -> String {
        let mut rows = Vec::new();
        let mut row = |what: String, [floor, chatrows]: [&[f64]; 2], ratio: &str, verdict: String| {
            let times = |samples| Spread::of(samples).map_or_else(String::new, |spread| spread.times());
            rows.push([what, times(floor), times(chatrows), ratio.to_owned(), verdict]);
        };
        let mut judge = |name: &str, budget, ratio: Spread| {
            let verdict = Verdict::of(&self.name, name, ratio.median, budget, verdicts);
            (ratio.ratio(), verdict)
        };
        for Case { name, deltas, bytes, floor, chatrows } in &self.warm.cases {
            let Some(&(_, words, budget)) = CASES.iter().find(|(known, ..)| known == name) else { continue };
            let what = match name.as_str() {
                "text-per-piece" => words.to_owned(),
                _ => format!("{}: {} × {} B", words, whole(*deltas), bytes / deltas),
            };
            if let Some(ratio) = Spread::of_ratios(floor, chatrows) {
                let (ratio, verdict) = judge(name, budget, ratio);
                row(what, [floor, chatrows], &format!("{ratio} × as fast"), verdict);
            }
        }
        for (from, to, what, budget) in GROWTH {
            let grown = |name: &&str| self.warm.growth.iter().find(|growth| growth.name == **name);
            let Some((from, to)) = grown(from).zip(grown(to)) else { continue };
            if let Some(ratio) = Spread::of_ratios(&to.samples, &from.samples) {
                let (ratio, verdict) = judge(&format!("growth of {}", to.name), *budget, ratio);
                row((*what).to_owned(), [&[], &to.samples], &format!("{ratio} × as long"), verdict);
            }
        }
        let Cold { floor, chatrows } = &self.cold;
        if let Some(ratio) = Spread::of_ratios(chatrows, floor) {
            let (ratio, verdict) = judge("cold", Some(COLD), ratio);
            let what = "cold: module start and the first 2,000 deltas".to_owned();
            row(what, [floor, chatrows], &format!("{ratio} × as long"), verdict);
        }
        table(["ms: median (least; quartiles)", "floor", "chatrows", "median (quartiles)", "budget"], &rows)
    }
}

impl Verdict {
    /// Judges a figure; says the budget and whether it holds.
    fn of(environment: &str, name: &str, value: f64, budget: Option<Budget>, verdicts: &mut Vec<Verdict>) -> String {
        let Some(Budget { bound, aim }) = budget else { return String::new() };
        let holds = bound.holds(value);
        let (sign, limit) = match bound {
            Bound::AtLeast(limit) => ("≥", limit),
            Bound::AtMost(limit) => ("≤", limit),
        };
        verdicts.push(Verdict { environment: environment.into(), name: name.into(), value, bound: limit, holds });
        let limit = if limit < 1000.0 { limit.to_string() } else { short(limit) };
        let aim = aim.map_or_else(String::new, |aim| format!(" (aim {aim})"));
        format!("{sign} {limit}{aim}: {}", if holds { "holds" } else { "missed" })
    }
}

fn memory_table(memory: &[Memory], verdicts: &mut Vec<Verdict>) -> String {
    let mut row = |Memory { name, rows, memory, text }: &Memory| {
        let bound = Bound::AtMost(MEMORY.0 * *text as f64 + MEMORY.1);
        let verdict = Verdict::of("memory", name, *memory as f64, Some(Budget { bound, aim: None }), verdicts);
        let pages = format!("{} ({})", whole(*memory), memory >> 16);
        [name.replace('-', " "), whole(*rows), whole(*text), pages, verdict]
    };
    let rows: Vec<_> = memory.iter().map(&mut row).collect();
    table(["after", "rows", "bytes of text", "module memory (pages)", "budget: 3 × text + 2 MB"], &rows)
}

fn size_table(sizes: &[size::Size], budget: u64, verdicts: &mut Vec<Verdict>) -> String {
    let row = |size: &size::Size| {
        let counted = if size.counted { "" } else { "not counted" };
        [size.name.to_owned(), whole(size.raw), whole(size.gzip), counted.to_owned()]
    };
    let mut rows: Vec<_> = sizes.iter().map(row).collect();
    let total: u64 = sizes.iter().filter(|size| size.counted).map(|size| size.gzip).sum();
    let bound = Bound::AtMost(budget as f64);
    let verdict = Verdict::of("bytes", "download", total as f64, Some(Budget { bound, aim: None }), verdicts);
    rows.push(["download".to_owned(), String::new(), whole(total), verdict]);
    table(["file, bytes", "raw", "gzip -9", "budget"], &rows)
}
