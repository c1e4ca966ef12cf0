//! The names of tagged text: which tools a message may call by a tag, and which parameters stand inside. Names are
//! matched exactly, letter by letter and with case; a tag is a name between `<` and `>` and nothing else. What has to
//! be looked up narrows a sorted list with each letter, so it costs the same however many names there are.

use std::sync::Arc;

/// Tools that are known without being told (tagged-text.md 2.1).
const TOOLS: &str = "access_mcp_resource act_mode_respond apply_patch ask_followup_question attempt_completion \
    browser_action condense execute_command focus_chain generate_explanation list_code_definition_names list_files \
    load_mcp_documentation new_rule new_task plan_mode_respond read_file replace_in_file report_bug search_files \
    summarize_task use_mcp_tool use_skill use_subagents web_fetch web_search write_to_file";

/// Parameters that are known without being told; any of them may stand in any tool.
const PARAMS: &str = "absolutePath action additional_context allowed_domains api_request_output arguments \
    blocked_domains command content context coordinate diff end_line file_pattern from_ref input needs_more_exploration \
    options path prompt prompt_1 prompt_2 prompt_3 prompt_4 prompt_5 query question recursive regex requires_approval \
    response result server_name skill_name start_line steps_to_reproduce task_progress text timeout title to_ref \
    tool_name uri url what_happened";

/// Which tags of a message are calls and parameters.
///
/// ```
/// use chatrows::Grammar;
/// let grammar = Grammar::default().with_tool("use_subagent_docs").with_param("depth");
/// assert!(grammar.is_tool("read_file") && grammar.is_tool("use_subagent_docs"));
/// assert!(grammar.is_param("path") && grammar.is_param("depth"));
/// assert!(!grammar.is_tool("READ_FILE") && !grammar.is_tool("path") && !grammar.is_param("read_file"));
/// ```
#[derive(Debug, Clone)]
pub struct Grammar(Arc<Rules>);

#[derive(Debug, Clone, Default)]
struct Rules {
    tools: Names,
    params: Names,
    last_close: Vec<(Box<str>, Box<str>)>,
    tools_in_code: bool,
}

impl Default for Grammar {
    /// The tools and parameters that are built in; the content of `write_to_file` ends at its last closing tag; no tool
    /// in code.
    fn default() -> Self {
        let add = |grammar: Grammar, name: &str| grammar.with_tool(name);
        let tools = TOOLS.split_ascii_whitespace().fold(Grammar::empty(), add);
        let add = |grammar: Grammar, name: &str| grammar.with_param(name);
        PARAMS.split_ascii_whitespace().fold(tools, add).with_last_close("write_to_file", "content")
    }
}

impl Grammar {
    /// No tool and no parameter.
    pub fn empty() -> Self {
        Grammar(Arc::default())
    }

    /// One tool more. A name is made of printable ASCII without space, `<`, `>`, `/`, `\` and backtick; any other can
    /// stand in no tag and changes nothing.
    pub fn with_tool(mut self, name: &str) -> Self {
        self.rules().tools.add(name);
        self
    }

    /// One parameter more. Its name is made as a tool's.
    pub fn with_param(mut self, name: &str) -> Self {
        self.rules().params.add(name);
        self
    }

    /// The value of this parameter in this tool may hold its own closing tag: it ends at the last one before the tool
    /// closes.
    pub fn with_last_close(mut self, tool: &str, param: &str) -> Self {
        self.rules().last_close.push((tool.into(), param.into()));
        self
    }

    /// Whether a tool's tag counts inside a code span and between code fences.
    pub fn tools_in_code(mut self, count: bool) -> Self {
        self.rules().tools_in_code = count;
        self
    }

    /// Whether `<name>` is a call.
    pub fn is_tool(&self, name: &str) -> bool {
        self.tools().place(name).is_ok()
    }

    /// Whether `<name>` is a parameter, inside a call.
    pub fn is_param(&self, name: &str) -> bool {
        self.params().place(name).is_ok()
    }

