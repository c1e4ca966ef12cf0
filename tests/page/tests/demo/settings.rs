//! Theme, language and width of the chat.

use page::{Page, Reader, each_browser, each_browser_of};
use serde_json::json;

/// How light the background of the chat is, from 0 to 255.
async fn lightness(page: &Page) -> u64 {
    let colour = "getComputedStyle(document.querySelector('#log')).backgroundColor.match(/[\\d.]+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 3 | 0";
    page.eval(colour).await.as_u64().expect("a colour")
}

/// The theme that the system asks for, then each of the two.
async fn check_themes(page: &Page, system_is_dark: bool) {
    page.open().await;
    assert_eq!(lightness(page).await < 128, system_is_dark);
    page.select("Theme", "Dark").await;
    assert!(lightness(page).await < 64);
    page.select("Theme", "Light").await;
    assert!(lightness(page).await > 192);
    page.select("Theme", "System").await;
    assert_eq!(lightness(page).await < 128, system_is_dark);
}

#[test]
fn the_theme_is_that_of_the_system_or_the_one_chosen() {
    each_browser(async |page| check_themes(page, false).await);
}

#[test]
fn a_dark_system_has_a_dark_page() {
    each_browser_of(Reader::Dark, async |page| check_themes(page, true).await);
}

#[test]
fn another_language_changes_rows_that_stand_and_rows_to_come() {
    each_browser(async |page| {
        page.open().await;
        page.play_through("A coding task").await;
        let rows = page.rows().await;
        assert_eq!(rows[0].name, "You");
        page.select("Language", "Français").await;
        page.wait_for("document.querySelector('#log').lang === 'fr'").await;
        assert_eq!(page.rows().await[0].name, "Vous");
        assert!(page.text("#panels .cr-usage").await.contains("Coût"));
        page.select("Language", "中文").await;
        page.wait_for("document.querySelector('#log').lang === 'zh'").await;
        let chinese = page.rows().await;
        assert!(chinese[0].name.chars().all(|c| !c.is_ascii()), "{}", chinese[0].name);
        page.press("Restart").await;
        page.wait_for_ask().await;
        assert_eq!(page.rows().await[0].name, chinese[0].name);
        page.select("Language", "English").await;
        page.wait_for("document.querySelector('#log').lang === 'en'").await;
        assert_eq!(page.rows().await[0].name, "You");
    });
}

#[test]
fn a_narrow_chat_is_as_wide_as_a_side_bar_and_needs_no_sideways_scrolling() {
    each_browser(async |page| {
        page.open().await;
        page.press("Narrow chat").await;
        let width = "document.querySelector('.chat').getBoundingClientRect().width";
        assert_eq!(page.eval(width).await, json!(360));
        for recording in ["A coding task", "A hostile stream", "Two calls in preparation"] {
            page.play_through(recording).await;
            let wide = "['#log', '.chat'].filter((it) => document.querySelector(it).scrollWidth > document.querySelector(it).clientWidth)";
            assert_eq!(page.eval(wide).await, json!([]), "{recording}");
        }
        page.press("Narrow chat").await;
        page.wait_for(&format!("{width} > 400")).await;
    });
}
