//! The demo's start page, as it opens.

use page::each_browser;

#[test]
fn opens_without_a_problem() {
    each_browser(async |page| {
        page.goto("").await;
        page.wait_for("document.querySelector('#app[data-ready], #failure:not([hidden])')").await;
        assert_eq!(page.text("#reason").await, "");
        page.assert_no_problems().await;
    });
}
