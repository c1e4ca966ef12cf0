//! `TaskStreamClient` on a real WebSocket, against the task stream server, in Chromium and Firefox: tasks by script,
//! with what goes wrong on their lines, in; rows, and what the server has received, out.

use page::Page;
use serde_json::Value;

mod answers;
mod ends;
mod history;
mod losses;
mod wires;

/// Opens the page. Its `tasks` are then there.
async fn open(page: &Page) {
    page.goto("renderer/task.html").await;
    page.wait_for("window.tasks").await;
}

/// What an asynchronous function of this body returns, in which the page's `tasks` are at hand.
async fn told(page: &Page, body: &str) -> Value {
    let tasks = "const { ChatRows, TaskStreamClient, make, received, drop, sleep, until, plain, brief, options, start, follow, \
                 QUESTIONS, MORE, TURN, RECORDS } = tasks;";
    page.call(&format!("return (async () => {{ {tasks} {{ {body} }} }})();"), vec![]).await
}
