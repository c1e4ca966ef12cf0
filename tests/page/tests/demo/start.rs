//! The page as it opens, and what it hears of its own problems.

use page::each_browser;

#[test]
fn opens_without_a_problem() {
    each_browser(async |page| {
        page.open().await;
        page.assert_no_problems().await;
    });
}

#[test]
fn an_inline_script_does_not_run_and_is_told() {
    each_browser(async |page| {
        page.open().await;
        let inject = "const script = document.createElement('script'); \
                      script.textContent = 'window.__ran = true'; document.body.append(script);";
        page.call(inject, vec![]).await;
        let problem = page.take_problem("csp: script-src").await;
        assert!(problem.ends_with("inline"), "{problem}");
        assert_eq!(page.eval("window.__ran === true").await, false);
        assert_eq!(page.text("#problems").await, "1 page problem");
    });
}

#[test]
fn an_error_and_a_rejection_are_told() {
    each_browser(async |page| {
        page.open().await;
        page.call("window.setTimeout('document.title', 0)", vec![]).await;
        page.take_problem("csp: script-src").await;
        page.call("window.reportError(new Error('provoked'));", vec![]).await;
        assert!(page.take_problem("error: ").await.contains("provoked"));
        let load = "const script = document.createElement('script'); script.src = 'none.js'; document.body.append(script);";
        page.call(load, vec![]).await;
        assert!(page.take_problem("load: script").await.ends_with("none.js"));
    });
}
