//! What changes while it is watched: a tool being prepared, output that gets
//! long, and who hears of it.

use page::each_browser;
use serde_json::json;

use crate::{run, seen, show};

const PREPARING: &str = "[{ id: 1, kind: 'tool-preparing', state: 'preparing', busy: true, \
    tool: { name: 'write_to_file', input: '', inputDone: false }, bytes: { count: 0, label: '0 B' } }]";

#[test]
fn a_tool_being_prepared_says_its_name_and_how_much_has_come() {
    each_browser(async |page| {
        show(page, PREPARING).await;
        page.watch(".cr-bytes").await;
        assert_eq!(seen(page, ".cr-title").await, "Preparing write_to_file…");
        let name = "((style) => [style.fontWeight, style.fontFamily.includes('monospace')])(getComputedStyle(document.querySelector('.cr-name')))";
        assert_eq!(page.eval(name).await, json!(["500", true]));
        let colours = "[getComputedStyle(document.querySelector('.cr-bytes')).color === getComputedStyle(document.querySelector('.cr-copy') ?? document.querySelector('.cr-bytes')).color, \
                       document.querySelector('.cr-bytes').getBoundingClientRect().left > document.querySelector('.cr-title').getBoundingClientRect().right]";
        assert_eq!(page.eval(colours).await[1], true, "the label stands at the end of the line");
        for (count, label) in
            [(1023, "1023 B"), (1024, "1.0 KB"), (1_434, "1.4 KB"), (1_048_576, "1.0 MB"), (5_662_310, "5.4 MB")]
        {
            run(page, &format!("scene.chat.update(1, {{ bytes: {{ count: {count}, label: '{label}' }} }});")).await;
            page.frames(2).await;
            assert_eq!(seen(page, ".cr-bytes").await, label);
            assert_eq!(page.eval("document.querySelector('.cr-spinner').getAnimations().length").await, 1);
            assert_eq!(page.eval("document.querySelector('.cr-head').getClientRects().length").await, 1);
        }
        assert_eq!(page.seen(".cr-bytes").await.len(), 6);
        run(page, "scene.chat.remove(1);").await;
        assert_eq!(page.eval("[scene.log.querySelectorAll('[data-row], .cr-spinner').length, scene.log.querySelectorAll('.cr-page').length]").await, json!([0, 0]));
    });
}

#[test]
fn a_quiet_row_says_since_when_each_second() {
    each_browser(async |page| {
        show(page, "[]").await;
        run(page, "scene.stopTheClock();").await;
        run(page, &format!("for (const row of {PREPARING}) scene.chat.insert(row); scene.chat.insert({{ id: 2, kind: 'tool', state: 'preparing', busy: true, tool: {{ name: 'f', input: '', inputDone: false }} }});")).await;
        assert_eq!(page.eval("clock.timers.size").await, 0);
        run(
            page,
            "clock.advance(5000); for (const id of [1, 2]) scene.chat.update(id, { quietSince: clock.now() - 5000 });",
        )
        .await;
        assert_eq!(page.texts(".cr-flag").await, ["quiet for 5 s", "quiet for 5 s"]);
        assert_eq!(page.eval("clock.timers.size").await, 1, "one timer for all");
        run(page, "clock.advance(2000);").await;
        assert_eq!(page.texts(".cr-flag").await, ["quiet for 7 s", "quiet for 7 s"]);
        run(
            page,
            "scene.chat.update(1, { quietSince: null, bytes: { count: 9, label: '9 B' } }); clock.advance(1000);",
        )
        .await;
        assert_eq!(page.texts(".cr-flag").await, ["quiet for 8 s"]);
        run(page, "scene.chat.remove(2);").await;
        assert_eq!(page.eval("clock.timers.size").await, 0);
    });
}

/// The module itself says when nothing has come for 5 s.
#[test]
fn a_stream_that_falls_silent_is_told_by_its_tool() {
    each_browser(async |page| {
        show(page, "[]").await;
        page.eval("scene.mountModule()").await;
        run(page, "live.call('{\"a\":\"', { id: 'c1', type: 'function', function: { name: 'save' } });").await;
        page.wait_for("document.querySelector('#other [data-kind=tool] .cr-spinner')").await;
        assert_eq!(seen(page, "#other .cr-title").await, "Preparing save…");
        run(page, "live.ahead(6000);").await;
        page.wait_for("/^quiet for [0-9]+ s$/.test(document.querySelector('#other .cr-flag')?.textContent)").await;
        run(page, "live.call('more');").await;
        page.wait_for("!document.querySelector('#other .cr-flag')").await;
        run(page, "live.call('x'.repeat(3000));").await;
        page.wait_for("document.querySelector('#other .cr-bytes').textContent === '2.9 KB'").await;
        run(page, "live.chat.abort();").await;
        page.wait_for("!document.querySelector('#other .cr-spinner') && document.querySelector('#other .cr-flag').textContent === 'Cancelled'").await;
    });
}

