//! Tools of one group, one after the other: a line of their own once all are done, and nothing hidden that matters.

use page::{Key, Page, each_browser};
use serde_json::{Value, json};

use crate::{open, run, seen, show};

/// Rows of a group, as JavaScript: `tool(id, more)`, done and only reading unless `more` says otherwise.
const TOOL: &str = "(id, { state = 'done', group = 'g', kind = 'read', tool, ...more } = {}) => ({ id, kind: 'tool', state, busy: state === 'running', \
     tool: { name: 'readFile', title: `${id}.js`, kind, input: '{}', inputDone: true, fields: [{ path: ['path'], text: `${id}.js`, closed: true }], ...tool }, \
     ...(group && { meta: { group } }), ...more })";

/// What is seen of the rows in `root`, in turn: a fold's line, and the ids of rows that are not folded away.
const SHAPE: &str = "(root = scene.log) => [...root.querySelectorAll('[data-row]')].flatMap((el) => { \
     const [line, body] = [':scope > .cr-fold:not([hidden])', ':scope > .cr-body'].map((name) => el.querySelector(name)); \
     return [...(line ? [line.textContent] : []), ...(body.hidden ? [] : [+el.dataset.row])]; })";

async fn shape(page: &Page) -> Value {
    page.eval(&format!("({SHAPE})()")).await
}

/// Shows rows, `rows` being JavaScript in which `tool` makes one.
async fn show_tools(page: &Page, rows: &str) {
    show(page, "[]").await;
    run(page, &format!("window.tool = {TOOL}; for (const row of {rows}) scene.chat.insert(row);")).await;
}

async fn at(page: &Page) -> Value {
    page.eval("document.activeElement.dataset.row ?? document.activeElement.className").await
}

#[test]
fn three_that_are_done_are_one_line() {
    each_browser(async |page| {
        show_tools(page, "[tool(1), tool(2)]").await;
        assert_eq!(shape(page).await, json!([1, 2]));
        run(page, "scene.chat.insert(tool(3));").await;
        assert_eq!(shape(page).await, json!(["Read 3 files"]));
        let heights = "['', 'cr-compact'].map((look) => { scene.log.className = `cr-log ${look}`; return [2, 3].map((id) => document.querySelector(`[data-row='${id}']`).offsetHeight); })";
        assert_eq!(page.eval(heights).await, json!([[0, 0], [0, 0]]));
        run(
            page,
            "scene.chat.insert(tool(4, { kind: 'search' })); scene.chat.insert({ id: 5, kind: 'text', text: 'So.' });",
        )
        .await;
        assert_eq!(shape(page).await, json!(["4 steps", 5]));
        run(page, "scene.view.setCatalogue(scene.catalogues.fr, 'fr');").await;
        assert_eq!(shape(page).await, json!(["4 étapes", 5]));
        run(page, "scene.chat.remove(4); scene.view.setCatalogue(scene.catalogues.zh, 'zh');").await;
        assert_eq!(shape(page).await, json!(["已读取 3 个文件", 5]));
    });
}

#[test]
fn a_line_opens_and_closes_by_pointer_and_by_key() {
    each_browser(async |page| {
        show_tools(page, "[tool(1), tool(2), tool(3), { id: 4, kind: 'text', text: 'So.' }]").await;
        let line = (String::from("button"), String::from("Read 3 files"));
        assert_eq!(page.accessible(".cr-fold").await, line);
        for open in [true, false] {
            page.click(".cr-fold").await;
            assert_eq!(page.eval("document.querySelector('.cr-fold').ariaExpanded").await, json!(open.to_string()));
            assert_eq!(
                shape(page).await,
                if open { json!(["Read 3 files", 1, 2, 3, 4]) } else { json!(["Read 3 files", 4]) }
            );
        }
        page.keys(&Key::Enter).await;
        assert_eq!(shape(page).await, json!(["Read 3 files", 1, 2, 3, 4]));
        // What the reader has opened stays open, whatever comes and wherever the focus goes.
        run(page, "scene.chat.insert(tool(5), 4); document.querySelector('[data-row=\"4\"]').focus(); scene.chat.update(2, {});").await;
        assert_eq!(shape(page).await, json!(["Read 4 files", 1, 2, 3, 5, 4]));
    });
}

