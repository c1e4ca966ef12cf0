//! The live scene of the demo: a coding task with a plan, a thought, a tool
//! that runs for a while, a question whose answer the rest depends on, and a
//! second tool; about 25 seconds. Every later input has a short turn.

use serde_json::{Value, json};

use super::script::Step;

const PLAN: [&str; 3] = ["Find out why the test fails", "Fix the date parsing", "Run the tests again"];
const FILE: &str = "src/invoice/date.rs";

pub(super) fn turns() -> Vec<Vec<Step>> {
    vec![first(), later()]
}

fn first() -> Vec<Step> {
    let mut steps = vec![
        Step::Commands(json!([
            { "name": "review", "description": "Review the changes of this task" },
            { "name": "test", "description": "Run the tests" },
        ])),
        Step::Delay(600),
    ];
    steps.extend(spoken(
        Step::Thought,
        "The test of the invoice date fails only since the turn of the year. Before I change anything I want to see \
         which input it fails on.",
    ));
    steps.extend([plan(0, "in_progress"), Step::Delay(500)]);
    steps.extend(spoken(
        Step::Text,
        "I start with the failing test. It compares a parsed date with the one on the invoice, so I run it alone and \
         look at what it prints.",
    ));
    steps.extend(test_run());
    steps.extend([Step::Usage(json!({ "used": 18_400, "size": 200_000 })), Step::Delay(400)]);
    steps.extend(spoken(
        Step::Text,
        "The invoice of the 3rd of January is read as the 1st of March: the day and the month are taken the wrong \
         way round. The file does not say which order is meant.",
    ));
    steps.extend([
        plan(1, "in_progress"),
        Step::Ask {
            id: "ask-order".into(),
            questions: json!([{
                "question": "Which order do the dates of your invoices have?",
                "header": "Date order",
                "multiSelect": false,
                "custom": true,
                "options": [
                    { "label": "Day first", "description": "03/01 is the 3rd of January" },
                    { "label": "Month first", "description": "01/03 is the 3rd of January" },
                ],
            }]),
        },
        Step::Delay(500),
    ]);
    steps.extend(spoken(Step::Text, "Your answer was: {answer}. I write the parser so that it reads exactly that."));
    steps.extend(edit());
    steps.extend([plan(2, "in_progress"), Step::Usage(json!({ "used": 23_900, "size": 200_000 })), Step::Delay(700)]);
    steps.extend(spoken(
        Step::Text,
        "The order is now named in one place, and a date that does not fit it is an error instead of a wrong day. \
         All 42 tests pass.",
    ));
    steps.extend([plan(3, ""), Step::Usage(json!({ "used": 24_600, "size": 200_000 }))]);
    steps
}

fn later() -> Vec<Step> {
    let mut steps = vec![Step::Delay(400)];
    steps.extend(spoken(Step::Thought, "A short answer will do here."));
    steps.extend(spoken(
        Step::Text,
        "You wrote: {input}\n\nThis scene has no model behind it, so that is as far as it goes. The change from \
         before stands as it is.",
    ));
    steps
}

/// Text in chunks of two words, a little faster than it is read.
fn spoken(chunk: fn(String) -> Step, text: &str) -> Vec<Step> {
    let words: Vec<&str> = text.split_inclusive(' ').collect();
    words.chunks(2).flat_map(|words| [chunk(words.concat()), Step::Delay(150)]).collect()
}

/// The plan with so many entries completed, and the next in this state.
fn plan(completed: usize, next: &str) -> Step {
    let entry = |(index, content): (usize, &&str)| {
        let status = match index {
            _ if index < completed => "completed",
            _ if index == completed => next,
            _ => "pending",
        };
        json!({ "content": content, "priority": "medium", "status": status })
    };
    Step::Plan(Value::Array(PLAN.iter().enumerate().map(entry).collect()))
}

/// Its output grows line by line.
fn test_run() -> Vec<Step> {
    let lines = [
        "$ cargo test invoice::date",
        "   Compiling invoice v0.4.1",
        "    Finished `test` profile in 2.31s",
        "running 1 test",
        "test invoice::date::reads_the_date_of_an_invoice ... FAILED",
        "  left: 2026-03-01",
        " right: 2026-01-03",
        "test result: FAILED. 0 passed; 1 failed",
    ];
    let mut steps = vec![
        Step::ToolCall(json!({
            "toolCallId": "call-test",
            "title": "cargo test invoice::date",
            "kind": "execute",
            "status": "in_progress",
            "rawInput": { "command": "cargo test invoice::date" },
        })),
        Step::Delay(600),
    ];
    for shown in 1..=lines.len() {
        let output = lines[..shown].join("\n");
        steps.extend([
            Step::ToolCallUpdate(json!({
                "toolCallId": "call-test",
                "status": "in_progress",
                "content": [{ "type": "content", "content": { "type": "text", "text": output } }],
            })),
            Step::Delay(800),
        ]);
    }
    steps.push(Step::ToolCallUpdate(json!({
        "toolCallId": "call-test",
        "status": "completed",
        "rawOutput": { "output": lines.join("\n"), "metadata": { "exit": 101 } },
    })));
    steps
}

fn edit() -> Vec<Step> {
    let old = "    let (month, day) = split(text)?;\n";
    let new = "    let (first, second) = split(text)?;\n    let (day, month) = order.day_and_month(first, second);\n";
    vec![
        Step::ToolCall(json!({
            "toolCallId": "call-edit",
            "title": format!("Edit {FILE}"),
            "kind": "edit",
            "status": "pending",
            "rawInput": { "file_path": FILE, "old_string": old, "new_string": new },
            "locations": [{ "path": FILE, "line": 27 }],
        })),
        Step::Delay(500),
        Step::ToolCallUpdate(json!({ "toolCallId": "call-edit", "status": "in_progress" })),
        Step::Delay(900),
        Step::ToolCallUpdate(json!({
            "toolCallId": "call-edit",
            "status": "completed",
            "content": [{ "type": "diff", "path": FILE, "oldText": old, "newText": new }],
        })),
        Step::Delay(400),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The milliseconds that a turn takes, answers aside.
    fn length(turn: &[Step]) -> u64 {
        turn.iter().map(|step| if let Step::Delay(ms) = step { *ms } else { 0 }).sum()
    }

    #[test]
    fn the_scene_is_long_enough_to_watch_and_short_enough_to_wait_for() {
        let lengths: Vec<u64> = turns().iter().map(|turn| length(turn)).collect();
        assert!((15_000..30_000).contains(&lengths[0]), "{lengths:?}");
        assert!((1_000..5_000).contains(&lengths[1]), "{lengths:?}");
    }
}
