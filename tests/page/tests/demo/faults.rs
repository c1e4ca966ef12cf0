//! Streams that mean harm, break off, or are broken.

use page::each_browser;

const HOSTILE: &str = "A hostile stream";

#[test]
fn markup_from_the_wire_stays_text() {
    each_browser(async |page| {
        page.open().await;
        page.play_through(HOSTILE).await;
        let text = page.row("text").await.text;
        assert!(text.contains("<img src=x onerror=alert(1)> & <script>alert(2)</script> "), "{text:?}");
        assert!(text.contains("[a link](javascript:alert(3))"), "{text:?}");
        assert_eq!(page.texts("#log img, #log script, #log a, #log b, #log iframe, #log style").await, [""; 0]);
        page.assert_no_problems().await;
    });
}

#[test]
fn a_key_called_proto_is_only_an_argument() {
    each_browser(async |page| {
        page.open().await;
        page.play_through(HOSTILE).await;
        let call = page.rows().await.into_iter().find(|row| row.kind.starts_with("tool")).expect("a call");
        assert_eq!(call.fields[0], ("__proto__.admin".to_owned(), "true".to_owned()));
        assert_eq!(call.fields[1], ("path".to_owned(), "<b>x</b>".to_owned()));
        assert_eq!(page.eval("({}).admin === undefined").await, true);
    });
}

#[test]
fn faults_are_listed_with_their_place() {
    each_browser(async |page| {
        page.open().await;
        page.play_through(HOSTILE).await;
        page.wait_for("document.querySelectorAll('#faults li').length === 1").await;
        let fault = page.text("#faults li").await;
        assert!(fault.starts_with("json at byte "), "{fault}");
        assert!(fault.contains(r#"{"id":"chatcmpl-g1","choices":[{"index":0,"#), "{fault}");
        assert_eq!(page.fact("faulted").await, "1");
        assert_eq!(page.fact("skipped").await, "1");
    });
}

#[test]
fn a_stream_that_breaks_off_leaves_its_rows_interrupted() {
    each_browser(async |page| {
        page.open().await;
        page.play_through(HOSTILE).await;
        assert_eq!(page.text("#status").await, "Ended early");
        let rows = page.rows().await;
        let call = rows.last().expect("a row");
        assert_eq!((&*call.state, call.busy, call.spinner), ("interrupted", false, false));
        assert_eq!(call.flags, ["Interrupted"]);
    });
}

#[test]
fn an_error_in_the_stream_is_a_row_and_ends_the_answer() {
    each_browser(async |page| {
        page.open().await;
        page.play_through("An error in mid-answer").await;
        let rows = page.rows().await;
        let kinds: Vec<_> = rows.iter().map(|row| (&*row.kind, &*row.state)).collect();
        assert_eq!(kinds, [("user", "done"), ("text", "interrupted"), ("error", "done")]);
        assert!(rows[2].error.contains("The model is overloaded. Please try again shortly."), "{}", rows[2].error);
        assert!(rows[2].error.contains("overloaded"), "{}", rows[2].error);
        assert_eq!(rows[1].text, page.wire("An error in mid-answer").await.texts[0]);
    });
}
