//! What the other side asks: leave for a call, values for a form, answers to questions. Each has a row that waits, and
//! says by which request it was asked, so that an answer can be sent.

use std::borrow::Cow;

use super::calls::{Call, News, call_id};
use super::{Acp, Known, text};
use crate::chunk::{Chunk, ChunkSink, Effect};
use crate::json::{JsonStr, JsonWriter, Raw, Tape, Value};
use crate::row::{Fact, RowKind, RowState, list_of_one, said, write_option};
use crate::sorted::{Keyed, Sorted};

/// Requests whose answer is waited for; of more, the oldest are forgotten.
const MOST_REQUESTS: usize = 256;

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct Request {
    /// Its id as it stands in JSON.
    id: Box<str>,
    pub asked: Asked,
    /// In which pass it was told of last.
    pub pass: u32,
}

/// What a request asks for, and so which side answers it.
#[derive(Debug)]
pub(super) enum Asked {
    /// A turn, of the agent.
    Prompt,
    /// To open a session, of the agent.
    Session,
    /// Anything else of the agent.
    Editor,
    /// Anything of the editor.
    Agent,
    /// The user's leave for the call of this key.
    Leave(Box<str>),
    /// The user's answers to the form of this key.
    Values(Box<str>),
    /// The user's leave, of a task and for nothing but what the row of this key says.
    Task(Box<str>),
}

/// A form that nobody has filled in.
#[derive(Debug)]
pub(super) struct Form {
    key: Box<str>,
    session: Box<str>,
    words: Box<str>,
    question: Raw,
    sources: Option<Raw>,
}

impl Keyed for Form {
    fn key(&self) -> &str {
        &self.key
    }
}

/// An answer that came before its question.
#[derive(Debug)]
pub(super) struct Early {
    key: String,
    answers: String,
    cancelled: bool,
}

/// Answers without a question that are kept.
const EARLY: usize = 100;

impl Early {
    /// Whether it answers what the call of this key asks.
    pub fn is_for(&self, key: &str) -> bool {
        self.key == key
    }

    pub fn apply(&self, call: &mut Call, news: &mut News) {
        let mut tape = Tape::default();
        if let Ok(answers) = tape.read(&self.answers) {
            news.work += call.question(news).answer(answers.root());
        }
        call.end_question(if self.cancelled { RowState::Cancelled } else { RowState::Done }, news);
    }
}

/// Values by their names: many are looked up, and a plain look-up goes through all of them.
struct Named<'a> {
    name: Cow<'a, str>,
    value: Value<'a>,
}

impl Keyed for Named<'_> {
    fn key(&self) -> &str {
        &self.name
    }
}

/// The members of an object by their names: of several of one name, the last.
fn by_name(object: Value<'_>) -> Sorted<Named<'_>> {
    let mut named = Sorted::default();
    for (name, value) in object.members() {
        let name = name.text();
        named.get_or_insert(&name, || Named { name: name.clone(), value }).value = value;
    }
    named
}

impl Keyed for Part {
    fn key(&self) -> &str {
        &self.text
    }
}

/// What is asked in one row.
#[derive(Debug, Default)]
pub(super) struct Question {
    request: Box<str>,
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    text: String,
    /// The members of the part, all but the answer.
    members: String,
    /// A string or an array of strings, as JSON.
    answer: Option<Raw>,
}

impl Question {
    /// The words of its row.
    pub fn words(&self) -> &str {
        match &*self.parts {
            [only] => &only.text,
            _ => "",
        }
    }

    /// The row's `question`.
    pub fn write(&self) -> Raw {
        let write_part = |part: &Part, json: &mut JsonWriter| {
            json.raw(&part.members);
            if let Some(answer) = &part.answer {
                json.key("answer").raw(answer.as_str());
            }
        };
        Raw::written(|json| {
            json.object(|json| {
                json.key("request").string(&self.request);
                match &*self.parts {
                    [only] => write_part(only, json),
                    parts => json.key("parts").array(|json| {
                        for part in parts {
                            json.object(|json| {
                                json.key("text").string(&part.text);
                                write_part(part, json);
                            });
                        }
                    }),
                }
            });
        })
    }

    /// Takes over what is asked now; answers that are known stay with their questions. Answers with the names that were
    /// compared.
    fn ask(&mut self, request: &str, questions: Value<'_>, multiple: Option<bool>) -> u64 {
        self.request = request.into();
        let mut known = Sorted::default();
        for part in std::mem::take(&mut self.parts) {
            let text = part.text.clone();
            known.get_or_insert(&text, || part);
        }
        for question in questions.items() {
            let words = question.str().map(JsonStr::text).or_else(|| said(question, &["question", "text", "title"]));
            let Some(words) = words else { continue };
            let flag = |name: &str| question.get(name).bool();
            let multiple = flag("multiple").or(flag("multiSelect")).or(multiple).unwrap_or(false);
            let members = Raw::written(|json| {
                json.object(|json| {
                    if let Some(header) = said(question, &["header"]) {
                        json.key("header").string(&header);
                    }
                    if question.get("options").items().next().is_some() {
                        json.key("options")
                            .array(|json| question.get("options").items().for_each(|one| write_option(one, json)));
                    }
                    if multiple {
                        json.key("multiple").bool(true);
                    }
                    json.key("custom").bool(flag("custom").unwrap_or(true));
                });
            });
            let members = members.inner().to_owned();
            let answer = known.get(&words).and_then(|part: &Part| part.answer.clone());
            self.parts.push(Part { text: words.into_owned(), members, answer });
        }
        known.work()
    }

    /// The same of one question, as it stands.
    fn ask_one(&mut self, request: &str, question: Value<'_>, multiple: Option<bool>) -> u64 {
        let one = Raw::written(|json| json.array(|json| json.raw(question.raw())));
        let mut tape = Tape::default();
        tape.read(one.as_str()).map_or(0, |one| self.ask(request, one.root(), multiple))
    }

    /// Takes over answers: an object from questions to labels. Answers with the names that were compared.
    fn answer(&mut self, answers: Value<'_>) -> u64 {
        let answers = by_name(answers);
        for part in &mut self.parts {
            let answer = answers.get(&part.text).map_or(Value::ABSENT, |answer| answer.value);
            if answer.str().is_some() || answer.is_array() {
                part.answer = Some(Raw::of(answer));
            }
        }
        answers.work()
    }

    fn is_answered(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|part| part.answer.is_some())
    }
}

