//! A page as an editor's webview has it: under the editor's policy, fed by `message` events, answering by the
//! editor's `postMessage`. The README shows its script.

use page::{Page, each_browser};
use serde_json::{Value, json};

async fn open(page: &Page) {
    page.goto("renderer/webview.html").await;
    page.wait_for("window.editor?.posted.some(({ type }) => type === 'webviewDidLaunch')").await;
}

/// The extension posts a message.
async fn post(page: &Page, message: Value) {
    page.call("window.postMessage(arguments[0]);", vec![message]).await;
}

fn updated(ts: u64, kind: (&str, &str), text: &str, more: Value) -> Value {
    let (kind, name) = kind;
    let mut message = json!({"ts": ts, "type": kind, kind: name, "text": text});
    message.as_object_mut().unwrap().extend(more.as_object().expect("members").clone());
    json!({"type": "messageUpdated", "clineMessage": message})
}

/// The last message that the page has posted.
async fn posted(page: &Page) -> Value {
    page.eval("window.editor.posted.at(-1)").await
}

async fn kinds(page: &Page) -> Vec<(String, String)> {
    page.rows().await.into_iter().map(|row| (row.kind, row.state)).collect()
}

fn known(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(kind, state)| (kind.to_string(), state.to_string())).collect()
}

#[test]
fn messages_become_rows_and_answers_go_back() {
    each_browser(async |page| {
        open(page).await;
        let task = json!({"ts": 1, "type": "say", "say": "task", "text": "Run the tests."});
        post(page, json!({"type": "state", "state": {"clineMessages": [task]}})).await;
        post(page, json!({"type": "theme", "text": "none of ours"})).await;
        for text in ["I will", "I will run", "I will run them."] {
            post(page, updated(2, ("say", "text"), text, json!({"partial": true}))).await;
        }
        page.wait_for("document.querySelector('#log')?.textContent.includes('I will run them.')").await;
        assert_eq!(kinds(page).await, known(&[("user", "done"), ("text", "streaming")]));
        post(page, updated(2, ("say", "text"), "I will run them.", json!({}))).await;
        post(page, updated(3, ("ask", "command"), "make test", json!({}))).await;
        page.press("Allow once").await;
        assert_eq!(posted(page).await, json!({"type": "askResponse", "askResponse": "yesButtonClicked", "text": null}));
        post(page, updated(3, ("ask", "command"), "make test", json!({"isAnswered": true, "commandCompleted": true})))
            .await;
        post(page, updated(4, ("say", "command_output"), "10%\r100%\nok\n", json!({}))).await;
        let question = json!({"question": "Commit?", "options": ["Yes", "No"]}).to_string();
        post(page, updated(5, ("ask", "followup"), &question, json!({}))).await;
        page.press("Yes").await;
        assert_eq!(posted(page).await, json!({"type": "askResponse", "askResponse": "messageResponse", "text": "Yes"}));
        post(page, updated(6, ("say", "user_feedback"), "Yes", json!({}))).await;
        page.wait_for("document.querySelectorAll('#log [data-kind=user]').length === 2").await;
        let expected = [("user", "done"), ("text", "done"), ("tool", "done"), ("question", "done"), ("user", "done")];
        assert_eq!(kinds(page).await, known(&expected));
        assert_eq!(page.rows().await[2].output, "100%\nok\n");
    });
}

#[test]
fn a_refusal_and_a_second_try_go_back_too() {
    each_browser(async |page| {
        open(page).await;
        post(page, updated(1, ("ask", "command"), "rm -r build", json!({}))).await;
        page.press("Reject").await;
        assert_eq!(posted(page).await["askResponse"], "noButtonClicked");
        post(page, updated(2, ("ask", "api_req_failed"), "503", json!({}))).await;
        page.press("Try again").await;
        assert_eq!(posted(page).await["askResponse"], "yesButtonClicked");
    });
}

#[test]
fn a_place_is_opened_by_the_editor() {
    each_browser(async |page| {
        open(page).await;
        let read = json!({"tool": "readFile", "path": "src/main.rs"}).to_string();
        post(page, updated(1, ("ask", "tool"), &read, json!({}))).await;
        page.press("src/main.rs").await;
        assert_eq!(posted(page).await, json!({"type": "openFile", "text": "src/main.rs"}));
    });
}

#[test]
fn the_rows_have_the_editors_colours() {
    each_browser(async |page| {
        open(page).await;
        let style = "(({ backgroundColor, color }) => [backgroundColor, color])(getComputedStyle(document.querySelector('#log')))";
        assert_eq!(page.eval(style).await, json!(["rgb(31, 31, 31)", "rgb(204, 204, 204)"]));
    });
}

#[test]
fn what_the_policy_does_not_name_does_not_run() {
    each_browser(async |page| {
        open(page).await;
        let inject = "const script = document.createElement('script'); \
                      script.textContent = 'window.__ran = true'; document.body.append(script);";
        page.call(inject, vec![]).await;
        page.take_problems(2, "csp: ").await;
        assert_eq!(page.eval("window.__ran === true").await, false);
    });
}

/// In the README, in twenty lines at most, from where an extension keeps the package.
#[test]
fn the_readme_shows_the_script_of_this_page() {
    let script = include_str!("../../pages/webview.js").replace("\"/pkg/", "\"./chatrows/");
    assert!(script.lines().count() <= 20);
    assert!(include_str!("../../../../README.md").contains(&format!("```js\n{script}```")));
}
