//! What readers may rely on: they get to everything by keyboard, come back to
//! the end, and what is hostile stays text.

use page::{Key, each_browser};
use serde_json::json;

use crate::{run, show};

#[test]
fn the_keyboard_walks_the_rows_and_jumps_to_the_end() {
    each_browser(async |page| {
        show(page, "Array.from({ length: 300 }, (_, i) => ({ id: i + 1, kind: i % 9 ? 'text' : 'reasoning', text: `row ${i + 1}` }))").await;
        page.frames(3).await;
        run(page, "document.querySelector('[data-row=\"300\"]').focus({ preventScroll: true });").await;
        page.keys(&Key::Up).await;
        assert_eq!(page.eval("document.activeElement.dataset.row").await, "299");
        page.keys(&Key::Home).await;
        assert_eq!(page.eval("document.activeElement.dataset.row").await, "1");
        page.wait_for("!document.querySelector('.cr-jump').hidden").await;
        // A fold opens by key.
        page.keys(&Key::Tab).await;
        assert_eq!(page.eval("document.activeElement.localName").await, "summary");
        page.keys(&Key::Enter).await;
        assert_eq!(page.eval("document.querySelector('details').open").await, true);
        run(page, "document.querySelector('.cr-jump').focus();").await;
        page.keys(&Key::Enter).await;
        page.wait_for("scene.log.scrollHeight - scene.log.clientHeight - scene.log.scrollTop < 24 && document.querySelector('.cr-jump').hidden").await;
        assert_eq!(page.eval("document.activeElement.dataset.row").await, "300");
    });
}

#[test]
fn hostile_text_stays_text() {
    each_browser(async |page| {
        let hostile = "const bad = `<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>\\u202Etxt.exe`; \
             const link = 'javascript:window.hacked=1'; \
             const tool = { name: bad, title: bad, input: bad, inputDone: false, output: bad, fields: [{ path: [bad], text: bad, closed: true }], \
               locations: [{ path: bad, line: 1 }], content: [{ type: 'diff', path: bad, oldText: bad, newText: `${bad}!` }, { type: 'patch', text: bad }, { type: 'text', text: bad }, { type: bad }] }; \
             const options = [{ id: bad, label: bad, description: bad, kind: bad }]; \
             const media = { images: [{ url: link }, { url: 'data:text/html,<script>1</script>' }], files: [{ url: link, name: bad }], sources: [{ url: 'vbscript:1', title: bad }, { url: link }] }; \
             const kinds = 'user text reasoning tool tool-preparing question permission notice error retry compaction summary image custom'.split(' ').concat(bad); \
             scene.view = scene.mount(); scene.rows.mountPanels(scene.panels, scene.chat); \
             kinds.forEach((kind, i) => scene.chat.insert({ id: i + 1, kind, state: i % 2 ? 'pending' : bad, key: bad, text: bad, tool, message: { key: bad, params: { [bad]: bad } }, \
               question: { options, custom: true }, permission: { options }, error: { message: bad, code: bad }, meta: { [bad]: bad, choice: bad }, bytes: { count: 1, label: bad }, ...media })); \
             scene.chat.panel('plan', { entries: [{ content: bad, status: bad, priority: bad }] }); scene.chat.panel('mode', { current: bad }); \
             scene.chat.panel('usage', { inputTokens: bad, cost: { amount: 1, currency: bad } }); scene.chat.panel('queue', { steering: [bad, { bad }], followUp: bad }); \
             scene.chat.panel('connection', { state: bad }); scene.chat.panel('session', { title: bad });";
        crate::open(page).await;
        run(page, hostile).await;
        page.frames(5).await;
        assert_eq!(page.eval("window.hacked").await, json!(null));
        let bad = "[...document.querySelectorAll('#log script, #log iframe, #panels script, img[src=x], [onerror], a[href^=javascript], a[href^=vbscript], img[src^=\"data:text\"]')].length";
        assert_eq!(page.eval(bad).await, 0);
        // No class or attribute came from the wire, but for the names a screen reader is told.
        let foreign = "[...document.querySelectorAll('#log *, #panels *')].flatMap((el) => [...el.attributes]).filter(({ name, value }) => value.includes('onerror') && !name.startsWith('aria-')).map(({ name }) => name)";
        assert_eq!(page.eval(foreign).await, json!([]));
        // Controls of direction end where the text does.
        let direction = "[...document.querySelectorAll('#log .cr-text, #log .cr-code, #log bdi')].every((el) => /isolate|plaintext/.test(getComputedStyle(el).unicodeBidi))";
        assert_eq!(page.eval(direction).await, true);
    });
}

#[test]
fn a_line_of_a_megabyte_is_drawn_in_pieces() {
    each_browser(async |page| {
        show(page, "[{ id: 1, kind: 'text', state: 'streaming', text: 'x'.repeat(1 << 20) }, { id: 2, kind: 'tool', state: 'running', tool: { name: 'f', input: '', inputDone: true, content: [{ type: 'diff', path: 'a', oldText: '', newText: 'y'.repeat(1 << 20) }] } }]").await;
        assert_eq!(page.eval("document.querySelector('.cr-text').textContent.length").await, 1 << 20);
        assert_eq!(
            page.eval(
                "Math.max(...[...document.querySelectorAll('.cr-block')].map((el) => el.textContent.length)) <= 16384"
            )
            .await,
            true
        );
        assert_eq!(page.eval("document.querySelector('.cr-diff').textContent.length").await, 4096);
    });
}
