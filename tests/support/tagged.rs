//! Tagged text for the tests: a sink that keeps what it is told, and a parser that reads a whole message at once, written
//! from the grammar (tagged-text.md 2.1, with the improvements that `tests/tagged.rs` names) and from nothing else.

use std::fmt;

use chatrows::json::{FieldSpan, Step};
use chatrows::{Grammar, TaggedArgs, TaggedParser, TaggedSink};

pub const TOOLS: &[&str] = &[
    "ask_followup_question",
    "attempt_completion",
    "execute_command",
    "replace_in_file",
    "read_file",
    "write_to_file",
    "search_files",
    "list_files",
    "list_code_definition_names",
    "browser_action",
    "use_mcp_tool",
    "access_mcp_resource",
    "load_mcp_documentation",
    "new_task",
    "plan_mode_respond",
    "act_mode_respond",
    "focus_chain",
    "web_fetch",
    "web_search",
    "condense",
    "summarize_task",
    "report_bug",
    "new_rule",
    "apply_patch",
    "generate_explanation",
    "use_skill",
    "use_subagents",
];

pub const PARAMS: &[&str] = &[
    "command",
    "requires_approval",
    "path",
    "absolutePath",
    "content",
    "diff",
    "regex",
    "file_pattern",
    "recursive",
    "action",
    "url",
    "coordinate",
    "text",
    "query",
    "allowed_domains",
    "blocked_domains",
    "prompt",
    "server_name",
    "tool_name",
    "arguments",
    "uri",
    "question",
    "options",
    "response",
    "result",
    "context",
    "title",
    "what_happened",
    "steps_to_reproduce",
    "api_request_output",
    "additional_context",
    "needs_more_exploration",
    "task_progress",
    "timeout",
    "input",
    "from_ref",
    "to_ref",
    "skill_name",
    "prompt_1",
    "prompt_2",
    "prompt_3",
    "prompt_4",
    "prompt_5",
    "start_line",
    "end_line",
];

/// One block: text as `"hi"`, a call as `read_file{path: "a"}`; `~` marks what is not at its end.
#[derive(Clone, PartialEq, Eq)]
pub enum Block {
    Text { text: String, ended: bool },
    Call { name: String, body: String, params: Vec<Param>, closed: bool },
}

#[derive(Clone, PartialEq, Eq)]
pub struct Param {
    pub name: String,
    pub text: String,
    pub closed: bool,
}

fn open(closed: bool) -> &'static str {
    if closed { "" } else { "~" }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Block::Text { text, ended } => write!(f, "{}{text:?}", open(*ended)),
            Block::Call { name, params, closed, .. } => {
                write!(f, "{}{name}{{", open(*closed))?;
                for (place, Param { name, text, closed }) in params.iter().enumerate() {
                    let comma = if place == 0 { "" } else { ", " };
                    write!(f, "{comma}{name}: {}{text:?}", open(*closed))?;
                }
                write!(f, "}}")
            }
        }
    }
}

/// Blocks in one line.
pub fn line(blocks: &[Block]) -> String {
    blocks.iter().map(|block| format!("{block:?}")).collect::<Vec<_>>().join(" ")
}

/// A message as it is told.
pub struct Message {
    pub parser: TaggedParser,
    told: Told,
}

struct Told {
    grammar: Grammar,
    blocks: Vec<Block>,
    /// Of the last call.
    args: TaggedArgs,
    fields: Vec<FieldSpan>,
}

impl Message {
    pub fn new(grammar: &Grammar, max_bytes: usize) -> Self {
        let told = Told {
            grammar: grammar.clone(),
            blocks: Vec::new(),
            args: TaggedArgs::new(grammar, ""),
            fields: Vec::new(),
        };
        Message { parser: TaggedParser::new(grammar.clone(), max_bytes), told }
    }

    pub fn push(&mut self, text: &str) {
        let Message { parser, told } = self;
        parser.push(text, told);
    }

