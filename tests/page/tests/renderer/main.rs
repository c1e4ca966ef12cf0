//! rows.js on a page of its own, under the policy of an editor's webview, told
//! by plain ops what to show, in Chromium and Firefox. After each test the page
//! has met no error and no violation of its policy.

use page::Page;
use serde_json::Value;

mod asking;
mod breaking;
mod contrast;
mod drawing;
mod folding;
mod growing;
mod hosting;
mod long;
mod reading;

/// Opens the page; its `scene` is then there, and nothing is mounted.
async fn open(page: &Page) {
    page.goto("renderer/index.html").await;
    page.wait_for("window.scene").await;
}

/// Opens the page and mounts a chat of these rows, given as JavaScript.
async fn show(page: &Page, rows: &str) {
    open(page).await;
    run(page, &format!("scene.view = scene.mount(); for (const row of {rows}) scene.chat.insert(row);")).await;
}

/// Opens the page and shows every kind of row, and the panels.
async fn show_every_kind(page: &Page) {
    open(page).await;
    mount_every_kind(page).await;
}

async fn mount_every_kind(page: &Page) {
    let mount = "scene.view = scene.mount(); \
                 scene.side = scene.rows.mountPanels(scene.panels, scene.chat); \
                 scene.everyKind(scene.chat);";
    run(page, mount).await;
    page.frames(2).await;
}

/// Runs statements on the page.
async fn run(page: &Page, statements: &str) {
    page.call(statements, vec![]).await;
}

/// What the reader has done: `[type, row, detail]` each.
async fn said(page: &Page) -> Value {
    page.eval("scene.said").await
}

/// The text that is seen of an element.
async fn seen(page: &Page, selector: &str) -> String {
    let text = page.eval(&format!("document.querySelector({selector:?})?.innerText.trim() ?? ''")).await;
    text.as_str().unwrap_or_default().to_owned()
}

/// Shows all of the page at once.
async fn unroll(page: &Page) {
    run(page, "document.querySelector('main').className = 'tall';").await;
    page.resize(900, 3600).await;
    page.frames(3).await;
}
