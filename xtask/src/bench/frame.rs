//! One frame of a page with a chat on it, from before what arrived is pushed to
//! after layout: a long chat beside a short one, and the package beside what a
//! page does that knows nothing of what changed. benches/frame.js measures.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::chromium::Chromium;
use super::figures::{quantiles, short, table, whole};
use super::{Bound, Budget, Verdict};

/// So many rounds at least, of 30 frames each: a percentile of fewer frames says little.
const LEAST_ROUNDS: usize = 10;
/// The rows that grow in the middle of a chat of 100 have to find room in it.
const MOST_ROUNDS: usize = 50;

/// Milliseconds that 99 of 100 frames of the long chat may take.
const P99: Bound = Bound::AtMost(2.0);
/// How many times as long as those of the short one.
const RATIO: Bound = Bound::AtMost(1.2);

/// The cases of benches/frame.js.
const CASES: [(&str, &str); 4] = [
    ("openai-last", "`openai-chat`, the last row grows"),
    ("openai-middle", "`openai-chat`, a row in the middle grows"),
    ("say-last", "`say`, the last row grows"),
    ("say-middle", "`say`, a row in the middle grows"),
];
const SIDES: [(&str, &str); 3] =
    [("chatrows", "chatrows"), ("text", "the row's whole text anew"), ("list", "the whole list anew")];

#[derive(Serialize)]
pub struct Frame {
    environment: String,
    cases: Vec<Case>,
}

#[derive(Deserialize, Serialize)]
struct Case {
    name: String,
    /// Rows of the two chats.
    small: u64,
    large: u64,
    sides: Vec<Side>,
}

#[derive(Deserialize, Serialize)]
struct Side {
    name: String,
    small: Vec<Times>,
    large: Vec<Times>,
}

/// One frame's milliseconds: bytes or messages read, ops drained, the renderer, layout; and from the first of these to
/// when the browser has drawn the frame.
#[derive(Deserialize, Serialize)]
struct Times(f64, f64, f64, f64, f64);

impl Times {
    /// What the budget is about.
    fn total(&self) -> f64 {
        self.0 + self.1 + self.2 + self.3
    }
}

/// The median and the 99th percentile of one part of the frames.
fn half_and_most(frames: &[Times], part: impl Fn(&Times) -> f64) -> [f64; 2] {
    let times: Vec<f64> = frames.iter().map(part).collect();
    quantiles(&times, [0.5, 0.99]).unwrap_or([f64::NAN; 2])
}

fn times([half, most]: [f64; 2]) -> String {
    format!("{}; {}", short(half), short(most))
}

fn name<'a>(known: &[(&str, &'a str)], name: &'a str) -> &'a str {
    known.iter().find(|(other, _)| *other == name).map_or(name, |(_, words)| words)
}

impl Frame {
    /// The page is benches/frame.html.
    pub fn measure(chromium: &Chromium, rounds: usize) -> Result<Frame> {
        let rounds = rounds.clamp(LEAST_ROUNDS, MOST_ROUNDS);
        let cases = chromium.call("frame", json!({ "rounds": rounds }))?;
        Ok(Frame { environment: format!("Chromium {}", chromium.version), cases })
    }

    pub fn tables(&self, verdicts: &mut Vec<Verdict>) -> String {
        let mut tables = format!("One frame of 33 deltas, {}\n", self.environment);
        for case in &self.cases {
            tables += &format!("\n{}\n\n{}", name(&CASES, &case.name), self.table(case, verdicts));
        }
        let parts: Vec<_> = self.cases.iter().filter_map(Case::parts).collect();
        let head = ["chatrows, the long chat: p50; p99", "push", "drain", "renderer", "layout"];
        tables + "\n" + &table(head, &parts)
    }

    fn table(&self, Case { name: case, small, large, sides }: &Case, verdicts: &mut Vec<Verdict>) -> String {
        let mut judge = |what: &str, value: f64, bound| {
            Verdict::of(&self.environment, what, value, Some(Budget { bound, aim: None }), verdicts)
        };
        let rows: Vec<_> = sides
            .iter()
            .map(|side| {
                let (few, many) = (half_and_most(&side.small, Times::total), half_and_most(&side.large, Times::total));
                let [half, most] = [many[0] / few[0], many[1] / few[1]];
                let budget = match side.name.as_str() {
                    "chatrows" => format!(
                        "p99 {}; ratio of p99 {}",
                        judge(&format!("{case} p99"), many[1], P99),
                        judge(&format!("{case} large/small"), most, RATIO),
                    ),
                    _ => String::new(),
                };
                let frames = whole(side.large.len() as u64);
                let side_name = name(&SIDES, &side.name).to_owned();
                let drawn = times(half_and_most(&side.large, |frame| frame.4));
                [side_name, frames, times(few), times(many), times([half, most]), drawn, budget]
            })
            .collect();
        let [few, many] = [small, large].map(|rows| format!("{} rows", whole(*rows)));
        table(["ms: p50; p99", "frames", &few, &many, "× as long", "until drawn", "budget"], &rows)
    }
}

impl Case {
    /// Where the time goes.
    fn parts(&self) -> Option<[String; 5]> {
        let Side { large, .. } = self.sides.iter().find(|side| side.name == "chatrows")?;
        let part = |part: fn(&Times) -> f64| times(half_and_most(large, part));
        let [push, drain, renderer, layout] = [part(|it| it.0), part(|it| it.1), part(|it| it.2), part(|it| it.3)];
        Some([name(&CASES, &self.name).to_owned(), push, drain, renderer, layout])
    }
}