    pub fn finish(&mut self) {
        let Message { parser, told } = self;
        parser.finish(told);
    }

    /// What was told.
    pub fn told(&self) -> &[Block] {
        &self.told.blocks
    }

    /// What was told and what is held back.
    pub fn blocks(&self) -> Vec<Block> {
        let held = self.parser.held();
        let mut blocks = self.told.blocks.clone();
        match blocks.last_mut() {
            Some(Block::Text { text, ended: false }) => {
                text.push_str(held);
                text.truncate(trim(text).len());
            }
            Some(Block::Call { body, closed: false, .. }) => body.push_str(held),
            _ if trim(held).is_empty() => {}
            _ => blocks.push(Block::Text { text: trim(held).to_owned(), ended: false }),
        }
        blocks
    }
}

impl TaggedSink for Told {
    fn text(&mut self, more: &str) {
        assert!(!more.is_empty());
        match self.blocks.last_mut() {
            Some(Block::Text { text, ended: false }) => text.push_str(more),
            _ => self.blocks.push(Block::Text { text: more.to_owned(), ended: false }),
        }
    }

    fn text_end(&mut self) {
        let Some(Block::Text { ended: ended @ false, .. }) = self.blocks.last_mut() else { panic!("no text") };
        *ended = true;
    }

    fn tool_start(&mut self, name: &str) {
        assert!(!matches!(self.blocks.last(), Some(Block::Text { ended: false, .. })), "text goes on");
        self.args = TaggedArgs::new(&self.grammar, name);
        self.fields.clear();
        let (name, body) = (name.to_owned(), String::new());
        self.blocks.push(Block::Call { name, body, params: Vec::new(), closed: false });
    }

    fn tool_body(&mut self, text: &str) {
        assert!(!text.is_empty());
        self.read(false, |args, body, fields| {
            body.push_str(text);
            args.advance(body, fields);
        });
    }

    fn tool_end(&mut self, whole: bool) {
        self.read(true, |args, body, fields| args.finish(whole, body, fields));
        let Some(Block::Call { closed, .. }) = self.blocks.last_mut() else { panic!("no call") };
        *closed = whole;
    }
}

impl Told {
    fn read(&mut self, at_end: bool, read: impl FnOnce(&mut TaggedArgs, &mut String, &mut Vec<FieldSpan>)) {
        let Some(Block::Call { name: tool, body, params, closed: false }) = self.blocks.last_mut() else {
            panic!("no call")
        };
        read(&mut self.args, body, &mut self.fields);
        let shown: Vec<Param> = self.fields.iter().map(|field| param(body, field)).collect();
        if !self.args.take_rewritten() {
            let kept = params.len().saturating_sub(1);
            assert!(shown.len() >= params.len() && shown[..kept] == params[..kept], "{params:?} {shown:?}");
            if let Some(last) = params.last() {
                let now = &shown[kept];
                assert!(now.name == last.name && now.text.starts_with(&last.text), "{params:?} {shown:?}");
                assert!(!last.closed || now == last, "{params:?} {shown:?}");
            }
        } else {
            for was in params.iter() {
                let now = shown.iter().find(|now| now.name == was.name);
                let goes_on = now.is_some_and(|now| now.text.starts_with(&was.text));
                let cut_back = at_end && !was.closed && now.is_some_and(|now| was.text.starts_with(&now.text));
                let may_come_again = (tool.as_str(), was.name.as_str()) != ("write_to_file", "content");
                let again = may_come_again && body.matches(&format!("<{}>", was.name)).count() > 1;
                assert!(goes_on || cut_back || again, "{params:?} {shown:?}");
            }
        }
        *params = shown;
    }
}

impl fmt::Debug for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{:?}", self.name, open(self.closed), self.text)
    }
}

fn param(body: &str, field: &FieldSpan) -> Param {
    let [Step::Key { start, end }] = *field.path else { panic!("{:?}", field.path) };
    let name = body[start as usize..end as usize].to_owned();
    Param { name, text: field.text(body), closed: field.closed }
}

