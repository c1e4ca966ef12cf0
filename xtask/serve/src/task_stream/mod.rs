//! A task stream server to test against: agent tasks over WebSocket, in the
//! frames that a real server sends (a task's [`Script`] says which, and what
//! goes wrong), beside the pages that read them.
//!
//! | address | what it is |
//! |---|---|
//! | `GET /api/v1/users/tasks/stream?id&mode=new\|attach` | the WebSocket |
//! | `GET /api/v1/users/tasks/rounds?id&cursor&limit&direction&inclusive` | pages of history |
//! | `POST /task-stream/tasks` | makes a task of a script; answers `{"id"}` |
//! | `GET /task-stream/tasks/ID` | how it stands: [`Standing`] |
//! | `GET /task-stream/tasks/ID/received` | what clients have sent: a list of [`Received`] |
//! | `POST /task-stream/tasks/ID/drop` | drops its lines: a [`Loss`], or nothing |
//!
//! A `new` dial for an unknown id makes a task that plays the live scene.

mod agent;
mod line;
mod routes;
mod scene;
mod script;
mod task;
mod wire;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;

pub(crate) use line::Dial;
pub use line::Mode;
pub(crate) use routes::{Answer, answer, is_ours};
pub use script::{
    Clock, Cut, CutAt, DataForm, EventShape, Loss, NameForm, Refusal, Repeat, Script, Step, TimeUnit, Wire,
};
pub use task::{Received, Standing, Task};

/// The tasks of a server, by their ids.
#[derive(Debug)]
pub struct Tasks {
    runtime: Handle,
    made: AtomicUsize,
    tasks: Mutex<HashMap<String, Arc<Task>>>,
}

impl Tasks {
    pub(crate) fn new(runtime: Handle) -> Tasks {
        Tasks { runtime, made: AtomicUsize::new(0), tasks: Mutex::default() }
    }

    /// Makes a task. One that had its id is known no more.
    pub fn create(&self, script: Script) -> Arc<Task> {
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        let id = script.id.clone().unwrap_or_else(|| format!("task-{number}"));
        let (task, inbox) = Task::new(id.clone(), script);
        let task = Arc::new(task);
        self.runtime.spawn(agent::run(Arc::clone(&task), inbox));
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&task));
        task
    }

    fn find(&self, id: &str) -> Option<Arc<Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).get(id).map(Arc::clone)
    }
}

/// The path and query of a task's WebSocket.
pub fn stream_path(id: &str, mode: Mode) -> String {
    format!("{}?id={id}&mode={}", routes::STREAM, mode.name())
}
