//! The kinds of say/ask messages of both families of extensions, and what each becomes. One table: the names, the
//! numbers that stand for them on the gRPC envelope (facts sheet on say messages), and the shape of the row.

/// A kind of message.
#[derive(Debug)]
pub(super) struct Kind {
    /// The wire's name.
    pub name: &'static str,
    /// An `ask`; else a `say`.
    pub ask: bool,
    /// The number on the gRPC envelope; none: -1.
    number: i8,
    /// What becomes of it.
    pub shape: Shape,
}

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nothing, by the rule of the wire.
    Hidden,
    /// What the user said.
    User,
    /// Text of the answer.
    Text,
    /// Text that says the task is complete.
    Completion,
    /// Reasoning.
    Reasoning,
    /// An error.
    Error,
    /// Interface text, with the message's own text below it.
    Notice(&'static str),
    /// A tool: the body is JSON that names it.
    Tool,
    /// A call of a server's tool: the body is JSON.
    Mcp,
    /// The server of the call before it was asked.
    McpStarted,
    /// What that server answered.
    McpResponse,
    /// A command for the terminal.
    Command,
    /// What the command before it wrote.
    Output,
    /// A request to the model began; the body is JSON.
    Started,
    /// It ended; the body is JSON.
    Finished,
    /// A question to the user; the body is JSON.
    Question,
    /// A request is tried again; the body is JSON.
    Retry,
    /// The same as text, shown while nothing follows.
    Waiting(&'static str),
    /// A call that is announced; the body is JSON.
    Preparing,
    /// Where the conversation was compacted; while it is partial and when it is done.
    Compaction(&'static str, &'static str),
    /// An image.
    Image,
    /// A hook's state; the body is JSON.
    Hook,
    /// What the hook before it wrote.
    HookOutput,
    /// The plan as a list with boxes.
    Plan,
    /// What a tool gave back, as text.
    Result,
    /// What a browser shows; the body is JSON.
    Browser,
    /// The extension waits until the user allows it.
    Asked(&'static str),
    /// The request failed; the user may try it again.
    Failed,
}

impl Shape {
    /// Whether a part of another message's row: of which shape that is.
    pub fn head(self) -> Option<Shape> {
        match self {
            Shape::Output => Some(Shape::Command),
            Shape::HookOutput => Some(Shape::Hook),
            Shape::McpResponse | Shape::McpStarted => Some(Shape::Mcp),
            Shape::Finished => Some(Shape::Started),
            _ => None,
        }
    }

    /// Whether the newest word counts although it is shorter: a countdown, a state.
    pub fn is_latest(self) -> bool {
        matches!(
            self,
            Shape::Retry | Shape::Waiting(_) | Shape::Hook | Shape::Plan | Shape::Compaction(..) | Shape::Preparing
        )
    }

    /// Whether a call has begun, or will not any more: none is announced beyond it.
    fn ends_preparing(self) -> bool {
        let call = matches!(self, Shape::Command | Shape::Tool | Shape::Mcp | Shape::Browser | Shape::Question);
        let end = matches!(self, Shape::Completion | Shape::Error | Shape::Failed | Shape::Started | Shape::Retry);
        call || end || matches!(self, Shape::Asked(_))
    }

    /// Of which lists messages of this shape are.
    pub fn lists(self) -> impl Iterator<Item = List> {
        let lists = [
            (List::Commands, self == Shape::Command),
            (List::Hooks, self == Shape::Hook),
            (List::Mcps, self == Shape::Mcp),
            (List::Started, self == Shape::Started),
            (List::Retries, self == Shape::Retry),
            (List::Plans, self == Shape::Plan),
            (List::Ends, self.ends_preparing()),
            (List::Standing, !self.is_aside()),
        ];
        lists.into_iter().filter(|(_, is)| *is).map(|(list, _)| list)
    }

    /// The list of the messages that collect others, if this is one of them.
    pub fn heads(self) -> Option<List> {
        self.lists().next().filter(|list| *list <= List::Started)
    }

    /// Whether it never stands for itself as the last word of the conversation.
    pub fn is_aside(self) -> bool {
        matches!(self, Shape::Hidden | Shape::Plan) || self.head().is_some()
    }
}

/// Lists of messages, in their order.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(super) enum List {
    /// Those that collect others, by what they collect …
    Commands,
    Hooks,
    Mcps,
    Started,
    /// … requests that are tried again …
    Retries,
    /// … plans …
    Plans,
    /// … those beyond which no call is announced any more …
    Ends,
    /// … and all that stand for themselves.
    Standing,
}

/// How many there are.
pub(super) const LISTS: usize = List::Standing as usize + 1;

const fn say(number: i8, name: &'static str, shape: Shape) -> Kind {
    Kind { name, ask: false, number, shape }
}

const fn ask(number: i8, name: &'static str, shape: Shape) -> Kind {
    Kind { name, ask: true, number, shape }
}

/// All kinds, in the order in which messages of one millisecond stand: that of the keys of their rows.
pub(super) static KINDS: [Kind; 79] = [
    ask(16, "act_mode_respond", Shape::Text),
    ask(6, "api_req_failed", Shape::Failed),
    ask(-1, "auto_approval_max_req_reached", Shape::Asked("say.autoLimit")),
    ask(10, "browser_action_launch", Shape::Asked("say.browserLaunch")),
    ask(-1, "budget_limit", Shape::Asked("say.budget")),
    ask(2, "command", Shape::Command),
    ask(3, "command_output", Shape::Output),
    ask(4, "completion_result", Shape::Completion),
    ask(13, "condense", Shape::Asked("say.condense")),
    ask(0, "followup", Shape::Question),
    ask(9, "mistake_limit_reached", Shape::Asked("say.mistakes")),
    ask(12, "new_task", Shape::Asked("say.newTask")),
    ask(1, "plan_mode_respond", Shape::Question),
    ask(14, "report_bug", Shape::Asked("say.report")),
    ask(8, "resume_completed_task", Shape::Hidden),
    ask(7, "resume_task", Shape::Hidden),
    ask(15, "summarize_task", Shape::Asked("say.condense")),
    ask(5, "tool", Shape::Tool),
    ask(11, "use_mcp_server", Shape::Mcp),
    ask(17, "use_subagents", Shape::Tool),
    say(-1, "api_req_deleted", Shape::Hidden),
    say(3, "api_req_finished", Shape::Finished),
    say(-1, "api_req_rate_limit_wait", Shape::Waiting("say.rateLimit")),
    say(-1, "api_req_retried", Shape::Hidden),
    say(-1, "api_req_retry_delayed", Shape::Waiting("say.retrying")),
    say(2, "api_req_started", Shape::Started),
    say(15, "browser_action", Shape::Browser),
    say(14, "browser_action_launch", Shape::Notice("say.browserLaunch")),
    say(16, "browser_action_result", Shape::Browser),
    say(24, "checkpoint_created", Shape::Notice("say.checkpoint")),
    say(-1, "checkpoint_saved", Shape::Notice("say.checkpoint")),
    say(23, "clineignore_error", Shape::Error),
    say(10, "command", Shape::Command),
    say(11, "command_output", Shape::Output),
    say(32, "command_permission_denied", Shape::Notice("say.denied")),
    say(37, "compaction", Shape::Compaction("say.condensing", "say.condense")),
    say(6, "completion_result", Shape::Completion),
    say(-1, "condense_context", Shape::Compaction("say.condensing", "say.condense")),
    say(-1, "condense_context_error", Shape::Error),
    say(33, "conditional_rules_applied", Shape::Notice("say.rules")),
    say(22, "deleted_api_reqs", Shape::Hidden),
    say(21, "diff_error", Shape::Error),
    say(1, "error", Shape::Error),
    say(-1, "error_retry", Shape::Retry),
    say(-1, "generate_explanation", Shape::Notice("say.info")),
    say(-1, "git_search_result", Shape::Notice("say.search")),
    say(31, "hook_output_stream", Shape::HookOutput),
    say(30, "hook_status", Shape::Hook),
    say(-1, "image", Shape::Image),
    say(26, "info", Shape::Notice("say.info")),
    say(25, "load_mcp_documentation", Shape::Notice("say.docs")),
    say(19, "mcp_notification", Shape::Notice("say.mcpNotification")),
    say(17, "mcp_server_request_started", Shape::McpStarted),
    say(18, "mcp_server_response", Shape::McpResponse),
    say(-1, "peer_message", Shape::Notice("say.peer")),
    say(38, "plan_completion_result", Shape::Completion),
    say(-1, "rag_search_result", Shape::Notice("say.search")),
    say(5, "reasoning", Shape::Reasoning),
    say(-1, "rooignore_error", Shape::Error),
    say(13, "shell_integration_warning", Shape::Notice("say.shellIntegration")),
    say(-1, "shell_integration_warning_with_suggestion", Shape::Notice("say.shellIntegration")),
    say(-1, "shoferignore_error", Shape::Error),
    say(-1, "sliding_window_truncation", Shape::Compaction("say.condensing", "say.slidingWindow")),
    say(34, "subagent", Shape::Tool),
    say(36, "subagent_usage", Shape::Hidden),
    say(-1, "subtask_result", Shape::Notice("say.subtask")),
    say(0, "task", Shape::User),
    say(-1, "task_interaction", Shape::Hidden),
    say(27, "task_progress", Shape::Plan),
    say(4, "text", Shape::Text),
    say(-1, "too_many_tools_warning", Shape::Notice("say.tooManyTools")),
    say(12, "tool", Shape::Tool),
    say(-1, "tool_preparing", Shape::Preparing),
    say(-1, "tool_result", Shape::Result),
    say(20, "use_mcp_server", Shape::Mcp),
    say(35, "use_subagents", Shape::Tool),
    say(-1, "user_edit_todos", Shape::Notice("say.todos")),
    say(7, "user_feedback", Shape::User),
    say(8, "user_feedback_diff", Shape::User),
];

/// The kind of this name, whatever its case: some hosts write the names of the numbers.
pub(super) fn named(ask: bool, name: &str) -> Option<u8> {
    find(|kind| kind.ask == ask && kind.name.eq_ignore_ascii_case(name))
}

/// The kind of this number.
pub(super) fn numbered(ask: bool, number: u64) -> Option<u8> {
    find(|kind| kind.ask == ask && u64::try_from(kind.number) == Ok(number))
}

fn find(is: impl Fn(&Kind) -> bool) -> Option<u8> {
    KINDS.iter().position(is).map(|place| place as u8)
}

#[cfg(test)]
mod tests {
    use super::KINDS;

    #[test]
    fn kinds_stand_in_the_order_of_their_keys() {
        let key = |ask: bool, name: &str| [if ask { "ask:" } else { "say:" }, name].concat();
        assert!(KINDS.is_sorted_by_key(|kind| key(kind.ask, kind.name)));
    }
}