#[test]
fn what_runs_asks_fails_or_says_something_is_not_folded_away() {
    each_browser(async |page| {
        for held in [
            "state: 'running'",
            "state: 'pending'",
            "state: 'pending', permission: { options: [{ id: 'y', kind: 'allow_once' }] }",
            "state: 'failed', error: { message: 'no such file' }",
            "state: 'interrupted'",
            "state: 'cancelled'",
            "error: { message: 'half of it' }",
            "text: 'It is empty.'",
        ] {
            show_tools(page, &format!("[tool(1), tool(2, {{ {held} }}), tool(3)]")).await;
            assert_eq!(shape(page).await, json!(["Read 3 files", 1, 2, 3]), "{held}");
            run(page, "document.querySelector('.cr-fold').click();").await;
            assert_eq!(shape(page).await, json!(["Read 3 files", 1, 2, 3]), "{held}");
            let done = "const { permission } = scene.chat.state.rows[1]; scene.chat.update(2, { state: 'done', busy: false, error: null, text: null, ...(permission && { permission: { ...permission, chosen: 'y' } }) });";
            run(page, done).await;
            assert_eq!(shape(page).await, json!(["Read 3 files"]), "{held}");
            assert_eq!(seen(page, "[data-row='2']").await, "", "{held}");
        }
        // Of another kind, or with rows inside, wherever those stand in the chat.
        show_tools(page, "[tool(1), { id: 2, kind: 'text', text: 'Hm.', meta: { group: 'g' } }, tool(3), tool(4), tool(5), { id: 6, kind: 'text', text: 'So.' }]").await;
        assert_eq!(shape(page).await, json!([1, 2, "Read 3 files", 6]));
        run(page, "scene.chat.insert({ id: 7, kind: 'text', text: 'Inside', parent: 4 });").await;
        assert_eq!(shape(page).await, json!([1, 2, "Read 3 files", 3, 4, 7, 5, 6]));
    });
}

#[test]
fn a_row_that_fails_opens_the_fold_it_is_in() {
    each_browser(async |page| {
        show_tools(page, "[tool(1), tool(2), tool(3), tool(4)]").await;
        run(page, "window.nodes = [...document.querySelectorAll('[data-row]')]; scene.chat.update(3, { state: 'failed', error: { message: 'gone' } });").await;
        assert_eq!(shape(page).await, json!(["Read 4 files", 1, 2, 3, 4]));
        assert_eq!(seen(page, "[data-row='3'] .cr-flag").await, "Failed");
        // It leaves the group, and two are too few.
        run(page, "scene.chat.update(3, { meta: null });").await;
        assert_eq!(shape(page).await, json!([1, 2, 3, 4]));
        run(page, "scene.chat.remove(3);").await;
        assert_eq!(shape(page).await, json!(["Read 3 files"]));
        assert_eq!(page.eval("nodes.map((el) => el.isConnected)").await, json!([true, true, false, true]));
    });
}

