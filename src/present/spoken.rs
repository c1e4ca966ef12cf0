//! Calls by which a model speaks to the user: what it asks is a question with its possible answers, what it says at
//! its task's end is text. Sources: the tools `ask_followup_question` and `attempt_completion` of coding agents.

use crate::json::{JsonWriter, Raw, Tape, Value};
use crate::present::rows::Rows;
use crate::row::{Changed, Fact, Row, RowId, Tool, message, said, write_option};

/// Asks the user: `question`, and `options`, `follow_up` or `suggest` as an array, as the text of one, or as tags.
const ASKS: &str = "ask_followup_question";
/// Tells the user what came of the task: `result`.
const TELLS: &str = "attempt_completion";

/// Whether the call asks the user something, so that nobody need be asked whether it may.
pub(super) fn asks(row: &Row) -> bool {
    row.tool.as_deref().is_some_and(|tool| tool.name == ASKS)
}

/// The call, whose arguments are whole, has its turn: its row says what it says.
pub(super) fn speak(id: RowId, rows: &mut Rows) {
    let Some(tool) = rows.get(id).and_then(|row| row.tool.as_deref()) else { return };
    let (name, fact, value) = match &*tool.name {
        ASKS => ("question", Fact::Question, question(tool, None)),
        TELLS => ("result", Fact::Message, message("say.completion", &[])),
        _ => return,
    };
    let (arguments, mut tape) = (tool.arguments(), Tape::default());
    let record = tape.read(&arguments).ok();
    let text = record.as_ref().and_then(|record| said(record.root(), &[name])).unwrap_or_default().into_owned();
    rows.set_text(id, &text, 0);
    rows.change(id, |row| {
        row.facts.set(fact, Some(value));
        Changed::FACTS
    });
}

/// What the call gave is the user's answer, if it asked for one.
pub(super) fn answer(row: &mut Row, output: &str) -> Changed {
    let asked = asks(row);
    let Some(tool) = row.tool.as_deref().filter(|_| asked) else { return Changed::NONE };
    row.facts.set(Fact::Question, Some(question(tool, Some(output))));
    Changed::FACTS
}

/// An object with the properties of the TypeScript interface `Question`.
fn question(tool: &Tool, answer: Option<&str>) -> Raw {
    let (arguments, mut tape) = (tool.arguments(), Tape::default());
    let record = tape.read(&arguments).ok();
    Raw::written(|json| {
        json.object(|json| {
            let root = record.as_ref().map(|record| record.root());
            let offered = ["options", "follow_up", "suggest"]
                .into_iter()
                .find_map(|name| root.map(|root| root.get(name)).filter(|options| options.exists()));
            if let Some(offered) = offered {
                write_options(offered, json);
            }
            json.key("custom").bool(true);
            if let Some(answer) = answer {
                json.key("answer").string(answer);
            }
        });
    })
}

fn write_options(options: Value<'_>, json: &mut JsonWriter) {
    if options.is_array() {
        json.key("options").array(|json| options.items().for_each(|option| write_option(option, json)));
        return;
    }
    let Some(text) = options.str().map(|text| text.text()) else { return };
    let mut tape = Tape::default();
    if let Some(record) = tape.read(&text).ok().filter(|record| record.root().is_array()) {
        return write_options(record.root(), json);
    }
    // `<suggest>` tags, which may have attributes.
    let mut rest = &*text;
    let mut suggestions = || {
        loop {
            (_, rest) = rest.split_once("<suggest")?;
            // It may be the start of another name.
            if rest.starts_with(|c: char| c == '>' || c.is_whitespace()) {
                let (_, from) = rest.split_once('>')?;
                let (label, after) = from.split_once("</suggest>").unwrap_or((from, ""));
                rest = after;
                return Some(label.trim());
            }
        }
    };
    json.key("options").array(|json| {
        for label in std::iter::from_fn(&mut suggestions).filter(|label| !label.is_empty()) {
            json.object(|json| json.key("label").string(label));
        }
    });
}