impl Call {
    /// Looks whether the call is one that asks the user.
    pub fn note_question(&mut self, update: Value<'_>, news: &mut News) {
        let (input, meta) = (update.get("rawInput"), update.get("_meta").get("askUserQuestion"));
        let questions = [input.get("questions"), meta.get("questions"), meta];
        let questions = questions.into_iter().find(|questions| questions.is_array());
        let answers = [input.get("answers"), update.get("rawOutput").get("answers"), meta.get("answers")];
        let says = match self.is_question() {
            false => questions.is_some() && self.is_question_by_name(),
            true => questions.is_some() || answers.iter().any(|answers| answers.is_object()),
        };
        if !says {
            return;
        }
        let id = self.id().to_owned();
        let multiple = [input.get("multiple"), meta.get("multiple")].iter().find_map(|flag| flag.bool());
        let question = self.question(news);
        if let Some(questions) = questions {
            news.work += question.ask(&id, questions, multiple);
        }
        for answers in answers {
            news.work += question.answer(answers);
        }
        if question.is_answered() {
            self.end_question(RowState::Done, news);
        }
    }
}

/// Whether a title or kind says that a call asks the user.
pub(super) fn names_question(name: &str) -> bool {
    let letters = name.trim().chars().filter(|c| !matches!(c, ' ' | '_' | '-'));
    let plain: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    plain == "question" || plain.ends_with("userquestion") || plain.contains("askuserquestion")
}