/// Whatever is inserted, removed or changed in whatever order: what is seen is what a page drawn anew shows, and
/// each row is the element it was.
#[test]
fn folds_are_the_same_in_any_order_of_ops() {
    each_browser(async |page| {
        show_tools(page, "[]").await;
        let check = format!(
            "const shape = {SHAPE}, nodes = new Map(); let seed = 11, next = 1; \
             const random = (n) => (seed = (seed * 48271) % 2147483647) % n, pick = (...all) => all[random(all.length)]; \
             const some = () => {{ const {{ rows }} = scene.chat.state; return rows[random(rows.length || 1)]; }}; \
             for (let round = 0; round < 120; round++) {{ \
               const ops = []; \
               for (let i = random(6); i >= 0; i--) {{ \
                 const row = some(), id = row?.id; \
                 if (row && random(4) === 0 && !ops.some((op) => op.id === id)) ops.push({{ op: 'remove', id }}); \
                 else if (row && random(2)) {{ if (!ops.some((op) => op.op === 'remove' && op.id === id)) ops.push({{ op: 'update', id, patch: pick( \
                   {{ state: 'failed' }}, {{ state: 'done', error: null }}, {{ meta: {{ group: pick('a', 'b') }} }}, {{ state: 'done' }}, {{ meta: null }}, {{ parent: null }}) }}); }} \
                 else {{ \
                   const before = random(2) && row && !ops.some((op) => op.op === 'remove' && op.id === id) ? id : null; \
                   ops.push({{ op: 'insert', id: next, before, row: random(6) ? tool(next, {{ group: pick('a', 'a', 'b'), state: random(9) ? 'done' : 'running' }}) : {{ id: next, kind: 'text', state: 'done', text: `${{next}}` }} }}); \
                   next++; \
                 }} \
               }} \
               scene.chat.tell(...ops); \
               const fresh = scene.rows.mountRows(document.querySelector('#other'), scene.chat); \
               const [now, anew] = [shape(), shape(document.querySelector('#other'))].map(String); \
               fresh.unmount(); \
               if (now !== anew) return [round, now, anew, JSON.stringify(ops)]; \
               for (const el of scene.log.querySelectorAll('[data-row]')) {{ \
                 if (nodes.has(el.dataset.row) && nodes.get(el.dataset.row) !== el) return [round, 'another element', el.dataset.row]; \
                 nodes.set(el.dataset.row, el); \
               }} \
             }} \
             return String(shape()).includes('Read');"
        );
        assert_eq!(page.call(&check, vec![]).await, true);
    });
}

#[test]
fn the_keyboard_gets_into_a_fold_and_out_of_it() {
    each_browser(async |page| {
        show_tools(page, "[{ id: 1, kind: 'text', text: 'First' }, tool(2), tool(3), tool(4), { id: 5, kind: 'text', text: 'Last' }]").await;
        assert_eq!(shape(page).await, json!([1, "Read 3 files", 5]));
        run(page, "document.querySelector('[data-row=\"1\"]').focus();").await;
        page.keys(&Key::Tab).await; // the copy button
        page.keys(&Key::Tab).await;
        assert_eq!(at(page).await, "cr-fold");
        assert_eq!(shape(page).await, json!([1, "Read 3 files", 5]), "the line itself opens nothing");
        run(page, "document.querySelector('[data-row=\"1\"]').focus();").await;
        for (row, key) in [("2", Key::Down), ("3", Key::Down), ("4", Key::Down), ("3", Key::Up), ("4", Key::Down)] {
            page.keys(&key).await;
            assert_eq!(at(page).await, row);
            assert_eq!(shape(page).await, json!([1, "Read 3 files", 2, 3, 4, 5]));
            let ring = "(({ width, height }) => width > 100 && height > 15)(document.activeElement.getBoundingClientRect()) && document.activeElement.matches(':focus-visible')";
            assert_eq!(page.eval(ring).await, true, "row {row} is not seen");
        }
        page.keys(&Key::Down).await;
        assert_eq!(at(page).await, "5");
        assert_eq!(shape(page).await, json!([1, "Read 3 files", 5]));
        // Open for the focus alone, it is closed by its line at the first press.
        page.keys(&Key::Up).await;
        assert_eq!(shape(page).await, json!([1, "Read 3 files", 2, 3, 4, 5]));
        page.click(".cr-fold").await;
        assert_eq!(shape(page).await, json!([1, "Read 3 files", 5]));
    });
}

#[test]
fn a_group_that_is_done_stays_open_while_it_has_the_focus() {
    each_browser(async |page| {
        show_tools(page, "[tool(1), tool(2), tool(3, { state: 'running' }), { id: 4, kind: 'text', text: 'Last' }]")
            .await;
        run(page, "document.querySelector('[data-row=\"2\"] summary').focus(); scene.chat.update(3, { state: 'done', busy: false });").await;
        assert_eq!(shape(page).await, json!(["Read 3 files", 1, 2, 3, 4]));
        assert_eq!(page.eval("document.activeElement.localName").await, "summary");
        // Nothing moves while a pointer is pressed, so that a click lands where it was aimed.
        run(page, "document.querySelector('[data-row=\"4\"]').focus();").await;
        assert_eq!(shape(page).await, json!(["Read 3 files", 1, 2, 3, 4]));
        page.click("[data-row='4'] .cr-text").await;
        assert_eq!(shape(page).await, json!(["Read 3 files", 4]));
    });
}

