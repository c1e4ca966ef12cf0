//! Every kind of row is drawn: in order, in the colours of the reader, and so
//! that nobody is kept out.

use page::{Reader, each_browser, each_browser_of};
use serde_json::json;

use crate::{mount_every_kind, open, run, seen, show, show_every_kind, unroll};

#[test]
fn every_kind_is_drawn_under_its_name() {
    each_browser(async |page| {
        show_every_kind(page).await;
        let bare = "[...scene.log.querySelectorAll('[data-row]')].filter((el) => !el.innerText.trim() && !el.querySelector('img')).map((el) => el.dataset.kind)";
        assert_eq!(page.eval(bare).await, json!([]), "rows that show nothing");
        let kinds = "[...new Set([...scene.log.querySelectorAll('[data-row]')].map((el) => el.dataset.kind))].length";
        assert_eq!(page.eval(kinds).await, 14);
        let label = |role: &str, name: &str| (role.to_owned(), name.to_owned());
        assert_eq!(page.accessible("#log").await, label("log", "Chat"));
        for (row, name) in
            [(1, "You"), (2, "Reasoning"), (4, "Assistant"), (6, "Tool"), (16, "Question"), (24, "Error")]
        {
            assert_eq!(page.accessible(&format!("[data-row='{row}']")).await, label("article", name));
        }
        assert_eq!(page.accessible("[data-row='9'] .cr-ask").await, label("group", "Permission"));
        assert_eq!(page.accessible("[data-row='9'] .cr-ask button").await, label("button", "Allow once"));
        assert_eq!(page.accessible("[data-row='16'] .cr-own").await, label("textbox", "Your own answer"));
        assert_eq!(page.accessible("[data-row='17'] input").await, label("checkbox", "Dover"));
        assert_eq!(page.accessible("[data-row='9'] .cr-place").await, label("button", "notes/tides.md:13"));
        assert_eq!(page.accessible(".cr-connection").await, label("status", "Connection"));
        // The list itself is silent, what is announced is said politely.
        assert_eq!(page.eval("scene.log.ariaLive").await, "off");
        assert_eq!(page.eval("document.querySelector('.cr-live').ariaLive").await, "polite");
    });
}

#[test]
fn axe_finds_no_barrier_in_light_colours() {
    each_browser(async |page| {
        show_every_kind(page).await;
        unroll(page).await;
        page.screenshot("kinds-light").await;
        assert_eq!(page.axe().await, [""; 0]);
        page.resize(1280, 800).await;
    });
}

#[test]
fn axe_finds_no_barrier_in_dark_colours() {
    each_browser_of(Reader::Dark, async |page| {
        show_every_kind(page).await;
        unroll(page).await;
        page.screenshot("kinds-dark").await;
        assert_eq!(page.axe().await, [""; 0]);
    });
}

#[test]
fn a_narrow_page_needs_no_sideways_scrolling() {
    each_browser(async |page| {
        page.goto_narrow("renderer/index.html", 360).await;
        page.wait_for("window.scene").await;
        mount_every_kind(page).await;
        let wide = "[document.documentElement, scene.log, scene.panels, ...scene.log.querySelectorAll('.cr-value')].filter((el) => el.scrollWidth > el.clientWidth).map((el) => el.className || el.localName)";
        assert_eq!(page.eval(wide).await, json!([]));
        page.screenshot("kinds-narrow-end").await;
        run(page, "scene.log.scrollTop = scene.log.scrollHeight / 3;").await;
        page.frames(3).await;
        page.screenshot("kinds-narrow").await;
    });
}

/// A title may get shorter, but not to a letter a line; one's own answer and what sends it stay together.
#[test]
fn a_narrow_chat_breaks_its_lines_where_they_are_read() {
    each_browser(async |page| {
        for (dir, width) in [("ltr", 300), ("ltr", 360), ("rtl", 360)] {
            page.goto_narrow("renderer/index.html", width).await;
            page.wait_for("window.scene").await;
            let rows = "scene.view = scene.mount(); document.documentElement.dir = arguments[0]; \
                 scene.chat.insert({ id: 1, kind: 'tool', state: 'pending', tool: { name: 'command', input: '{}', inputDone: true }, permission: { options: [{ id: 'a', kind: 'allow_once' }] }, bytes: { count: 25, label: '25 B' } }); \
                 scene.chat.insert({ id: 2, kind: 'tool-preparing', state: 'preparing', busy: true, quietSince: Date.now() - 5000, tool: { name: 'write_to_file', input: '' }, bytes: { count: 1434, label: '1.4 KB' } }); \
                 for (const label of ['Yes', 'Metres, everywhere']) scene.chat.insert({ id: label.length, kind: 'question', state: 'pending', text: 'Which?', question: { options: [{ label }], custom: true } });";
            page.call(rows, vec![json!(dir)]).await;
            page.frames(2).await;
            let titles = "[1, 2].map((id) => ((el) => [el.getBoundingClientRect().height < 2 * parseFloat(getComputedStyle(el).fontSize), el.clientWidth >= 60])(document.querySelector(`[data-row='${id}'] .cr-title`)))";
            assert_eq!(page.eval(titles).await, json!([[true, true], [true, true]]), "{dir} {width}");
            let apart = "[3, 18].map((id) => { const [own, send] = ['.cr-own', '.cr-main'].map((name) => document.querySelector(`[data-row='${id}'] ${name}`).getBoundingClientRect()); return Math.abs(own.top - send.top) < 3; })";
            assert_eq!(page.eval(apart).await, json!([true, true]), "{dir} {width}");
            page.client().close_window().await.expect("the narrow window");
            let windows = page.client().windows().await.expect("windows");
            page.client().switch_to_window(windows[0].clone()).await.expect("the first window");
        }
    });
}