impl Acp {
    /// The agent asks leave for a call, which may be the first that is heard of it.
    pub(super) fn ask_permission(
        &mut self,
        params: Value<'_>,
        id: Value<'_>,
        sink: &mut dyn ChunkSink,
    ) -> Result<Effect, &'static str> {
        let session = text(params.get("sessionId"));
        let tool = params.get("toolCall");
        let begun = self.patch_call(&session, tool, sink)?;
        let key = self.call_key(&session, &call_id(tool).unwrap_or_default());
        let request = id.raw();
        let permission = Raw::written(|json| {
            json.object(|json| {
                if id.str().is_some() || id.number().is_some() {
                    json.key("request").raw(request);
                }
                json.key("options").array(|json| {
                    for option in params.get("options").items() {
                        let Some(id) = said(option, &["optionId"]) else { continue };
                        json.object(|json| {
                            json.key("id").string(&id);
                            if let Some(label) = said(option, &["name"]) {
                                json.key("label").string(&label);
                            }
                            if let Some(kind) = said(option, &["kind"]) {
                                json.key("kind").string(&kind);
                            }
                        });
                    }
                });
            });
        });
        Ok(begun.and(self.ask_leave(&key, id, permission, sink)))
    }

    /// A call waits for the user's leave.
    fn ask_leave(&mut self, key: &str, request: Value<'_>, permission: Raw, sink: &mut dyn ChunkSink) -> Effect {
        self.note_request(request, Asked::Leave(key.into()));
        self.set_leave(key, Some(permission), sink)
    }

    /// The user has chosen one of the options that the call offers, or none.
    fn choose(&mut self, key: &str, chosen: Option<&str>, sink: &mut dyn ChunkSink) -> Effect {
        let asked = self.calls.get(key).and_then(Call::permission);
        let permission = asked.zip(chosen).map(|(asked, chosen)| with_choice(asked, chosen));
        self.set_leave(key, permission, sink)
    }

    fn set_leave(&mut self, key: &str, permission: Option<Raw>, sink: &mut dyn ChunkSink) -> Effect {
        let mut news = News::default();
        if let Some(call) = self.calls.get_mut(key) {
            call.ask(permission, &mut news);
        }
        self.tell_call(key, news, sink)
    }

    /// The agent asks for values.
    pub(super) fn elicit(&mut self, params: Value<'_>, id: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let session = text(params.get("sessionId"));
        let key = match said(params, &["elicitationId"]) {
            Some(id) => self.key(0, 'e', &id),
            None => self.place(RowKind::Question),
        };
        let properties = params.get("requestedSchema").get("properties");
        let question = Raw::written(|json| {
            json.object(|json| {
                if id.str().is_some() || id.number().is_some() {
                    json.key("request").raw(id.raw());
                }
                let mut all = properties.members();
                match (all.next(), all.next()) {
                    (Some((name, only)), None) => write_property(&name.text(), only, json),
                    (Some(_), Some(_)) => json.key("parts").array(|json| {
                        for (name, property) in properties.members() {
                            json.object(|json| {
                                let name = name.text();
                                let words = said(property, &["title", "description"]).unwrap_or(Cow::Borrowed(&name));
                                json.key("text").string(&words);
                                write_property(&name, property, json);
                            });
                        }
                    }),
                    (None, _) => json.key("options").raw(r#"[{"id":"accept","label":"OK"}]"#),
                }
            });
        });
        let sources = said(params, &["url"]).map(|url| list_of_one(&[("url", &url)]));
        let words = said(params, &["message"]).unwrap_or_default();
        self.note_request(id, Asked::Values(key.as_str().into()));
        let ended = self.end_message(&session, RowState::Done, sink);
        let key: Box<str> = key.into();
        let (session, words) = (session.into(), words.into());
        let form = Form { key: key.clone(), session, words, question, sources };
        let shown = self.show_form(&form, RowState::Pending, sink);
        // One that is asked again is asked anew.
        self.forms.remove(&key);
        self.forms.get_or_insert(&key, || form);
        ended.and(shown)
    }

    fn show_form(&mut self, form: &Form, state: RowState, sink: &mut dyn ChunkSink) -> Effect {
        let mut facts = vec![(Fact::Question, form.question.clone())];
        facts.extend(form.sources.clone().map(|sources| (Fact::Sources, sources)));
        self.row(&form.session, &form.key, RowKind::Question, state, facts, &form.words, sink)
    }

    /// What was asked for elsewhere has come.
    pub(super) fn elicited(&mut self, params: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let key = self.key(0, 'e', &text(params.get("elicitationId")));
        match self.forms.remove(&key) {
            Some(_) => sink.chunk(Chunk::BlockState { key: &key, state: RowState::Done }),
            None => Effect::None,
        }
    }

    /// The editor's answer to a request of the agent's was seen on its way.
    pub(super) fn answered(&mut self, result: Value<'_>, id: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        match self.take_request(id, |asked| matches!(asked, Asked::Leave(_) | Asked::Values(_))) {
            Some(request) => self.settle(request.asked, result, sink),
            None => Effect::None,
        }
    }

    /// The user has answered, or never will.
    pub(super) fn settle(&mut self, asked: Asked, result: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        match asked {
            Asked::Leave(key) => self.choose(&key, said(result.get("outcome"), &["optionId"]).as_deref(), sink),
            Asked::Values(key) => {
                let Some(mut form) = self.forms.remove(&key) else { return Effect::None };
                let accepted = text(result.get("action")) == "accept";
                form.question = fill_in(&form.question, result.get("content"), &mut self.work);
                self.show_form(&form, if accepted { RowState::Done } else { RowState::Cancelled }, sink)
            }
            _ => Effect::None,
        }
    }

    /// Notes that something was asked.
    pub(super) fn note_request(&mut self, id: Value<'_>, asked: Asked) {
        if id.str().is_none() && id.number().is_none() {
            return;
        }
        self.hears_editor |= matches!(asked, Asked::Prompt | Asked::Session | Asked::Editor);
        // What a request is more than one of the agent's is noted last.
        self.asked.pop_if(|last| *last.id == *id.raw() && matches!(last.asked, Asked::Agent));
        if self.asked.len() >= MOST_REQUESTS {
            self.asked.remove(0);
        }
        self.asked.push(Request { id: id.raw().into(), asked, pass: self.pass });
    }

    /// The last request of this id that is such a one: it has its answer.
    pub(super) fn take_request(&mut self, id: Value<'_>, is: impl Fn(&Asked) -> bool) -> Option<Request> {
        let place = self.asked.iter().rposition(|request| *request.id == *id.raw() && is(&request.asked))?;
        Some(self.asked.remove(place))
    }

    /// Nobody waits for answers any more.
    pub(super) fn expire(&mut self, sink: &mut dyn ChunkSink) -> Effect {
        let mut effect = Effect::None;
        for form in std::mem::take(&mut self.forms).iter() {
            effect = effect.and(sink.chunk(Chunk::BlockState { key: &form.key, state: RowState::Expired }));
        }
        let pass = self.pass;
        self.asked.retain(|request| {
            let Asked::Task(key) = &request.asked else { return true };
            if request.pass != pass {
                return true;
            }
            effect = effect.and(sink.chunk(Chunk::BlockState { key, state: RowState::Expired }));
            false
        });
        effect
    }

    /// Questions of a task: a request of their own, wrapped as a call or flat.
    pub fn ask_questions(&mut self, data: Value<'_>, sink: &mut dyn ChunkSink) -> Result<Effect, &'static str> {
        let tool = data.get("toolCall");
        let source = if tool.is_object() { tool } else { data };
        let id = said(source, &["toolCallId", "request_id", "id"]).unwrap_or_default();
        let input = source.get("rawInput");
        let meta = source.get("_meta").get("askUserQuestion");
        let questions = [input.get("questions"), meta.get("questions"), meta, source.get("questions")];
        let questions = questions.into_iter().find(|questions| questions.is_array());
        if id.is_empty() && questions.is_none() && said(source, &["question", "text", "title"]).is_none() {
            return Err("question-id");
        }
        let key = match id.is_empty() {
            // Each is a question of its own.
            true => self.place(RowKind::Question),
            false => self.call_key("", &id),
        };
        if id.is_empty() {
            self.nameless = Some(key.as_str().into());
        }
        let known = self.calls.get(&key).is_some();
        let begun = self.begin_call("", &key, source, &id, sink);
        let mut news = News::default();
        if let Some(call) = self.calls.get_mut(&key) {
            let multiple = [input.get("multiple"), source.get("multiple")].iter().find_map(|flag| flag.bool());
            let question = call.question(&mut news);
            news.work += match questions {
                Some(questions) => question.ask(&id, questions, multiple),
                // One question, as it stands.
                None => question.ask_one(&id, source, multiple),
            };
            if let Some(place) = self.early.iter().position(|early| early.is_for(&key)) {
                self.early.swap_remove(place).apply(call, &mut news);
            }
        }
        if !known {
            self.open_call(&key);
        }
        Ok(begun.and(self.tell_call(&key, news, sink)))
    }

    /// An answer was seen on its way, or its repeat.
    pub fn questions_answered(&mut self, data: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let key = match (said(data, &["request_id"]), &self.nameless) {
            (Some(id), _) => self.call_key("", &id),
            (None, Some(last)) => last.to_string(),
            (None, None) => return Effect::None,
        };
        let answers = text(data.get("answers_json")).into_owned();
        let early = Early { key, answers, cancelled: data.get("cancelled").bool() == Some(true) };
        let mut news = News::default();
        // What is no question now may turn out to be one.
        self.early.retain(|known| known.key != early.key);
        match self.calls.get_mut(&early.key).filter(|call| call.is_question()) {
            Some(call) => early.apply(call, &mut news),
            None if self.early.len() < EARLY => {
                self.early.push(early);
                return Effect::None;
            }
            None => return Effect::None,
        }
        self.tell_call(&early.key, news, sink)
    }
}

