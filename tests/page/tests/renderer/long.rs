//! A chat of 10,000 rows: one more costs what it costs in a short one, and the
//! reader gets everywhere in it.

use page::{Key, Page, each_browser};
use serde_json::json;

use crate::{open, run, show};

/// Shows so many rows at once, the last of them a tool that is being prepared and a text that streams.
async fn show_rows(page: &Page, count: usize) {
    open(page).await;
    let tool = "tool: { name: 'f', input: '', inputDone: false, fields: [{ path: ['a'], text: '', closed: false }] }";
    let rows = format!(
        "Array.from({{ length: {count} }}, (_, i) => ({{ id: i + 1, kind: i % 9 ? 'text' : 'reasoning', state: 'done', busy: false, text: `row ${{i + 1}}` }})).concat( \
         {{ id: {count} + 1, kind: 'tool', state: 'preparing', busy: true, {tool} }}, {{ id: {count} + 2, kind: 'text', state: 'streaming', busy: false, text: 'On' }})"
    );
    run(
        page,
        &format!(
            "scene.view = scene.mount(); scene.chat.tell(...{rows}.map((row) => ({{ op: 'insert', id: row.id, before: null, row }})));"
        ),
    )
    .await;
    page.frames(3).await;
}

#[test]
fn a_batch_touches_as_much_of_a_long_chat_as_of_a_short_one() {
    each_browser(async |page| {
        let mut touched = Vec::new();
        for count in [100, 10_000] {
            show_rows(page, count).await;
            let batch = format!(
                "window.touched = []; const watch = new MutationObserver((all) => touched.push(...all.map(({{ type, addedNodes, removedNodes }}) => [type, addedNodes.length, removedNodes.length]))); \
                 watch.observe(scene.log, {{ childList: true, attributes: true, characterData: true, subtree: true }}); \
                 const row = {{ id: {count} + 3, kind: 'text', state: 'done', busy: false, text: 'more' }}; \
                 scene.chat.tell({{ op: 'append', id: {count} + 2, field: 'text', text: 'ce upon a time. '.repeat(200) }}, {{ op: 'append', id: {count} + 1, field: 'tool.fields[0].text', text: 'x' }}, \
                   {{ op: 'update', id: {count} + 2, patch: {{ state: 'done' }} }}, {{ op: 'insert', id: row.id, before: null, row }}, \
                   {{ op: 'insert', id: row.id + 1, before: 50, row: {{ ...row, id: row.id + 1 }} }}, {{ op: 'remove', id: 40 }});"
            );
            run(page, &batch).await;
            page.frames(3).await;
            touched.push(page.eval("touched").await);
            // What layout has to look at on its way to the end of the list.
            let beside = "(() => { let most = 0; for (let el = scene.log.querySelector('[data-state=preparing]'); el !== scene.log; el = el.parentNode) most = Math.max(most, el.parentNode.childElementCount); return most; })()";
            assert!(page.eval(beside).await.as_u64().unwrap() <= 64);
        }
        assert_eq!(touched[0], touched[1]);
    });
}

#[test]
fn rows_out_of_sight_are_left_out_of_layout() {
    each_browser(async |page| {
        show_rows(page, 10_000).await;
        let drawn = "[...scene.log.querySelectorAll('[data-row]')].filter((el) => el.checkVisibility({ contentVisibilityAuto: true })).length";
        let drawn = page.eval(drawn).await.as_u64().unwrap();
        assert!((10..400).contains(&drawn), "{drawn} rows are drawn");
    });
}

#[test]
fn rows_put_before_all_others_are_as_well_divided() {
    each_browser(async |page| {
        show_rows(page, 10).await;
        run(page, "for (let id = 100; id < 5000; id += 500) scene.chat.tell(...Array.from({ length: 500 }, (_, i) => ({ op: 'insert', id: id + i, before: i || id > 100 ? id + i - 1 : 1, row: { id: id + i, kind: 'text', state: 'done', text: `${id + i}` } })));").await;
        let order = "scene.order().join() === scene.chat.state.rows.map(({ id }) => id).join()";
        assert_eq!(page.eval(order).await, true);
        let most = "Math.max(...[...scene.log.querySelectorAll('.cr-rows, .cr-rows :is(.cr-pages, .cr-page)')].map((el) => el.childElementCount))";
        assert!(page.eval(most).await.as_u64().unwrap() <= 64);
        run(page, "scene.chat.tell(...scene.chat.state.rows.map(({ id }) => ({ op: 'remove', id })));").await;
        assert_eq!(page.eval("scene.log.querySelector('.cr-rows').childNodes.length").await, 0);
    });
}