/// What JavaScript's trim leaves.
pub fn trim(text: &str) -> &str {
    let space = |c: char| c == '\u{feff}' || c.is_whitespace() && c != '\u{85}';
    text.trim_matches(space)
}

/// The blocks of a message that has come so far, or that has ended.
pub fn reference(message: &str, has_ended: bool) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut rest = message;
    loop {
        // A text block starts with its first character, and that is where its first line starts.
        let text = &rest[rest.find(trim(rest)).unwrap_or_default()..];
        let code = code(text);
        let tag = text.match_indices('<').filter(|(at, _)| !code[*at]).find_map(|(at, _)| {
            let tool = TOOLS.iter().find(|tool| text[at..].starts_with(&format!("<{tool}>")))?;
            Some((at, *tool))
        });
        let before = trim(&text[..tag.map_or(text.len(), |(at, _)| at)]);
        if !before.is_empty() {
            blocks.push(Block::Text { text: before.to_owned(), ended: tag.is_some() || has_ended });
        }
        let Some((at, tool)) = tag else { return blocks };
        let (call, after) = call(tool, &text[at + tool.len() + 2..], has_ended);
        blocks.push(call);
        let Some(after) = after else { return blocks };
        rest = after;
    }
}

/// A call whose opening tag was just read, and what follows it.
fn call<'a>(tool: &str, inside: &'a str, has_ended: bool) -> (Block, Option<&'a str>) {
    let mut params: Vec<Param> = Vec::new();
    // Between its opening tag and its last closing tag.
    let mut content: Option<(usize, usize)> = None;
    let mut later: Vec<Param> = Vec::new();
    // Behind that tag: the first that is neither space nor, so far, a tag.
    let mut text: Option<usize> = None;
    // Where what may become the call's closing tag starts: it is no body yet.
    let mut half = inside.len();
    let mut at = 0;
    let mut ended_at = None;
    while at < inside.len() {
        let rest = &inside[at..];
        let starts = |tag: String| rest.starts_with(&tag).then_some(tag.len());
        if starts(format!("</{tool}>")).is_some() {
            ended_at = Some(at);
            break;
        }
        if let Some((start, _)) = content
            && starts("</content>".into()).is_some()
        {
            content = Some((start, at));
            later.clear();
            text = None;
            at += "</content>".len();
            continue;
        }
        let Some(name) = PARAMS.iter().find(|name| starts(format!("<{name}>")).is_some()) else {
            if format!("</{tool}>").starts_with(rest) {
                half = at;
                break;
            }
            let c = &rest[..rest.chars().next().unwrap().len_utf8()];
            text = text.or((!trim(c).is_empty()).then_some(at));
            at += c.len();
            continue;
        };
        let start = at + name.len() + 2;
        let value = &inside[start..];
        let close = format!("</{name}>");
        let end = value.find(&close).map(|end| start + end);
        if let Some((opened, _)) = content {
            let content_end = value.find("</content>").map(|end| start + end);
            if let Some(content_end) = content_end.filter(|content_end| end.is_none_or(|end| *content_end <= end)) {
                content = Some((opened, content_end));
                later.clear();
                text = None;
                at = content_end + "</content>".len();
            } else {
                let text = trim(&inside[start..end.unwrap_or(inside.len())]).to_owned();
                set(&mut later, Param { name: (*name).into(), text, closed: end.is_some() });
                at = end.map_or(inside.len(), |end| end + close.len());
            }
            continue;
        }
        if *name == "content" && tool == "write_to_file" && end.is_some() {
            content = end.map(|end| (start, end));
            text = None;
        } else {
            let value = trim(&inside[start..end.unwrap_or(inside.len())]);
            let half = end.is_none() && !has_ended;
            let text = if half { trim(without_closing_tag(value, name)) } else { value };
            set(&mut params, Param { name: (*name).into(), text: text.into(), closed: end.is_some() });
        }
        at = end.map_or(inside.len(), |end| end + close.len());
    }
    if let Some((start, end)) = content {
        let closed = ended_at.is_some();
        let may_be_tag = |text: &str| {
            let closing = [format!("</{tool}>"), "</content>".into()];
            closing.iter().any(|tag| tag.starts_with(text))
                || PARAMS.iter().any(|name| format!("<{name}>").starts_with(text))
        };
        let goes_on = !closed && !has_ended && text.is_some_and(|at| !may_be_tag(&inside[at..half]));
        let text = match goes_on {
            true => trim(without_closing_tag(trim(&inside[start..half]), "content")),
            false => trim(&inside[start..end]),
        };
        set(&mut params, Param { name: "content".into(), text: text.into(), closed });
        if closed || has_ended {
            later.retain(|param| param.name != "content");
            later.into_iter().for_each(|param| set(&mut params, param));
        }
    }
    let body = inside[..ended_at.unwrap_or(inside.len())].to_owned();
    let call = Block::Call { name: tool.into(), body, params, closed: ended_at.is_some() };
    (call, ended_at.map(|at| &inside[at + tool.len() + 3..]))
}

