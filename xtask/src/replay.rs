//! `cargo xtask replay`: reads a recording and prints what the page would be told, as JSON lines, so that anyone can
//! script a check. The clock stands at 0.

use std::io::{Read, Write};
use std::process::ExitCode;

use chatrows::json::JsonWriter;
use chatrows::{ChatRows, Format, Options, RowOp, StreamId, StreamOptions, TaggedTools};

/// How to call it.
pub const USAGE: &str = "\
cargo xtask replay --format F [--rows | --ops | --panels | --faults | --stats] [--cut N | --cut-seed S] [--tagged] [--no-finish] FILE|-
  --rows      the rows at the end, one a line (the default)
  --ops       every row operation; a batch is drained after each piece
  --panels    the panels at the end
  --faults    what was wrong with the input, one fault a line
  --stats     what became of the input
  --cut N     feed pieces of N bytes; --cut-seed S: pieces of pseudo-random sizes; without either: one piece
  --tagged    calls are written as tags in the text
  --no-finish leave the stream open at the end of the file";

#[derive(Clone, Copy, PartialEq)]
enum Show {
    Rows,
    Ops,
    Panels,
    Faults,
    Stats,
}

#[derive(Clone, Copy)]
enum Cut {
    Whole,
    Every(usize),
    Seed(u64),
}

/// Runs the command with what stands after its name.
pub fn run(args: Vec<String>) -> ExitCode {
    if args.is_empty() || args.iter().any(|arg| arg == "--help" || arg == "-h") {
        println!("{USAGE}\n{}", formats());
        return ExitCode::SUCCESS;
    }
    match replay(args) {
        Ok(text) => match std::io::stdout().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(message) => {
            eprintln!("replay: {message}\n\n{USAGE}\n{}", formats());
            ExitCode::from(2)
        }
    }
}

/// The names that `--format` takes.
fn formats() -> String {
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    format!("the formats: {}", names.join(", "))
}

fn replay(args: Vec<String>) -> Result<String, String> {
    let (mut format, mut show, mut cut, mut finish, mut file) = (None, Show::Rows, Cut::Whole, true, None);
    let mut tagged_tools = None;
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let mut value = |name: &str| args.next().ok_or_else(|| format!("{name} needs a value"));
        match arg.as_str() {
            "--format" => format = Some(Format::named(&value("--format")?)?),
            "--rows" => show = Show::Rows,
            "--ops" => show = Show::Ops,
            "--panels" => show = Show::Panels,
            "--faults" => show = Show::Faults,
            "--stats" => show = Show::Stats,
            "--cut" => match value("--cut")?.parse() {
                Ok(size) if size > 0 => cut = Cut::Every(size),
                _ => return Err("--cut takes a whole number from 1".into()),
            },
            "--cut-seed" => {
                cut =
                    Cut::Seed(value("--cut-seed")?.parse().map_err(|_| "--cut-seed takes a whole number".to_owned())?);
            }
            "--tagged" => tagged_tools = Some(TaggedTools::default()),
            "--no-finish" => finish = false,
            option if option.starts_with("--") => return Err(format!("unknown option {option}")),
            path if file.is_none() => file = Some(path.to_owned()),
            path => return Err(format!("one file at a time; {path} is a second one")),
        }
    }
    let format = format.ok_or("say the wire format with --format")?;
    let file = file.ok_or("say which file to read, or - for the standard input")?;
    let bytes = read(&file)?;
    if bytes.is_empty() {
        eprintln!("replay: {file} is empty, and nothing becomes of nothing");
    }

    let mut chat = ChatRows::new(Options::default());
    let stream = chat.stream(StreamOptions { tagged_tools, ..StreamOptions::from(format) });
    let mut ops = String::new();
    let mut drain = |chat: &mut ChatRows| {
        chat.drain(&mut |op: RowOp<'_>| {
            let mut json = JsonWriter::onto(std::mem::take(&mut ops));
            op.write_json(&mut json);
            ops = json.into_string();
            ops.push('\n');
        });
    };
    for piece in pieces(&bytes, cut) {
        chat.push(stream, piece);
        if show == Show::Ops {
            drain(&mut chat);
        }
    }
    if finish {
        chat.finish(stream);
    }
    drain(&mut chat);
    Ok(match show {
        Show::Ops => ops,
        Show::Rows => chat.rows().map(|row| row.to_json() + "\n").collect(),
        Show::Panels => chat.panels_json() + "\n",
        Show::Faults => faults(&chat),
        Show::Stats => stats(&chat, stream),
    })
}

