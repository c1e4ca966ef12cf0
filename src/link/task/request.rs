//! What a client sends: each request as the text of one WebSocket message.

use super::base64::encode;
use crate::json::{JsonWriter, Tape};

/// The files that may go with one input; the server takes no more.
pub const MAX_ATTACHMENTS: usize = 10;

/// How the `data` of a request is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DataForm {
    /// Base64 of JSON text, as the server reads it.
    #[default]
    Base64,
    /// The JSON text itself, as proxies made after the first description of the wire read it.
    Plain,
}

/// What the user says, with up to ten files.
///
/// ```
/// use chatrows::UserInput;
/// let input = UserInput::new("look at this").attach("https://files.example/a.png", "a.png").unwrap();
/// assert_eq!((input.text(), input.attachments()[0].filename.as_str()), ("look at this", "a.png"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserInput {
    text: String,
    attachments: Vec<Attachment>,
}

/// A file that was uploaded before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Where the server finds it.
    pub url: String,
    /// Its name.
    pub filename: String,
}

/// An input had ten files already ([`MAX_ATTACHMENTS`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyAttachments;

impl std::fmt::Display for TooManyAttachments {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("an input has at most 10 attachments")
    }
}

impl std::error::Error for TooManyAttachments {}

impl UserInput {
    /// Text alone.
    pub fn new(text: impl Into<String>) -> Self {
        UserInput { text: text.into(), attachments: Vec::new() }
    }

    /// One file more.
    ///
    /// # Errors
    /// Where it would be the eleventh.
    pub fn attach(mut self, url: impl Into<String>, filename: impl Into<String>) -> Result<Self, TooManyAttachments> {
        if self.attachments.len() >= MAX_ATTACHMENTS {
            return Err(TooManyAttachments);
        }
        self.attachments.push(Attachment { url: url.into(), filename: filename.into() });
        Ok(self)
    }

    /// What was said.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The files.
    pub fn attachments(&self) -> &[Attachment] {
        &self.attachments
    }
}

/// The answer to a question.
///
/// ```
/// use chatrows::Reply;
/// let reply = Reply::new("ask_1", r#"{"Which way?":"left","With what?":["a","b"]}"#).unwrap();
/// assert_eq!(reply.request_id(), "ask_1");
/// assert_eq!(Reply::new("ask_1", ""), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub(super) request_id: Box<str>,
    answers: Box<str>,
    cancelled: bool,
}

impl Reply {
    /// The answers to the question `request_id`: a JSON object, by the question's text the label that was chosen, or an
    /// array of labels. None if `answers` is the text of no JSON object: readers of this wire parse it strictly, and an
    /// empty text throws them.
    pub fn new(request_id: &str, answers: &str) -> Option<Reply> {
        let is_object = Tape::default().read(answers).is_ok_and(|record| record.root().is_object());
        is_object.then(|| Reply { request_id: request_id.into(), answers: answers.into(), cancelled: false })
    }

    /// Answers of our own making.
    pub(super) fn written(request_id: &str, answers: JsonWriter) -> Reply {
        Reply { request_id: request_id.into(), answers: answers.into_string().into(), cancelled: false }
    }

    /// The user answers with nothing.
    pub fn cancelled(request_id: &str) -> Reply {
        Reply { request_id: request_id.into(), answers: "{}".into(), cancelled: true }
    }

    /// Which question.
    pub fn request_id(&self) -> &str {
        &self.request_id
    }
}

/// What a client sends.
///
/// ```
/// use chatrows::{DataForm, Reply, TaskRequest, UserInput};
/// assert_eq!(TaskRequest::Ping.to_json(DataForm::Base64), r#"{"type":"ping"}"#);
/// let reply = Reply::cancelled("q");
/// let plain = TaskRequest::Reply(&reply).to_json(DataForm::Plain);
/// assert!(plain.starts_with(r#"{"type":"reply-question","data":"{\"request_id\":\"q\",\"answers_json\":\"{}\","#));
/// ```
#[derive(Debug, Clone, Copy)]
pub enum TaskRequest<'a> {
    /// `user-input`: starts a turn, or goes on with it.
    Input(&'a UserInput),
    /// `user-cancel`: gives up what runs.
    Cancel,
    /// `user-stop`: stops the task.
    Stop,
    /// `reply-question`.
    Reply(&'a Reply),
    /// `auto-approve`, and `disable-auto-approve`: whether tools run without asking.
    AutoApprove(bool),
    /// `ping`: the answer to one.
    Ping,
}

impl TaskRequest<'_> {
    /// The text of the message: `{"type": …}`, and `data` where there is any. In an input's data the text is base64
    /// once more, in either form.
    pub fn to_json(&self, form: DataForm) -> String {
        let (kind, data) = match *self {
            TaskRequest::Input(input) => ("user-input", Some(input_json(input))),
            TaskRequest::Cancel => ("user-cancel", None),
            TaskRequest::Stop => ("user-stop", None),
            TaskRequest::Reply(reply) => ("reply-question", Some(reply_json(reply))),
            TaskRequest::AutoApprove(true) => ("auto-approve", None),
            TaskRequest::AutoApprove(false) => ("disable-auto-approve", None),
            TaskRequest::Ping => ("ping", None),
        };
        let mut json = JsonWriter::default();
        json.object(|json| {
            json.key("type").string(kind);
            if let Some(data) = data {
                let coded = form == DataForm::Base64;
                json.key("data").string(&if coded { encode(data.as_bytes()) } else { data });
            }
        });
        json.into_string()
    }
}

fn input_json(input: &UserInput) -> String {
    let mut json = JsonWriter::default();
    json.object(|json| {
        json.key("content").string(&encode(input.text.as_bytes()));
        json.key("attachments").array(|json| {
            for file in &input.attachments {
                json.object(|json| {
                    json.key("url").string(&file.url);
                    json.key("filename").string(&file.filename);
                });
            }
        });
    });
    json.into_string()
}

fn reply_json(reply: &Reply) -> String {
    let mut json = JsonWriter::default();
    json.object(|json| {
        json.key("request_id").string(&reply.request_id);
        json.key("answers_json").string(&reply.answers);
        json.key("cancelled").bool(reply.cancelled);
    });
    json.into_string()
}