#[test]
fn the_editors_high_contrast_and_the_compact_look_are_drawn() {
    each_browser(async |page| {
        open(page).await;
        run(page, "document.body.className = 'vscode-high-contrast'; scene.view = scene.mount({ compact: true }); scene.everyKind(scene.chat);").await;
        unroll(page).await;
        page.screenshot("kinds-compact-contrast").await;
        let border = "getComputedStyle(document.querySelector('.cr-value')).borderTopWidth";
        assert_eq!(page.eval(border).await, "1px");
        page.resize(1280, 800).await;
    });
}

#[test]
fn rows_stand_where_they_were_inserted() {
    each_browser(async |page| {
        show(page, "[1, 2, 3].map((id) => ({ id, kind: 'text', text: `${id}` }))").await;
        run(page, "scene.chat.insert({ id: 4, kind: 'notice', text: '4' }, 1); scene.chat.insert({ id: 5, kind: 'text', text: '5' }, 3);").await;
        assert_eq!(page.eval("scene.order()").await, json!([4, 1, 2, 5, 3]));
        run(page, "scene.chat.remove(1); scene.chat.remove(3); scene.chat.insert({ id: 6, kind: 'text', text: '6' }, 2); scene.chat.insert({ id: 7, kind: 'text', text: '7' });").await;
        assert_eq!(page.eval("scene.order()").await, json!([4, 6, 2, 5, 7]));
    });
}

#[test]
fn tools_of_a_group_stand_close_together() {
    each_browser(async |page| {
        let tool = "(id, group) => ({ id, kind: 'tool', state: 'done', tool: { name: 'readFile', input: '{}' }, meta: group && { group } })";
        show(page, &format!("[[1, 'a'], [2, 'a'], [3], [4]].map(([id, group]) => ({tool})(id, group))")).await;
        let gap = "(a, b) => { const box = (id) => document.querySelector(`[data-row='${id}'] > .cr-body`).getBoundingClientRect(); \
                    return box(b).top - box(a).bottom; }";
        let gaps = page.eval(&format!("[({gap})(1, 2), ({gap})(3, 4)]")).await;
        let gaps: [f64; 2] = serde_json::from_value(gaps).expect("two gaps");
        assert!(gaps[0] < 2.0 && gaps[1] > 5.0, "{gaps:?}");
    });
}

#[test]
fn rows_inserted_and_removed_anywhere_stand_as_in_a_plain_list() {
    each_browser(async |page| {
        show(page, "[]").await;
        let mixed = "let seed = 7, next = 1; \
             const random = (n) => (seed = (seed * 48271) % 2147483647) % n; \
             for (let i = 0; i < 900; i++) { \
               const { rows } = scene.chat.state, some = rows[random(rows.length || 1)]; \
               if (rows.length > 3 && random(5) === 0) scene.chat.remove(some.id); \
               else scene.chat.insert({ id: next, kind: 'text', text: `${next++}` }, random(3) ? some?.id ?? null : null); \
             } \
             return [scene.order().join(), scene.chat.state.rows.map(({ id }) => id).join()];";
        let orders = page.call(mixed, vec![]).await;
        assert_eq!(orders[0], orders[1]);
    });
}

#[test]
fn a_nested_row_moves_into_its_parent_once_that_is_there() {
    each_browser(async |page| {
        let inside = "[...document.querySelectorAll('[data-row=\"1\"] [data-row]')].map((el) => +el.dataset.row)";
        show(page, "[{ id: 2, kind: 'text', text: 'a', parent: 1 }, { id: 3, kind: 'text', text: 'b', parent: 2 }, { id: 4, kind: 'text', text: 'c', parent: 1 }]").await;
        assert_eq!(page.eval("scene.order()").await, json!([2, 3, 4]));
        run(page, "document.querySelector('[data-row=\"3\"]').focus(); scene.chat.insert({ id: 1, kind: 'tool', tool: { name: 'agent', input: '', inputDone: true } });").await;
        assert_eq!(page.eval(inside).await, json!([2, 3, 4]));
        assert_eq!(page.eval("document.activeElement.dataset.row").await, "3");
        run(page, "scene.chat.remove(1);").await;
        assert_eq!(page.eval("scene.order()").await, json!([2, 3, 4]));
        assert_eq!(seen(page, "[data-row='2'] .cr-text").await, "a");
        // Two that claim each other hide nothing.
        run(page, "scene.chat.update(2, { parent: 3 });").await;
        assert_eq!(page.eval("scene.order()").await, json!([2, 3, 4]));
    });
}

#[test]
fn panels_are_drawn_and_go_when_they_are_empty() {
    each_browser(async |page| {
        show_every_kind(page).await;
        assert_eq!(
            page.eval("[...scene.panels.children].map((el) => el.className)").await,
            json!(
                ["session", "connection", "mode", "plan", "queue", "usage"].map(|name| format!("cr-panel cr-{name}"))
            )
        );
        assert_eq!(seen(page, ".cr-plan summary").await, "Plan: 1 of 3 done");
        assert_eq!(seen(page, ".cr-mode").await, "Mode: Plan first");
        assert!(page.text(".cr-usage").await.ends_with("Cost: $0.0432"), "{}", page.text(".cr-usage").await);
        run(page, "scene.chat.panel('plan', { entries: null }); scene.chat.panel('queue', { steering: [], followUp: [] }); scene.chat.panel('mode', { current: 'never-heard-of' });").await;
        assert_eq!(page.eval("document.querySelectorAll('.cr-plan, .cr-queue').length").await, 0);
        assert_eq!(seen(page, ".cr-mode").await, "Mode: never-heard-of");
        run(page, "scene.chat.tell({ op: 'reset' });").await;
        assert_eq!(page.eval("scene.panels.childElementCount").await, 0);
    });
}
