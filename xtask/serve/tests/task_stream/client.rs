//! A client that takes what comes, and says it in a line each.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use serve::Server;
use serve::task_stream::{Mode, Script, Step, stream_path};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

/// No answer by then is none.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn server() -> Server {
    Server::start(Vec::new(), 0).unwrap()
}

/// A task of one turn.
pub fn turn(steps: impl Into<Vec<Step>>) -> Script {
    Script::of([steps.into()])
}

/// A step that says this.
pub fn text(text: &str) -> Step {
    Step::Text(text.into())
}

pub struct Client(WebSocketStream<TcpStream>);

/// How a line ended: the code of a closing handshake, or without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Closed(u16),
    Cut,
}

impl Client {
    /// # Panics
    /// When the dial is refused.
    pub async fn dial(server: &Server, id: &str, mode: Mode) -> Client {
        Client::try_dial(server, id, mode).await.unwrap()
    }

    pub async fn try_dial(server: &Server, id: &str, mode: Mode) -> Result<Client, Error> {
        let url = server.url();
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let stream = TcpStream::connect(address).await.unwrap();
        let dial = client_async(format!("ws://{address}{}", stream_path(id, mode)), stream);
        let (socket, _) = tokio::time::timeout(PATIENCE, dial).await.expect("an answer")?;
        Ok(Client(socket))
    }

    /// Dials for a new turn and says this.
    pub async fn say(server: &Server, id: &str, input: &str) -> Client {
        let mut client = Client::dial(server, id, Mode::New).await;
        client.input(input).await;
        client
    }

    /// Sends a user input, as the web client does.
    pub async fn input(&mut self, content: &str) {
        let data = json!({ "content": STANDARD.encode(content), "attachments": [] });
        self.send("user-input", json!(STANDARD.encode(data.to_string()))).await;
    }

    /// Answers a question.
    pub async fn reply(&mut self, id: &str, answers: Value) {
        let data = json!({ "request_id": id, "answers_json": answers.to_string(), "cancelled": false });
        self.send("reply-question", json!(STANDARD.encode(data.to_string()))).await;
    }

    pub async fn send(&mut self, name: &str, data: Value) {
        self.0.send(Message::text(json!({ "type": name, "data": data }).to_string())).await.unwrap();
    }

    async fn next(&mut self) -> Result<Message, End> {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.0.next()).await.expect("a frame or an end");
            return match next {
                // The library answers it.
                Some(Ok(Message::Ping(_))) => continue,
                Some(Ok(Message::Close(frame))) => Err(End::Closed(frame.expect("a code").code.into())),
                Some(Ok(message)) => Ok(message),
                _ => Err(End::Cut),
            };
        }
    }

    /// The next frame, as it is on the wire.
    pub async fn frame(&mut self) -> String {
        self.next().await.expect("a frame").into_text().expect("text").to_string()
    }

    /// Takes frames until one reads so.
    pub async fn read_until(&mut self, line: &str) {
        while read(&self.frame().await) != line {}
    }

    /// All frames up to the end, as they are on the wire, and the end. The closing handshake is finished.
    pub async fn rest(&mut self) -> (Vec<String>, End) {
        let mut frames = Vec::new();
        loop {
            match self.next().await {
                Ok(Message::Text(text)) => frames.push(text.to_string()),
                Ok(_) => frames.push("binary".into()),
                Err(end) => {
                    while let Some(Ok(_)) = self.0.next().await {}
                    return (frames, end);
                }
            }
        }
    }

    /// All frames up to the end, in a line each.
    pub async fn lines(&mut self) -> Vec<String> {
        self.rest().await.0.iter().map(|frame| read(frame)).collect()
    }
}

/// A frame in a line: its type, and what its data says.
pub fn read(frame: &str) -> String {
    let Ok(frame) = serde_json::from_str::<Value>(frame) else { return frame.to_owned() };
    let name = frame["type"].as_str().expect("a type");
    let data = frame["data"].as_str().map_or(Value::Null, opened);
    let update = &data["update"];
    match name {
        "user-input" => {
            let content = STANDARD.decode(data["content"].as_str().expect("content")).expect("base64");
            format!("user {}", String::from_utf8(content).expect("UTF-8"))
        }
        "task-running" if frame["kind"] == "acp_ask_user_question" => {
            format!("ask {}", data["toolCall"]["toolCallId"].as_str().expect("an id"))
        }
        "task-running" => match update["sessionUpdate"].as_str().expect("an update") {
            "agent_message_chunk" => format!("text {}", update["content"]["text"].as_str().expect("text")),
            other => other.to_owned(),
        },
        "reply-question" => format!("reply {}", data["answers_json"].as_str().expect("answers")),
        _ if data.is_null() => name.to_owned(),
        _ => format!("{name} {data}"),
    }
}

fn opened(data: &str) -> Value {
    serde_json::from_slice(&STANDARD.decode(data).expect("base64")).expect("JSON")
}
