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
        // By the policy of the server and by that of the page itself.
        for problem in page.take_problems(2, "csp: ").await {
            assert!(problem.starts_with("csp: script-src") && problem.ends_with(" inline"), "{problem}");
        }
        assert_eq!(page.eval("window.__ran === true").await, false);
        assert_eq!(page.text("#problems").await, "2 page problems");
    });
}

#[test]
fn an_error_on_the_page_is_told() {
    each_browser(async |page| {
        page.open().await;
        page.call("window.dispatchEvent(new ErrorEvent('error', { message: 'provoked' }));", vec![]).await;
        page.take_problems(1, "error: provoked").await;
        assert_eq!(page.text("#problems").await, "1 page problem");
    });
}

#[test]
fn a_script_that_does_not_load_is_told() {
    each_browser(async |page| {
        page.open().await;
        let load = "const script = document.createElement('script'); \
                    script.src = 'none.js'; document.body.append(script);";
        page.call(load, vec![]).await;
        let problems = page.take_problems(1, "load: script ").await;
        assert!(problems[0].ends_with("/none.js"), "{problems:?}");
        assert!(page.text("#reason").await.ends_with("/none.js did not load."));
    });
}