#[test]
fn long_output_keeps_its_end_on_the_page_until_all_is_asked_for() {
    each_browser(async |page| {
        show(page, "[{ id: 1, kind: 'tool', state: 'running', busy: true, tool: { name: 'make', input: '', inputDone: true } }]").await;
        run(page, "for (let i = 1; i <= 20; i++) scene.chat.append(1, 'tool.output', `line ${i}\\n`);").await;
        assert_eq!(page.eval("document.querySelectorAll('.cr-more').length").await, 0, "20 lines are not long");
        run(page, "for (let i = 21; i <= 5000; i++) scene.chat.append(1, 'tool.output', `line ${i}\\n`);").await;
        let shown = "document.querySelector('.cr-output .cr-code').textContent";
        assert_eq!(page.eval(&format!("{shown}.split('\\n').filter(Boolean).length")).await, 20);
        assert!(page.eval(shown).await.as_str().unwrap().ends_with("line 5000\n"));
        assert_eq!(seen(page, ".cr-more").await, "Show all (5,000 lines, 47.7 KB)");
        // A wire that takes its end back.
        run(page, "const { length } = scene.chat.state.rows[0].tool.output; scene.chat.append(1, 'tool.output', 'the end\\n', length - 10);").await;
        assert!(page.eval(shown).await.as_str().unwrap().ends_with("line 4999\nthe end\n"));
        page.find(".cr-more").await.click().await.expect("a click");
        assert_eq!(page.eval(&format!("{shown} === scene.chat.state.rows[0].tool.output")).await, true);
        assert_eq!(page.eval("document.querySelector('.cr-more').ariaExpanded").await, "true");
        run(page, "scene.chat.append(1, 'tool.output', 'and more\\n');").await;
        assert_eq!(page.eval(&format!("{shown} === scene.chat.state.rows[0].tool.output")).await, true);
        page.find(".cr-more").await.click().await.expect("a click");
        assert!(page.eval(shown).await.as_str().unwrap().len() < 300);
        // Rewritten to something short.
        run(page, "scene.chat.update(1, { tool: { output: 'short' } });").await;
        assert_eq!(page.eval(shown).await, "short");
        assert_eq!(page.eval("document.querySelectorAll('.cr-more').length").await, 0);
    });
}

#[test]
fn a_line_without_end_is_cut_to_its_end() {
    each_browser(async |page| {
        show(page, "[{ id: 1, kind: 'tool', state: 'running', busy: true, tool: { name: 'f', input: '', inputDone: true, output: '😊'.repeat(500000) } }]").await;
        assert_eq!(page.eval("document.querySelector('.cr-output .cr-code').textContent.length").await, 4096);
        assert_eq!(seen(page, ".cr-more").await, "Show all (1.9 MB)");
        run(page, "scene.chat.append(1, 'tool.output', 'x');").await;
        // No half of a character at the cut.
        assert_eq!(
            page.eval("document.querySelector('.cr-output .cr-code').textContent.codePointAt(0)").await,
            0x1f60a
        );
    });
}

#[test]
fn a_finished_row_is_announced_once_and_a_delta_never() {
    each_browser(async |page| {
        show(page, "[{ id: 1, kind: 'text', state: 'streaming', text: 'One' }]").await;
        page.watch(".cr-live").await;
        run(page, "for (let i = 0; i < 20; i++) scene.chat.append(1, 'text', ' more');").await;
        assert_eq!(page.text(".cr-live").await, "");
        run(page, "scene.chat.update(1, { state: 'done' });").await;
        page.frames(2).await;
        assert!(page.text(".cr-live").await.starts_with("Assistant: One more"));
        run(
            page,
            "scene.chat.update(1, { truncated: true }); scene.chat.insert({ id: 2, kind: 'reasoning', text: 'hm' });",
        )
        .await;
        page.frames(2).await;
        assert!(page.text(".cr-live").await.starts_with("Assistant: One more"));
        run(page, "scene.chat.insert({ id: 3, kind: 'notice', message: { key: 'say.completion' } });").await;
        assert_eq!(page.text(".cr-live").await.trim(), "Notice: Task completed");
    });
}