    pub(crate) fn tools(&self) -> &Names {
        &self.0.tools
    }

    pub(crate) fn params(&self) -> &Names {
        &self.0.params
    }

    pub(crate) fn is_last_close(&self, tool: &str, param: &str) -> bool {
        self.0.last_close.iter().any(|(of, name)| **of == *tool && **name == *param)
    }

    pub(crate) fn has_tools_in_code(&self) -> bool {
        self.0.tools_in_code
    }

    fn rules(&mut self) -> &mut Rules {
        Arc::make_mut(&mut self.0)
    }
}

/// Names in their order; a name is known by its place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names(Vec<Box<str>>);

/// The names that begin with the letters seen so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Match {
    from: usize,
    to: usize,
    letters: usize,
}

impl Names {
    fn add(&mut self, name: &str) {
        let fits = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>' | b'/' | b'\\' | b'`');
        if name.is_empty() || !name.bytes().all(fits) {
            return;
        }
        if let Err(place) = self.place(name) {
            self.0.insert(place, name.into());
        }
    }

    pub fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|known| (**known).cmp(name))
    }

    /// Empty for a place where there is none.
    pub fn name(&self, place: usize) -> &str {
        self.0.get(place).map_or("", |name| name)
    }

    /// No letter seen: any name.
    pub fn any(&self) -> Match {
        Match { from: 0, to: self.0.len(), letters: 0 }
    }

    /// One letter more. False if no name goes on with it.
    pub fn narrow(&self, seen: &mut Match, letter: u8) -> bool {
        let names = self.0.get(seen.from..seen.to).unwrap_or_default();
        let letter_of = |name: &str| name.as_bytes().get(seen.letters).copied();
        let before = names.partition_point(|name| letter_of(name) < Some(letter));
        let until = names.partition_point(|name| letter_of(name) <= Some(letter));
        *seen = Match { from: seen.from + before, to: seen.from + until, letters: seen.letters + 1 };
        before < until
    }

    /// The name that is complete with the letters seen. The shortest stands first.
    pub fn complete(&self, seen: Match) -> Option<usize> {
        (seen.letters > 0 && self.name(seen.from).len() == seen.letters).then_some(seen.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], letters: &str, goes_on: bool, complete: bool) {
        let mut known = Names::default();
        names.iter().for_each(|name| known.add(name));
        let mut seen = known.any();
        let alive = letters.bytes().all(|letter| known.narrow(&mut seen, letter));
        assert_eq!(alive, goes_on);
        assert_eq!(alive && known.complete(seen).is_some_and(|place| known.name(place) == letters), complete);
    }

    #[test]
    fn letters_narrow_the_names_down() {
        let names = ["path", "prompt_1", "prompt", "prompt_2", "text"];
        check(&names, "", true, false);
        check(&names, "p", true, false);
        check(&names, "prompt", true, true);
        check(&names, "prompt_", true, false);
        check(&names, "prompt_2", true, true);
        check(&names, "prompt_3", false, false);
        check(&names, "prompt_22", false, false);
        check(&names, "Path", false, false);
        check(&["a", "b"], "ab", false, false);
        check(&[], "", true, false);
        check(&[], "a", false, false);
    }

    #[test]
    fn the_built_in_sets_are_those_of_the_sheet() {
        let grammar = Grammar::default();
        assert_eq!((grammar.tools().0.len(), grammar.params().0.len()), (27, 45));
        assert!(grammar.is_last_close("write_to_file", "content") && !grammar.is_last_close("new_rule", "content"));
    }

    #[test]
    fn what_can_stand_in_no_tag_is_no_name() {
        let grammar = Grammar::empty().with_tool("").with_tool("a b").with_tool("a>").with_tool("é").with_tool("/a");
        assert_eq!(grammar.tools().0.len(), 0);
    }

    #[test]
    fn a_name_told_twice_is_one() {
        let grammar = Grammar::empty().with_tool("b").with_tool("a").with_tool("b");
        assert_eq!(grammar.tools().0, ["a".into(), "b".into()]);
    }
}
