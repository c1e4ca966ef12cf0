//! The agent of a task: takes an input, plays the turn that the script has for
//! it into the task's log, and goes back to waiting. It runs whether or not a
//! line is open, as a real one does.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::script::Step;
use super::task::Task;
use super::wire::{self, Record, Reply, Sent, UserInput};

struct Agent {
    task: Arc<Task>,
    inbox: UnboundedReceiver<Sent>,
    inputs: VecDeque<UserInput>,
    replies: Vec<Reply>,
    auto_approve: bool,
    /// For `{input}` and `{answer}`.
    said: String,
    answer: String,
}

/// Why a turn is over before its last step.
enum Over {
    Ended(Option<Value>),
    Cancelled,
    Stopped,
    /// The server has.
    Gone,
}

/// Plays the task's turns until the server stops.
pub(super) async fn run(task: Arc<Task>, inbox: UnboundedReceiver<Sent>) {
    let mut agent = Agent {
        task,
        inbox,
        inputs: VecDeque::new(),
        replies: Vec::new(),
        auto_approve: false,
        said: String::new(),
        answer: String::new(),
    };
    let task = Arc::clone(&agent.task);
    let mut turns = task.script.turns.iter();
    let mut turn = &Vec::new();
    loop {
        let input = match agent.input().await {
            Ok(input) => input,
            Err(Over::Gone) => return,
            // Nothing runs that could be cancelled.
            Err(_) => continue,
        };
        turn = turns.next().unwrap_or(turn);
        task.begin_turn(&input);
        let data = match agent.play(turn).await {
            Ok(()) | Err(Over::Stopped) => None,
            Err(Over::Ended(data)) => data,
            Err(Over::Cancelled) => {
                task.frame("user-cancel", "", None);
                match agent.play(&task.script.on_cancel).await {
                    Err(Over::Ended(data)) => data,
                    _ => None,
                }
            }
            Err(Over::Gone) => return,
        };
        task.end_turn(data);
    }
}

impl Agent {
    async fn play(&mut self, steps: &[Step]) -> Result<(), Over> {
        for step in steps {
            while let Ok(sent) = self.inbox.try_recv() {
                self.take(sent)?;
            }
            self.step(step).await?;
        }
        Ok(())
    }

    async fn step(&mut self, step: &Step) -> Result<(), Over> {
        let task = Arc::clone(&self.task);
        match step {
            Step::Text(text) => task.update("agent_message_chunk", self.chunk(text)),
            Step::Thought(text) => task.update("agent_thought_chunk", self.chunk(text)),
            Step::ToolCall(fields) => task.update("tool_call", fields.clone()),
            Step::ToolCallUpdate(fields) => task.update("tool_call_update", fields.clone()),
            Step::Plan(entries) => task.update("plan", json!({ "entries": entries })),
            Step::Usage(fields) => task.update("usage_update", fields.clone()),
            Step::Commands(commands) => {
                task.update("available_commands_update", json!({ "availableCommands": commands }));
            }
            Step::Update(update) => task.raw_update(update.clone()),
            Step::Frame { name, kind, data } => task.frame(name, kind, data.clone()),
            Step::Ask { id, questions } => {
                task.frame("task-running", wire::ASK, Some(wire::question(id, questions, task.events())));
                self.reply(id).await?;
            }
            Step::Reply(id) => self.reply(id).await?,
            Step::Input => {
                let input = self.input().await?;
                task.echo(&input);
            }
            Step::Approval => {
                while !self.auto_approve {
                    self.hear().await?;
                }
            }
            Step::Delay(ms) => {
                let delay = tokio::time::sleep(task.script.delay(*ms));
                tokio::pin!(delay);
                loop {
                    tokio::select! {
                        () = &mut delay => break,
                        heard = self.hear() => heard?,
                    }
                }
            }
            Step::Hang => loop {
                self.hear().await?;
            },
            Step::Error(error) => task.frame("task-error", "", Some(json!({ "error": error }))),
            Step::Garbage(text) => task.garbage(Record::Text(text.clone())),
            Step::GarbageBytes(bytes) => task.garbage(Record::Binary(bytes.clone())),
            Step::End(data) => return Err(Over::Ended(data.clone())),
        }
        Ok(())
    }

    fn chunk(&self, text: &str) -> Value {
        let text = text.replace("{input}", &self.said).replace("{answer}", &self.answer);
        json!({ "content": { "type": "text", "text": text } })
    }

    async fn input(&mut self) -> Result<UserInput, Over> {
        loop {
            if let Some(input) = self.inputs.pop_front() {
                self.said.clone_from(&input.content);
                return Ok(input);
            }
            self.hear().await?;
        }
    }

    /// Waits for the answer to a question and echoes it. A second answer is not echoed.
    async fn reply(&mut self, id: &str) -> Result<(), Over> {
        loop {
            if let Some(found) = self.replies.iter().position(|reply| reply.id == id) {
                let reply = self.replies.remove(found);
                self.answer = reply.labels();
                self.task.frame("reply-question", "", Some(reply.data));
                return Ok(());
            }
            self.hear().await?;
        }
    }

    async fn hear(&mut self) -> Result<(), Over> {
        let sent = self.inbox.recv().await.ok_or(Over::Gone)?;
        self.take(sent)
    }

    fn take(&mut self, sent: Sent) -> Result<(), Over> {
        match sent {
            Sent::Input(input) => self.inputs.push_back(input),
            Sent::Reply(reply) => self.replies.push(reply),
            Sent::AutoApprove(approve) => self.auto_approve = approve,
            Sent::Cancel => return Err(Over::Cancelled),
            Sent::Stop => return Err(Over::Stopped),
        }
        Ok(())
    }
}