/// A fragment's target is shown as what is found in the page is: the browser tells what hides it.
#[test]
fn what_is_found_in_a_fold_opens_it() {
    each_browser(async |page| {
        show_tools(page, "[tool(1), tool(2), tool(3)]").await;
        assert_eq!(
            page.eval("[...document.querySelectorAll('.cr-body')].map((el) => el.getAttribute('hidden'))").await,
            json!(["until-found", "until-found", "until-found"])
        );
        run(page, "document.querySelector('[data-row=\"2\"] .cr-title').id = 'sought'; location.hash = '#sought';")
            .await;
        page.wait_for("!document.querySelector('[data-row=\"2\"] .cr-body').hidden").await;
        assert_eq!(shape(page).await, json!(["Read 3 files", 1, 2, 3]));
        run(page, "history.replaceState(null, '', location.pathname);").await;
    });
}

/// Work is counted as what the page asks its rows.
#[test]
fn a_fold_costs_what_changes_and_not_what_stands() {
    each_browser(async |page| {
        let mut costs = Vec::new();
        for rows in [300, 6000] {
            show_tools(page, "[]").await;
            let count = format!(
                "scene.chat.tell(...Array.from({{ length: {rows} }}, (_, i) => ({{ op: 'insert', id: i + 1, before: null, row: tool(i + 1) }}))); \
                 let asked = 0; const {{ matches }} = Element.prototype; \
                 Element.prototype.matches = function (...args) {{ asked++; return matches.apply(this, args); }}; \
                 scene.chat.insert(tool(90001)); scene.chat.update(150, {{ state: 'failed' }}); scene.chat.update(150, {{ state: 'done' }}); \
                 scene.chat.insert(tool(90002), 40); scene.chat.remove(60); \
                 Element.prototype.matches = matches; return asked;"
            );
            costs.push(page.call(&count, vec![]).await.as_u64().expect("a number"));
        }
        assert!(costs[1] < costs[0] * 2, "{costs:?}");
        assert_eq!(
            page.eval("document.querySelectorAll('.cr-fold:not([hidden])').length").await,
            30,
            "of 200 rows at most"
        );
    });
}

#[test]
fn axe_finds_no_barrier_in_a_fold() {
    each_browser(async |page| {
        open(page).await;
        run(page, &format!("window.tool = {TOOL}; scene.view = scene.mount(); for (const row of [tool(1), tool(2), tool(3), {{ id: 4, kind: 'text', text: 'So.' }}, tool(5), tool(6), tool(7)]) scene.chat.insert(row);")).await;
        page.click("[data-row='5'] .cr-fold").await;
        assert_eq!(shape(page).await, json!(["Read 3 files", 4, "Read 3 files", 5, 6, 7]));
        page.frames(2).await;
        page.screenshot("folds").await;
        assert_eq!(page.axe().await, [""; 0]);
    });
}

/// A page of rows out of sight is as high as it is guessed to be; folded rows would make that far too much.
#[test]
fn a_long_chat_of_folds_is_not_guessed_to_be_higher_than_it_is() {
    each_browser(async |page| {
        show_tools(page, "[]").await;
        run(page, "scene.chat.tell(...Array.from({ length: 2000 }, (_, i) => ({ op: 'insert', id: i + 1, before: null, row: tool(i + 1, { group: `g${i >> 3}` }) })));").await;
        page.frames(3).await;
        let height = page.eval("scene.log.scrollHeight").await;
        run(page, "scene.log.scrollTop = 0;").await;
        page.frames(3).await;
        assert_eq!(page.eval("scene.log.scrollHeight").await, height);
    });
}