#[test]
fn the_focus_stays_where_rows_are_divided_anew() {
    each_browser(async |page| {
        show_rows(page, 100).await;
        run(page, "document.querySelector('[data-row=\"30\"]').focus();").await;
        run(page, "for (let id = 200; id < 300; id++) scene.chat.insert({ id, kind: 'text', text: 'more' }, 5);").await;
        assert_eq!(page.eval("document.activeElement.dataset.row").await, "30");
    });
}

#[test]
fn the_keyboard_reaches_both_ends_of_a_long_chat() {
    each_browser(async |page| {
        show_rows(page, 10_000).await;
        let at_end = "scene.log.scrollHeight - scene.log.clientHeight - scene.log.scrollTop < 24";
        page.wait_for(at_end).await;
        run(page, "document.querySelector('[data-row=\"10002\"]').focus();").await;
        let in_sight = "(([row, log]) => row.bottom > log.top && row.top < log.bottom)([document.activeElement, scene.log].map((el) => el.getBoundingClientRect()))";
        for (key, row) in [(Key::Home, "1"), (Key::End, "10002")] {
            page.keys(&key).await;
            assert_eq!(page.eval("document.activeElement.dataset.row").await, row);
            page.wait_for(in_sight).await;
        }
        // Who reads in the middle is left there.
        run(page, "document.querySelector('[data-row=\"5000\"]').focus();").await;
        page.wait_for("!document.querySelector('.cr-jump').hidden").await;
        page.frames(5).await;
        run(page, "window.before = document.activeElement.getBoundingClientRect().top; for (let i = 0; i < 50; i++) scene.chat.append(10002, 'text', 'more\\n');").await;
        page.frames(5).await;
        assert_eq!(page.eval("document.activeElement.getBoundingClientRect().top - before").await, 0);
        page.find(".cr-jump").await.click().await.expect("a click");
        page.wait_for(at_end).await;
        page.frames(3).await;
        // Firefox calls it an error that rows which come into sight are not as high as was thought.
        run(page, "window.__problems = window.__problems.filter((problem) => !problem.startsWith('error: ResizeObserver loop completed'));").await;
    });
}

#[test]
fn a_text_is_the_same_in_one_block_and_in_many() {
    each_browser(async |page| {
        show(page, "[{ id: 1, kind: 'text', state: 'streaming', text: '' }]").await;
        // Pieces of all lengths, some of which take back what came before.
        run(page, "let seed = 7; const below = (n) => (seed = (seed * 48271) % 2147483647) % n; \
             for (let i = 0; i < 400; i++) { \
               const { length } = scene.chat.state.rows[0].text ?? ''; \
               scene.chat.append(1, 'text', `${'word 😊 é '.repeat(below(40))}${below(3) ? '' : '\\n'.repeat(below(4))}`, below(8) ? undefined : Math.max(0, length - below(1500))); \
             }").await;
        assert_eq!(
            page.eval("document.querySelector('.cr-text').textContent === scene.chat.state.rows[0].text").await,
            true
        );
        assert!(page.eval("document.querySelectorAll('.cr-block').length").await.as_u64().unwrap() > 10);
        assert_eq!(page.eval("[...document.querySelectorAll('.cr-block')].every((el) => el.textContent)").await, true);
        // Lines stand, and are copied, as they came.
        run(page, "window.lines = Array.from({ length: 300 }, (_, i) => (i % 7 ? `line ${i}` : '')).join('\\n') + '\\nend'; scene.chat.append(1, 'text', lines, 0); scene.chat.update(1, { state: 'done' }); \
             const plain = document.createElement('div'); plain.className = 'cr-text'; plain.id = 'plain'; plain.textContent = lines; document.querySelector('.cr-body').append(plain);").await;
        assert!(page.eval("document.querySelectorAll('.cr-block').length").await.as_u64().unwrap() > 1);
        assert_eq!(
            page.eval(
                "document.querySelector('.cr-text').offsetHeight - document.querySelector('#plain').offsetHeight"
            )
            .await,
            0
        );
        run(page, "getSelection().selectAllChildren(document.querySelector('.cr-text'));").await;
        assert_eq!(page.eval("getSelection().toString() === lines").await, json!(true));
    });
}