/// What comes again takes the place of what was there.
fn set(params: &mut Vec<Param>, param: Param) {
    params.retain(|known| known.name != param.name);
    params.push(param);
}

/// A value without what may be half a closing tag at its end (tagged-text.md 1.4): one space or none, `<`, `/` or not,
/// and letters of the name in their order.
pub fn without_closing_tag<'a>(value: &'a str, name: &str) -> &'a str {
    let is_letters = |rest: &str| {
        let mut letters = name.chars();
        rest.chars().all(|c| letters.any(|letter| letter == c))
    };
    let is_half = |rest: &str| {
        let rest = rest.strip_prefix(|c: char| trim(&c.to_string()).is_empty()).unwrap_or(rest);
        rest.strip_prefix('<').is_some_and(|rest| is_letters(rest) || rest.strip_prefix('/').is_some_and(is_letters))
    };
    let half = value.char_indices().map(|(at, _)| at).find(|at| is_half(&value[*at..]));
    half.map_or(value, |at| &value[..at])
}

/// For each byte, whether it stands in code.
pub fn code(text: &str) -> Vec<bool> {
    let mut code = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    for line in text.split_inclusive('\n') {
        let unindented = line.trim_start_matches(' ');
        let marks = |mark: char| unindented.len() - unindented.trim_start_matches(mark).len();
        let indented = line.len() - unindented.len() > 3;
        if let Some((mark, count)) = fence {
            code.extend(line.bytes().map(|_| true));
            let rest = unindented.trim_start_matches(mark);
            let blank = rest.ends_with('\n') && rest.chars().all(|c| " \t\r\n".contains(c));
            if !indented && marks(mark) >= count && blank {
                fence = None;
            }
            continue;
        }
        let opens = ['`', '~'].into_iter().find(|mark| {
            let info = unindented.trim_start_matches(*mark);
            !indented && marks(*mark) >= 3 && !(*mark == '`' && info.contains('`'))
        });
        if let Some(mark) = opens {
            fence = Some((mark, marks(mark)));
            code.extend(line.bytes().map(|_| true));
        } else {
            code.extend(in_spans(line));
        }
    }
    code
}

fn in_spans(line: &str) -> Vec<bool> {
    // Runs of backticks, as start and end.
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some((_, end)) if *end == at => *end += 1,
            _ => runs.push((at, at + 1)),
        }
    }
    let mut code = vec![false; line.len()];
    let mut runs = &runs[..];
    while let [(start, end), rest @ ..] = runs {
        let close = rest.iter().position(|(from, to)| to - from == end - start);
        let until = close.map_or(line.len(), |close| rest[close].0);
        code[*end..until].fill(true);
        runs = close.map_or(&[], |close| &rest[close + 1..]);
    }
    code
}
