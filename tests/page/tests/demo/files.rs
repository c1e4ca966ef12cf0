//! Files of one's own, dropped or opened, become rows.

use page::{Page, each_browser};
use serde_json::json;

const TEXT: &str = "Salt, then wind.\nThen nothing: é, 😊.";

/// One response of `TEXT`, as records.
fn records() -> Vec<String> {
    let record = |delta, finish: Option<&str>| {
        json!({"id": "chatcmpl-own", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).to_string()
    };
    let letters: Vec<char> = TEXT.chars().collect();
    let mut records = vec![record(json!({"role": "assistant", "content": ""}), None)];
    records.extend(letters.chunks(5).map(|part| record(json!({"content": String::from_iter(part)}), None)));
    records.push(record(json!({}), Some("stop")));
    records
}

fn sse() -> String {
    records().iter().map(|record| format!("data: {record}\n\n")).collect::<String>() + "data: [DONE]\n\n"
}

fn lines() -> String {
    records().join("\n")
}

async fn assert_shows_text(page: &Page, file: &str) {
    page.wait_for_end().await;
    assert_eq!(page.text("#status").await, "Done", "{file}");
    let rows = page.rows().await;
    let shown: Vec<_> = rows.iter().map(|row| (&*row.kind, &*row.state, &*row.text)).collect();
    assert_eq!(shown, [("text", "done", TEXT)], "{file}");
    let chosen = page.eval("document.querySelector('#recording').selectedOptions[0].text").await;
    assert_eq!(chosen, file);
}

#[test]
fn a_dropped_file_of_events_becomes_rows() {
    each_browser(async |page| {
        page.open().await;
        page.drop_file("own.sse", &sse()).await;
        assert_shows_text(page, "own.sse").await;
    });
}

#[test]
fn a_dropped_file_of_json_lines_becomes_rows() {
    each_browser(async |page| {
        page.open().await;
        page.drop_file("own.jsonl", &lines()).await;
        assert_shows_text(page, "own.jsonl").await;
    });
}

#[test]
fn an_opened_file_becomes_rows() {
    each_browser(async |page| {
        page.open().await;
        let file = page.temporary_file("opened.txt", &sse());
        let input = page.find("#file").await;
        input.send_keys(&file.display().to_string()).await.expect("a chosen file");
        assert_shows_text(page, "opened.txt").await;
    });
}

#[test]
fn the_next_file_takes_the_place_of_the_last() {
    each_browser(async |page| {
        page.open().await;
        page.drop_file("one.sse", "data: {}\n\n").await;
        page.wait_for_end().await;
        page.drop_file("two.jsonl", &lines()).await;
        page.wait_for("document.querySelector('#recording').selectedOptions[0].text === 'two.jsonl'").await;
        assert_shows_text(page, "two.jsonl").await;
        assert_eq!(page.texts("#recording option[value=own]").await, ["two.jsonl"]);
    });
}

#[test]
fn a_file_that_is_no_stream_is_one_error_row() {
    each_browser(async |page| {
        page.open().await;
        for content in
            ["Dear diary,\ntoday the sea was calm.\n", "<!doctype html><p>Not found</p>", "%PDF-1.7\n\u{1}\u{2}"]
        {
            page.drop_file("no-stream.txt", content).await;
            page.wait_for(
                "!document.querySelector('#log [data-row]') || document.querySelector('#log [data-kind=error]')",
            )
            .await;
            page.wait_for_end().await;
            page.wait_for("document.querySelector('#log [data-kind=error]')").await;
            let rows = page.rows().await;
            assert_eq!(rows.iter().map(|row| &*row.kind).collect::<Vec<_>>(), ["error"], "{content:?}: {rows:#?}");
            assert!(rows[0].error.starts_with("The response is not a stream of messages"), "{:?}", rows[0].error);
        }
    });
}

#[test]
fn the_page_shows_that_it_takes_a_file() {
    each_browser(async |page| {
        page.open().await;
        let drag = "const dataTransfer = new DataTransfer(); \
                    if (arguments[1]) dataTransfer.items.add(new File(['x'], 'x')); \
                    document.body.dispatchEvent(new DragEvent(arguments[0], { dataTransfer, bubbles: true, cancelable: true })); \
                    return document.body.hasAttribute('data-drop');";
        assert_eq!(page.call(drag, vec![json!("dragover"), json!(true)]).await, true);
        assert_eq!(page.call(drag, vec![json!("dragleave"), json!(true)]).await, false);
        assert_eq!(page.call(drag, vec![json!("dragover"), json!(false)]).await, false, "no file");
    });
}

#[test]
fn a_drop_without_a_file_changes_nothing() {
    each_browser(async |page| {
        page.open().await;
        page.play_through("A short answer").await;
        let rows = page.rows().await;
        let drop = "const dataTransfer = new DataTransfer(); dataTransfer.setData('text/plain', 'words'); \
                    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));";
        page.call(drop, vec![]).await;
        page.frames(3).await;
        assert_eq!(page.rows().await, rows);
    });
}
