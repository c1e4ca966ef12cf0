//! Tool calls: arguments arrive, the host runs the call, its output appears.

use page::{Page, each_browser};
use serde_json::Value;

const LONG: &str = "A tool call of 200 KB";
const CALL: &str = "#log [data-kind^=tool]";

/// The byte label by its definition: one decimal, ties up.
fn label(bytes: usize) -> String {
    assert!((1024..1_048_525).contains(&bytes), "a label in KB");
    let tenths = (bytes * 10 + 512) / 1024;
    format!("{}.{} KB", tenths / 10, tenths % 10)
}

/// Plays the long call until its arguments are coming in.
async fn play_into_long_call(page: &Page, speed: &str) {
    page.open().await;
    page.choose(LONG).await;
    page.set_speed(speed).await;
    page.watch(&format!("{CALL} .cr-bytes")).await;
    page.watch(&format!("{CALL} .cr-field:nth-child(2) dd")).await;
    page.watch(&format!("{CALL} .cr-title")).await;
    page.press("Play").await;
    page.wait_for(&format!("document.querySelectorAll('{CALL} .cr-field').length === 2")).await;
}

#[test]
fn the_row_is_busy_while_arguments_arrive() {
    each_browser(async |page| {
        play_into_long_call(page, "As recorded").await;
        page.press("Pause").await;
        let rows = page.rows().await;
        let row = rows.last().expect("a row");
        assert_eq!((&*row.name, &*row.title), ("Tool", "Preparing write_file…"));
        assert!(row.busy && row.spinner, "{row:#?}");
        assert_eq!(page.eval(&format!("document.querySelectorAll('{CALL} .cr-spinner').length")).await, 1);
    });
}

#[test]
fn the_byte_label_moves_and_ends_at_the_exact_size() {
    each_browser(async |page| {
        play_into_long_call(page, "4× faster").await;
        page.wait_for_end().await;
        let labels = page.seen(&format!("{CALL} .cr-bytes")).await;
        assert!(labels.len() > 10, "{labels:?}");
        let (_, input) = &page.wire(LONG).await.calls[0];
        assert_eq!(labels.last(), Some(&label(input.len())));
        assert_eq!(page.row("tool").await.bytes, label(input.len()));
    });
}

#[test]
fn the_value_grows_while_it_arrives() {
    each_browser(async |page| {
        play_into_long_call(page, "4× faster").await;
        page.wait_for_end().await;
        let lengths = "window.__seen[arguments[0]].map((text) => text.length)";
        let selector = Value::from(format!("{CALL} .cr-field:nth-child(2) dd"));
        let lengths = page.call(&format!("return {lengths};"), vec![selector]).await;
        let lengths: Vec<u64> = serde_json::from_value(lengths).expect("lengths");
        assert!(lengths.len() > 10, "{lengths:?}");
        assert!(lengths.is_sorted(), "{lengths:?}");
    });
}

#[test]
fn the_spinner_ends_and_the_row_shows_what_the_host_answered() {
    each_browser(async |page| {
        play_into_long_call(page, "4× faster").await;
        page.wait_for_end().await;
        let row = page.row("tool").await;
        assert_eq!((&*row.state, row.busy, row.spinner), ("done", false, false));
        let (_, input) = &page.wire(LONG).await.calls[0];
        let input: Value = serde_json::from_str(input).expect("arguments");
        let content = input["content"].as_str().expect("content");
        assert_eq!(
            row.fields,
            [("path".to_owned(), "notes/tides.md".to_owned()), ("content".to_owned(), content.to_owned())]
        );
        let lines = content.split('\n').count();
        let lines = format!("{},{:03}", lines / 1000, lines % 1000);
        assert_eq!(row.output, format!("Wrote {lines} lines to notes/tides.md"));
        assert_eq!(page.seen(&format!("{CALL} .cr-title")).await, ["Preparing write_file…", "write_file "]);
    });
}

#[test]
fn calls_at_once_are_rows_with_their_own_arguments() {
    each_browser(async |page| {
        page.open().await;
        page.play_through("Two tool calls at once").await;
        let wire = page.wire("Two tool calls at once").await;
        let mut rows = page.rows().await;
        rows.retain(|row| row.kind == "tool");
        assert_eq!(rows.len(), 2);
        for (row, (name, input)) in rows.iter().zip(&wire.calls) {
            let input: Value = serde_json::from_str(input).expect("arguments");
            assert_eq!(row.title.trim(), name);
            for (path, text) in &row.fields {
                let pointer = format!("/{}", path.replace(['.', '['], "/").replace(']', ""));
                let value = input.pointer(&pointer).unwrap_or_else(|| panic!("{path} in {input}"));
                let said = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                assert_eq!(*text, said, "{path}");
            }
            let station = input["station"].as_str().expect("station");
            assert_eq!(row.fields[0], ("station".to_owned(), station.to_owned()));
            assert!(row.output.starts_with(station), "{}", row.output);
        }
    });
}

#[test]
fn abort_cancels_all_that_is_open() {
    each_browser(async |page| {
        play_into_long_call(page, "As recorded").await;
        page.press("Abort").await;
        page.wait_for_status("Aborted").await;
        page.wait_for(&format!("document.querySelector('{CALL}').dataset.state === 'cancelled'")).await;
        let rows = page.rows().await;
        assert!(rows.iter().all(|row| !row.busy && !row.spinner), "{rows:#?}");
        assert_eq!(rows.last().expect("a row").flags, ["Cancelled"]);
        page.wait_for_fact("Activity", "idle").await;
    });
}

#[test]
fn nothing_grows_after_an_abort() {
    each_browser(async |page| {
        play_into_long_call(page, "As recorded").await;
        page.press("Abort").await;
        page.wait_for(&format!("document.querySelector('{CALL}').dataset.state === 'cancelled'")).await;
        let rows = page.rows().await;
        let late = r#"data: {"id":"chatcmpl-c1","choices":[{"index":0,"delta":{"content":"late"}}]}"#;
        page.call("window.__stream.push(`${arguments[0]}\n\n`); window.__chat.flush();", vec![late.into()]).await;
        page.press("Wire & ops").await; // the page looks at its stats again
        page.wait_for_fact("Late bytes", &(late.len() + 2).to_string()).await;
        assert_eq!(page.rows().await, rows);
    });
}
