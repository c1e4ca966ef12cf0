//! Calls that a provider announces before it reports them: the label moves, silence is told, and the rows go.

use page::{Page, each_browser};

const SCENE: &str = "Two calls in preparation";
const ROWS: &str = "#log [data-kind=tool-preparing]";

async fn play(page: &Page, speed: &str) {
    page.open().await;
    page.choose(SCENE).await;
    page.set_speed(speed).await;
    page.watch(&format!("{ROWS} .cr-bytes")).await;
    page.press("Play").await;
}

/// Plays until both calls are announced, then pauses.
async fn play_into_both(page: &Page) {
    play(page, "As recorded").await;
    page.wait_for(&format!("document.querySelectorAll('{ROWS}').length === 2")).await;
    page.press("Pause").await;
    page.frames(2).await;
}

#[test]
fn two_calls_at_once_are_two_rows_with_spinners() {
    each_browser(async |page| {
        play_into_both(page).await;
        let rows = page.rows().await;
        let prepared: Vec<_> = rows.iter().filter(|row| row.kind == "tool-preparing").collect();
        let titles: Vec<_> = prepared.iter().map(|row| &*row.title).collect();
        assert_eq!(titles, ["Preparing write_file…", "Preparing append_file…"]);
        assert!(prepared.iter().all(|row| row.busy && row.spinner && row.state == "preparing"), "{rows:#?}");
        assert_eq!(page.row("reasoning").await.text.matches('\0').count(), 0);
    });
}

#[test]
fn the_label_goes_through_bytes_kilobytes_and_megabytes_and_the_call_ends_the_row() {
    each_browser(async |page| {
        play(page, "4× faster").await;
        page.wait_for_end().await;
        let labels = page.seen(&format!("{ROWS} .cr-bytes")).await;
        let mut units: Vec<_> = labels.iter().map(|label| label.split_once(' ').expect("a unit").1).collect();
        units.dedup();
        // At last the row of the second call is the first: the first one's call has begun.
        assert!(units.starts_with(&["B", "KB", "MB"]), "{labels:?}");
        let rows = page.rows().await;
        let shown: Vec<_> = rows.iter().map(|row| (&*row.kind, &*row.state, row.bytes.as_str())).collect();
        assert_eq!(
            shown,
            [("user", "done", ""), ("reasoning", "done", ""), ("tool", "done", "44.9 KB"), ("tool", "done", "1.2 MB")]
        );
        assert_eq!(rows[3].output, "Wrote 30,811 lines to notes/tides.md");
    });
}

#[test]
fn a_row_says_that_nothing_comes_and_stops_saying_so() {
    each_browser(async |page| {
        play_into_both(page).await;
        let quiet =
            format!("[...document.querySelectorAll('{ROWS}')].map((row) => /quiet for \\d+ s/.test(row.textContent))");
        assert_eq!(page.eval(&quiet).await, serde_json::json!([false, false]));
        page.wait_for(&format!("({quiet}).every(Boolean)")).await;
        page.press("Play").await;
        page.wait_for(&format!("({quiet}).includes(false)")).await;
    });
}

#[test]
fn an_abort_ends_the_rows() {
    each_browser(async |page| {
        play_into_both(page).await;
        page.press("Abort").await;
        page.wait_for(&format!("!document.querySelector('{ROWS}')")).await;
        assert_eq!(page.text("#status").await, "Aborted");
        assert!(page.rows().await.iter().all(|row| !row.busy && !row.spinner));
    });
}

#[test]
fn chunks_of_a_call_in_parts_are_one_call() {
    each_browser(async |page| {
        page.open().await;
        page.play_through("Sources, and a call in parts").await;
        let rows = page.rows().await;
        let shown: Vec<_> = rows.iter().map(|row| (&*row.kind, &*row.state)).collect();
        assert_eq!(shown, [("user", "done"), ("reasoning", "done"), ("text", "done"), ("tool", "done")]);
        assert_eq!(rows[3].output, "Brest: high water 04:12, low water 10:31");
        assert_eq!(page.texts("#log [data-kind=text] a").await, ["The gauge at Brest"]);
    });
}