fn faults(chat: &ChatRows) -> String {
    let line = |fault: &chatrows::Fault| {
        let mut json = JsonWriter::default();
        fault.write_json(&mut json);
        json.into_string() + "\n"
    };
    chat.faults().map(line).collect()
}

fn stats(chat: &ChatRows, stream: StreamId) -> String {
    let end = chat.end(stream).map_or("null".into(), |end| format!("\"{}\"", end.name()));
    let stats = chat.stats_json();
    // The statistics are one object; one more member goes before its closing brace.
    format!("{},\"end\":{end}}}\n", &stats[..stats.len() - 1])
}

fn read(file: &str) -> Result<Vec<u8>, String> {
    if file == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(|error| format!("cannot read the standard input: {error}"))?;
        return Ok(bytes);
    }
    std::fs::read(file).map_err(|error| format!("cannot read {file}: {error}"))
}

fn pieces(bytes: &[u8], cut: Cut) -> Vec<&[u8]> {
    match cut {
        Cut::Whole => vec![bytes],
        Cut::Every(size) => bytes.chunks(size).collect(),
        Cut::Seed(seed) => {
            let (mut rest, mut state, mut pieces) = (bytes, seed.wrapping_add(0x9E37_79B9_7F4A_7C15), Vec::new());
            while !rest.is_empty() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Mostly small pieces, now and then a large one.
                let size = 1 + (state >> 33) as usize % if state >> 61 == 0 { 4096 } else { 48 };
                let (piece, after) = rest.split_at(size.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces
        }
    }
}

#[cfg(test)]
mod tests {
    use super::replay;

    /// What a provider said, one chunk a line, with its calls as tags cut in the middle of their names.
    const RECORDING: &str = r#"{"type":"text","text":"I look.\n\n<read_"}
{"type":"text","text":"file>\n<path>notes/we"}
{"type":"text","text":"ek.md</path>\n</read_file>\n<attempt_completion>\n<result>Done.</result>\n</attempt_compl"}
{"type":"text","text":"etion>"}
"#;

    fn rows(options: &[&str]) -> Vec<String> {
        let file = std::env::temp_dir().join(format!("chatrows-replay-{}-{}.jsonl", std::process::id(), options.len()));
        std::fs::write(&file, RECORDING).unwrap();
        let file_name = [file.to_str().unwrap()];
        let args = ["--format", "api-stream"].iter().chain(options).chain(&file_name);
        let shown = replay(args.map(|arg| (*arg).to_owned()).collect());
        std::fs::remove_file(&file).unwrap();
        shown.unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_recording_with_tags_becomes_its_calls() {
        let whole = rows(&["--tagged"]);
        assert_eq!(whole.len(), 3, "{whole:?}");
        assert!(whole[0].contains(r#""text":"I look.""#), "{whole:?}");
        assert!(whole[1].contains(r#"{"path":["path"],"text":"notes/week.md","closed":true}"#), "{whole:?}");
        assert!(whole[2].contains(r#""text":"Done.""#) && whole[2].contains("say.completion"), "{whole:?}");
        assert_eq!(rows(&["--tagged", "--cut", "1"]), whole);
        assert_eq!(rows(&["--tagged", "--cut-seed", "7", "--rows"]), whole);
        // Without the option the tags are text.
        assert_eq!(rows(&[]).len(), 1);
    }
}