/// One value of a form, as a question asks for it.
fn write_property(name: &str, property: Value<'_>, json: &mut JsonWriter) {
    json.key("name").string(name);
    let kind = text(property.get("type"));
    let items = property.get("items");
    let choices = if kind == "array" { items } else { property };
    let titled = [choices.get("oneOf"), choices.get("anyOf")].into_iter().find(|list| list.is_array());
    let plain = choices.get("enum");
    match titled {
        Some(list) => json.key("options").array(|json| {
            for choice in list.items() {
                let Some(id) = said(choice, &["const"]) else { continue };
                let label = said(choice, &["title"]).unwrap_or(Cow::Borrowed(&id));
                json.object(|json| {
                    json.key("id").string(&id);
                    json.key("label").string(&label);
                });
            }
        }),
        None if plain.is_array() => {
            json.key("options").array(|json| plain.items().for_each(|choice| write_option(choice, json)));
        }
        None if kind == "boolean" => json.key("options").raw(r#"[{"label":"true"},{"label":"false"}]"#),
        None => json.key("custom").bool(true),
    }
    if kind == "array" {
        json.key("multiple").bool(true);
    }
    if !kind.is_empty() {
        json.key("type").string(&kind);
    }
}

/// The same form with what the user has entered.
fn fill_in(question: &Raw, content: Value<'_>, work: &mut u64) -> Raw {
    let mut tape = Tape::default();
    let Ok(asked) = tape.read(question.as_str()) else { return question.clone() };
    let asked = asked.root();
    let content = by_name(content);
    let write = |part: Value<'_>, json: &mut JsonWriter| {
        for (name, value) in part.members() {
            json.key(&name.text()).raw(value.raw());
        }
        let entered = content.get(&text(part.get("name"))).map_or(Value::ABSENT, |entered| entered.value);
        match entered {
            _ if entered.is_null() => {}
            _ if entered.str().is_some() || entered.is_array() => json.key("answer").raw(entered.raw()),
            _ => json.key("answer").string(entered.raw()),
        }
    };
    let parts = asked.get("parts");
    let filled = Raw::written(|json| {
        json.object(|json| match parts.is_array() {
            false => write(asked, json),
            true => {
                if asked.get("request").exists() {
                    json.key("request").raw(asked.get("request").raw());
                }
                json.key("parts").array(|json| parts.items().for_each(|part| json.object(|json| write(part, json))));
            }
        });
    });
    *work += content.work();
    filled
}

