//! What the task stream answers over HTTP: dials, pages of history, and the
//! control interface by which a page in a test makes tasks and drops lines.

use std::sync::Arc;

use http_body_util::{BodyExt, Limited};
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap};
use hyper::{Method, Request, StatusCode};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::Tasks;
use super::line::{Dial, Mode};
use super::script::{Loss, Refusal, Script};
use super::task::{Page, Task};

pub(super) const STREAM: &str = "/api/v1/users/tasks/stream";
const ROUNDS: &str = "/api/v1/users/tasks/rounds";
const CONTROL: &str = "/task-stream/tasks";

/// The longest script that is taken.
const LONGEST_SCRIPT: usize = 64 << 20;

/// Whether a path is the task stream's.
pub(crate) fn is_ours(path: &str) -> bool {
    matches!(path, STREAM | ROUNDS | CONTROL) || path.strip_prefix(CONTROL).is_some_and(|rest| rest.starts_with('/'))
}

/// What a request comes to.
pub(crate) enum Answer {
    Json(StatusCode, Value),
    /// The connection is the dial's from here on, once it has been told this accept key.
    Upgrade(String, Dial),
    /// No answer: the TCP connection is reset.
    Reset,
}

impl From<Refused> for Answer {
    fn from(Refused(status, why): Refused) -> Answer {
        Answer::Json(status, json!({ "code": status.as_u16(), "message": why }))
    }
}

struct Refused(StatusCode, String);

fn refused(status: StatusCode, why: &str) -> Refused {
    Refused(status, why.to_owned())
}

/// Answers a request whose path is [ours](is_ours).
pub(crate) async fn answer<B>(request: Request<B>, tasks: &Tasks) -> Answer
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    route(request, tasks).await.unwrap_or_else(Answer::from)
}

async fn route<B>(request: Request<B>, tasks: &Tasks) -> Result<Answer, Refused>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let path = request.uri().path().to_owned();
    let query = Query(request.uri().query().unwrap_or_default().to_owned());
    let is_get = request.method() == Method::GET;
    let known = |id: &str| tasks.find(id).ok_or_else(|| refused(StatusCode::NOT_FOUND, "no such task"));
    let ok = |value| Ok(Answer::Json(StatusCode::OK, value));
    if path == STREAM && is_get {
        return dial(&query, request.headers(), tasks).await;
    }
    if path == ROUNDS && is_get {
        let task = known(&query.get("id").unwrap_or_default())?;
        task.past_over().await;
        return ok(task.rounds(&query.page()?));
    }
    let Some(rest) = path.strip_prefix(CONTROL) else {
        return Err(refused(StatusCode::METHOD_NOT_ALLOWED, "only GET"));
    };
    let parts: Vec<&str> = rest.split('/').skip(1).collect();
    match (parts.as_slice(), request.method()) {
        ([], &Method::POST) => {
            let task = tasks.create(read::<_, Script>(request).await?);
            Ok(Answer::Json(StatusCode::CREATED, json!({ "id": task.id() })))
        }
        ([id], &Method::GET) => ok(json!(known(id)?.standing())),
        ([id, "received"], &Method::GET) => ok(json!(known(id)?.received())),
        ([id, "drop"], &Method::POST) => {
            let task = known(id)?;
            task.drop_lines(&read::<_, Loss>(request).await?);
            ok(json!({}))
        }
        _ => Err(refused(StatusCode::NOT_FOUND, "no such thing")),
    }
}

async fn dial(query: &Query, headers: &HeaderMap, tasks: &Tasks) -> Result<Answer, Refused> {
    let bad = |why| Err(refused(StatusCode::BAD_REQUEST, why));
    let Some(id) = query.get("id") else { return bad("which task?") };
    let mode = match query.get("mode").as_deref() {
        Some("new") => Mode::New,
        Some("attach") => Mode::Attach,
        _ => return bad("mode is `new` or `attach`"),
    };
    let is_upgrade = headers.get(header::UPGRADE).is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket"));
    let Some(key) = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| is_upgrade) else {
        return bad("a WebSocket answers here");
    };
    let task = match (tasks.find(&id), mode) {
        (Some(task), _) => task,
        (None, Mode::New) => tasks.create(Script { id: Some(id), ..Script::default() }),
        (None, Mode::Attach) => return Err(refused(StatusCode::NOT_FOUND, "no such task")),
    };
    task.past_over().await;
    Ok(admit(task, mode, key.as_bytes()))
}

fn admit(task: Arc<Task>, mode: Mode, key: &[u8]) -> Answer {
    match task.dial() {
        Ok(number) => Answer::Upgrade(derive_accept_key(key), Dial { task, mode, number }),
        Err(Refusal::Reset) => Answer::Reset,
        Err(Refusal::Status(status)) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            refused(status, "refused").into()
        }
    }
}

/// A request's JSON; an empty body is an empty object.
async fn read<B, T: DeserializeOwned>(request: Request<B>) -> Result<T, Refused>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let bad = |why: String| Refused(StatusCode::BAD_REQUEST, why);
    let body =
        Limited::new(request.into_body(), LONGEST_SCRIPT).collect().await.map_err(|error| bad(error.to_string()))?;
    let body = body.to_bytes();
    let json = if body.is_empty() { b"{}" } else { body.as_ref() };
    serde_json::from_slice(json).map_err(|error| bad(error.to_string()))
}

/// The query of an address.
struct Query(String);

impl Query {
    fn get(&self, name: &str) -> Option<String> {
        let mut fields = self.0.split('&').filter_map(|field| field.split_once('='));
        let (_, value) = fields.find(|(key, _)| *key == name)?;
        Some(percent_decode_str(value).decode_utf8_lossy().into_owned()).filter(|value| !value.is_empty())
    }

    fn page(&self) -> Result<Page, Refused> {
        let number = |name: &str| match self.get(name).map(|value| value.parse::<u64>()) {
            Some(Ok(number)) => Ok(Some(number)),
            Some(Err(_)) => Err(Refused(StatusCode::BAD_REQUEST, format!("{name} is a number"))),
            None => Ok(None),
        };
        Ok(Page {
            cursor: number("cursor")?,
            limit: number("limit")?.unwrap_or(2).clamp(1, 10) as usize,
            forward: self.get("direction").as_deref() == Some("forward"),
            inclusive: self.get("inclusive").as_deref() == Some("true"),
        })
    }
}
