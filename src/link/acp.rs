//! What an editor sends to an agent that speaks the Agent Client Protocol: each as the text of one line, without its
//! line end. Push it to the stream as well: the rows then know what was asked and chosen.

use crate::json::{JsonStr, JsonWriter, Tape, Value};

/// A part of a prompt.
///
/// ```
/// use chatrows::{PromptPart, acp_cancel, acp_prompt};
/// let prompt = acp_prompt(3, "s1", &[PromptPart::Text("Fix it"), PromptPart::Link { uri: "file:///a.rs", name: "a.rs" }]);
/// let expected = r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"Fix it"},{"type":"resource_link","uri":"file:///a.rs","name":"a.rs"}]}}"#;
/// assert_eq!(prompt, expected);
/// assert_eq!(acp_cancel("s1"), r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}"#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptPart<'a> {
    /// Words.
    Text(&'a str),
    /// A file or page that the agent reads itself.
    Link {
        /// Where it is.
        uri: &'a str,
        /// What it is called.
        name: &'a str,
    },
    /// A picture.
    Image {
        /// Its bytes in base64.
        data: &'a str,
        /// Its MIME type.
        mime: &'a str,
    },
}

/// The request `session/prompt`; `id` is the editor's number for it.
pub fn acp_prompt(id: u64, session: &str, parts: &[PromptPart<'_>]) -> String {
    message(|json| {
        json.key("id").number(id);
        json.key("method").string("session/prompt");
        json.key("params").object(|json| {
            json.key("sessionId").string(session);
            json.key("prompt").array(|json| {
                for part in parts {
                    let members: [(&str, &str); 3] = match *part {
                        PromptPart::Text(text) => [("type", "text"), ("text", text), ("", "")],
                        PromptPart::Link { uri, name } => [("type", "resource_link"), ("uri", uri), ("name", name)],
                        PromptPart::Image { data, mime } => [("type", "image"), ("data", data), ("mimeType", mime)],
                    };
                    json.object(|json| {
                        for (name, value) in members.into_iter().filter(|(name, _)| !name.is_empty()) {
                            json.key(name).string(value);
                        }
                    });
                }
            });
        });
    })
}

/// The notification `session/cancel`. Requests for leave that wait are to be answered too, each by
/// [`AcpAnswer::Cancel`].
pub fn acp_cancel(session: &str) -> String {
    message(|json| {
        json.key("method").string("session/cancel");
        json.key("params").object(|json| json.key("sessionId").string(session));
    })
}

/// What the user answers to what an agent asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcpAnswer<'a> {
    /// The option of a request for leave, by its id.
    Option(&'a str),
    /// The values of a form, as the text of a JSON object: by the text of each question, or by its name. A form of one value
    /// takes that value alone too.
    Values(&'a str),
    /// The user does not want to.
    Decline,
    /// Nobody is going to answer: the turn was cancelled.
    Cancel,
}

/// The answer to the request behind a row. `permission` and `question` are the row's, as JSON text. None where the row
/// asks for nothing of the kind, or by no request.
pub(crate) fn acp_reply(permission: Option<&str>, question: Option<&str>, answer: AcpAnswer<'_>) -> Option<String> {
    let mut tape = Tape::default();
    let record = tape.read(permission.or(question)?).ok()?;
    let asked = record.root();
    let request = asked.get("request");
    if !request.exists() {
        return None;
    }
    let result = |write: &dyn Fn(&mut JsonWriter)| {
        message(|json| {
            json.key("id").raw(request.raw());
            json.key("result").object(|json| write(json));
        })
    };
    if permission.is_some() {
        let known = |id: &str| {
            asked.get("options").items().any(|option| option.get("id").str().is_some_and(|known| known == *id))
        };
        return match answer {
            AcpAnswer::Option(id) if known(id) => Some(result(&|json| {
                json.key("outcome").object(|json| {
                    json.key("outcome").string("selected");
                    json.key("optionId").string(id);
                });
            })),
            AcpAnswer::Cancel => {
                Some(result(&|json| json.key("outcome").object(|json| json.key("outcome").string("cancelled"))))
            }
            _ => None,
        };
    }
    let action = match answer {
        AcpAnswer::Values(_) | AcpAnswer::Option(_) => "accept",
        AcpAnswer::Decline => "decline",
        AcpAnswer::Cancel => "cancel",
    };
    let AcpAnswer::Values(values) = answer else { return Some(result(&|json| json.key("action").string(action))) };
    let mut tape = Tape::default();
    let record = tape.read(values).ok()?;
    let values = record.root();
    let parts = asked.get("parts");
    Some(result(&|json| {
        json.key("action").string(action);
        json.key("content").object(|json| match parts.is_array() {
            true => parts.items().for_each(|part| write_value(part, values, false, json)),
            false => write_value(asked, values, true, json),
        });
    }))
}

/// The value of one question, in the type that its form wants.
fn write_value(part: Value<'_>, values: Value<'_>, only: bool, json: &mut JsonWriter) {
    let Some(name) = part.get("name").str().map(JsonStr::text) else { return };
    let said = part.get("text").str().map(|text| values.get(&text.text())).filter(|value| value.exists());
    let value = said.unwrap_or_else(|| values.get(&name));
    let value = if !value.exists() && only && !values.is_object() { values } else { value };
    if !value.exists() {
        return;
    }
    let kind = part.get("type").str().map(JsonStr::text).unwrap_or_default();
    let words = value.str().map(JsonStr::text);
    let plain = words.as_deref().map(str::trim).filter(|words| match &*kind {
        "boolean" => matches!(*words, "true" | "false"),
        "number" | "integer" => Tape::default().read(words).is_ok_and(|number| number.root().number().is_some()),
        _ => false,
    });
    json.key(&name).raw(plain.unwrap_or(value.raw()));
}

fn message(write: impl FnOnce(&mut JsonWriter)) -> String {
    let mut json = JsonWriter::default();
    json.object(|json| {
        json.key("jsonrpc").string("2.0");
        write(json);
    });
    json.into_string()
}