/// The same permission with what was chosen.
fn with_choice(asked: &Raw, chosen: &str) -> Raw {
    Raw::written(|json| {
        json.object(|json| {
            json.raw(asked.inner());
            json.key("chosen").string(chosen);
        });
    })
}

impl Acp {
    /// A task's own request for leave, for a call that is known or for what it says.
    pub fn asked_leave(&mut self, data: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let Some(id) = said(data, &["id"]) else { return Effect::None };
        let permission = Raw::written(|json| {
            json.object(|json| {
                json.key("request").string(&id);
                json.key("options")
                    .raw(r#"[{"id":"approved","kind":"allow_once"},{"id":"denied","kind":"reject_once"}]"#);
            });
        });
        let call = said(data, &["tool_call_id"]).map(|call| self.call_key("", &call));
        let key = self.key(0, 'p', &id);
        // One that has a row keeps it, though its call is known now.
        let has_row = self.messages.get(&key).is_some();
        if let Some(key) = call.filter(|key| !has_row && self.calls.get(key).is_some()) {
            // What has ended waits for no leave: a repeat tells of the way there.
            let has_ended = self.calls.get(&key).is_some_and(Call::has_ended);
            return if has_ended { Effect::None } else { self.ask_leave(&key, data.get("id"), permission, sink) };
        }
        let pass = self.pass;
        self.messages.get_or_insert(&key, || Known { key: key.as_str().into(), pass });
        self.asked.retain(|request| !matches!(&request.asked, Asked::Task(known) if **known == *key));
        let ended = self.end_message("", RowState::Done, sink);
        self.note_request(data.get("id"), Asked::Task(key.as_str().into()));
        let words = said(data, &["title", "tool"]).unwrap_or_default();
        let facts = vec![(Fact::Permission, permission)];
        ended.and(self.row("", &key, RowKind::Permission, RowState::Pending, facts, &words, sink))
    }

    /// What came of such a request.
    pub fn left(&mut self, data: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let outcome = text(data.get("outcome"));
        let key = match self.take_request(data.get("id"), |asked| matches!(asked, Asked::Leave(_) | Asked::Task(_))) {
            Some(Request { asked: Asked::Leave(key), .. }) => {
                let chosen = matches!(&*outcome, "approved" | "denied").then_some(&*outcome);
                return self.choose(&key, chosen, sink);
            }
            Some(Request { asked: Asked::Task(key), .. }) => key,
            _ => return Effect::None,
        };
        let state = match &*outcome {
            "timeout" => RowState::Expired,
            "cancelled" => RowState::Cancelled,
            _ => RowState::Done,
        };
        sink.chunk(Chunk::BlockState { key: &key, state })
    }
}
