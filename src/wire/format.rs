//! The table of the wire formats: each is a feature of the crate, by the format's name.

use crate::json::Value;

macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident = $name:literal in $module:ident, runs elsewhere: $elsewhere:literal;)*) => {
        /// The wire formats.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Format {
            $($(#[$doc])* #[cfg(feature = $name)] $format,)*
            /// Whichever of the others fits: records are held until one fits exactly one format, at most 16 of them or
            /// 64 KiB.
            Auto,
        }

        impl Format {
            /// All formats.
            pub const ALL: &[Format] = &[$(#[cfg(feature = $name)] Format::$format,)* Format::Auto];

            /// The format's name in options.
            pub fn name(self) -> &'static str {
                match self {
                    $(#[cfg(feature = $name)] Format::$format => $name,)*
                    Format::Auto => "auto",
                }
            }

            /// Whether its calls are run by the other side, and never from here.
            pub fn runs_elsewhere(self) -> bool {
                match self {
                    $(#[cfg(feature = $name)] Format::$format => $elsewhere,)*
                    Format::Auto => false,
                }
            }

            /// Whether a record can only be of this format, as far as this format can tell.
            pub(super) fn fits(self, record: Value<'_>) -> bool {
                match self {
                    $(#[cfg(feature = $name)] Format::$format => super::$module::fits(record),)*
                    Format::Auto => false,
                }
            }
        }
    };
}

formats! {
    /// OpenAI chat completion chunks, in every dialect.
    OpenAiChat = "openai-chat" in openai_chat, runs elsewhere: false;
    /// Say/ask messages, as coding-agent extensions post them to their webviews.
    Say = "say" in say, runs elsewhere: true;
    /// The extension-side chunks of a coding agent, and its block arrays.
    ApiStream = "api-stream" in api_stream, runs elsewhere: false;
    /// The Agent Client Protocol: JSON-RPC records between an editor and an agent.
    Acp = "acp" in acp, runs elsewhere: true;
    /// Task stream messages: an agent's task over a WebSocket.
    TaskStream = "task-stream" in task_stream, runs elsewhere: true;
    /// Agent events, in three generations, and the entries of an agent's session files.
    AgentEvents = "agent-events" in agent_events, runs elsewhere: true;
}

impl Format {
    /// Whether what went before all that a stream has shown can be loaded, after its end too.
    pub(crate) fn has_history(self) -> bool {
        match self {
            #[cfg(feature = "task-stream")]
            Format::TaskStream => true,
            _ => false,
        }
    }

    /// The format of this name.
    ///
    /// ```
    /// use chatrows::Format;
    /// assert_eq!(Format::named("openai-chat"), Ok(Format::OpenAiChat));
    /// let error = "unknown format x; the formats are: openai-chat, say, api-stream, acp, task-stream, agent-events, auto";
    /// assert_eq!(Format::named("x").unwrap_err(), error);
    /// ```
    ///
    /// # Errors
    /// A sentence that lists the names there are.
    pub fn named(name: &str) -> Result<Format, String> {
        Format::ALL.iter().copied().find(|format| format.name() == name).ok_or_else(|| {
            let wrong = if name.is_empty() { "name a format" } else { "unknown format " };
            let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
            crate::text::list([wrong, name, "; the formats are:"].concat(), &names)
        })
    }
}
