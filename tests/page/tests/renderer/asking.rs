//! What the wire asks the reader: answered by keyboard, said once, and closed
//! until the row changes.

use page::{Key, each_browser};
use serde_json::json;

use crate::{run, said, seen, show};

const PERMISSION: &str = "[{ id: 1, kind: 'text', text: 'Hello' }, { id: 2, kind: 'permission', state: 'pending', text: 'May I?', \
    permission: { options: [{ id: 'y', kind: 'allow_once' }, { id: 'n', kind: 'reject_once' }, { id: 'x', label: 'Other' }] } }]";

const DISABLED: &str = "[...document.querySelectorAll('.cr-ask button')].map((el) => el.disabled)";

/// Presses Tab until the focus is on something with this text.
async fn tab_to(page: &page::Page, text: &str) {
    for _ in 0..20 {
        if page.eval("document.activeElement.textContent").await == text {
            return;
        }
        page.keys(&Key::Tab).await;
    }
    panic!("Tab does not lead to `{text}`");
}

#[test]
fn a_permission_is_given_by_keyboard() {
    each_browser(async |page| {
        show(page, PERMISSION).await;
        tab_to(page, "Allow once").await;
        page.keys(&Key::Enter).await;
        assert_eq!(said(page).await, json!([["approve", 2, { "option": { "id": "y", "kind": "allow_once" } }]]));
        // Said once: closed, and the focus stays on the row.
        assert_eq!(page.eval(DISABLED).await, json!([true, true, true]));
        assert_eq!(page.eval("document.activeElement.dataset.row").await, "2");
        run(page, "scene.chat.update(2, { state: 'pending' });").await;
        assert_eq!(page.eval(DISABLED).await, json!([false, false, false]));
        run(page, "scene.chat.update(2, { state: 'done', permission: { ...scene.chat.state.rows[1].permission, chosen: 'y' } });").await;
        assert_eq!(page.eval("document.querySelectorAll('.cr-ask button').length").await, 0);
        assert_eq!(seen(page, ".cr-answer").await, "Chosen: Allow once");
    });
}

#[test]
fn what_does_not_say_that_it_allows_rejects() {
    each_browser(async |page| {
        show(page, PERMISSION).await;
        run(page, "for (const button of [...document.querySelectorAll('.cr-ask button')].slice(1)) { button.click(); scene.chat.update(2, {}); }").await;
        let kinds = "scene.said.map(([type, , { option }]) => [type, option.id])";
        assert_eq!(page.eval(kinds).await, json!([["reject", "n"], ["reject", "x"]]));
    });
}

#[test]
fn a_tool_asks_beside_its_fold() {
    each_browser(async |page| {
        show(page, "[{ id: 1, kind: 'tool', state: 'pending', tool: { name: 'rm', input: '', inputDone: true } }]")
            .await;
        assert_eq!(seen(page, ".cr-flag").await, "Ready to run");
        run(page, "document.querySelector('details').open = false; scene.chat.update(1, { permission: { options: [{ id: 'y', kind: 'allow_always' }] } });").await;
        assert_eq!(seen(page, ".cr-flag").await, "Waits for your permission");
        page.by_role("button", "Always allow").await.click().await.expect("a click");
        assert_eq!(page.eval("scene.said[0][0]").await, "approve");
        assert_eq!(page.text(".cr-live").await, "Tool: rm Waits for your permission");
        run(page, "scene.chat.update(1, { state: 'cancelled' });").await;
        assert_eq!(page.eval("document.querySelectorAll('.cr-ask').length").await, 0);
    });
}

#[test]
fn a_call_that_does_not_run_keeps_its_name_and_says_why() {
    each_browser(async |page| {
        let call = |id: u32, more: &str| {
            format!("{{ id: {id}, kind: 'tool', tool: {{ name: 'rm', input: '', inputDone: true }}, {more} }}")
        };
        let skipped = call(1, "state: 'cancelled', message: { key: 'tool.skipped' }");
        let asks = call(2, "state: 'pending', permission: { options: [{ id: 'n', kind: 'reject_once' }] }");
        show(page, &format!("[{skipped}, {asks}]")).await;
        run(
            page,
            "scene.chat.update(2, { permission: { options: [{ id: 'n', kind: 'reject_once' }], chosen: 'n' } }); \
                   scene.chat.update(2, { state: 'cancelled', message: { key: 'tool.rejected' } });",
        )
        .await;
        for (row, why) in [(1, "Not run: a call before it was rejected"), (2, "You rejected this call")] {
            assert_eq!(seen(page, &format!("[data-row='{row}'] .cr-title")).await, "rm");
            assert_eq!(seen(page, &format!("[data-row='{row}'] .cr-message")).await, why);
        }
        assert_eq!(seen(page, ".cr-answer").await, "Chosen: Reject");
    });
}

#[test]
fn a_question_is_answered_by_an_option_or_in_ones_own_words() {
    each_browser(async |page| {
        let rows = "[{ id: 1, kind: 'question', state: 'pending', text: 'Which?', question: { options: [{ id: 'n', label: 'North' }, { label: 'South' }], custom: true } }]";
        show(page, rows).await;
        tab_to(page, "South").await;
        page.keys(" ").await;
        assert_eq!(said(page).await, json!([["answer", 1, { "answer": "South" }]]));
        run(page, "scene.said.length = 0; scene.chat.update(1, {});").await;
        page.find(".cr-own").await.send_keys("  East ").await.expect("keys");
        // What is typed stays when the question changes.
        run(page, "scene.chat.update(1, { question: { ...scene.chat.state.rows[0].question, options: [{ id: 'n', label: 'North' }] } });").await;
        page.find(".cr-own").await.send_keys(&Key::Enter.to_string()).await.expect("keys");
        assert_eq!(said(page).await, json!([["answer", 1, { "answer": "East" }]]));
        run(page, "scene.chat.update(1, { state: 'done', question: { options: [{ id: 'n', label: 'North' }], answer: 'n' } });").await;
        assert_eq!(seen(page, ".cr-answer").await, "Answered: North");
    });
}

/// What a call asks or tells the reader is seen although its arguments are folded away.
#[test]
fn a_call_may_ask_and_tell_the_reader() {
    each_browser(async |page| {
        let rows = "[{ id: 1, kind: 'tool', state: 'running', busy: true, text: 'Which harbour?', question: { options: [{ label: 'Brest' }, { label: 'Dover' }], custom: true }, \
                       tool: { name: 'ask_followup_question', tagged: true, input: '<question>Which harbour?</question>', inputDone: true, fields: [{ path: ['question'], text: 'Which harbour?', closed: true }] } }, \
                     { id: 2, kind: 'tool', state: 'done', busy: false, text: 'The page is *in order*.', message: { key: 'say.completion' }, tool: { name: 'attempt_completion', input: '{}', inputDone: true } }]";
        show(page, rows).await;
        // But for the button that comes with the focus.
        let parts = "[...document.querySelectorAll('[data-row] > *')].filter((el) => el.checkVisibility() && el.offsetHeight && !el.matches('.cr-copy')).map((el) => el.className.split(' ')[0])";
        let order = ["cr-body", "cr-text", "cr-ask", "cr-body", "cr-text"];
        assert_eq!(page.eval(parts).await, json!(order));
        assert_eq!(page.eval("document.querySelectorAll('[data-row] > details[open]').length").await, 0);
        assert_eq!(seen(page, "[data-row='1'] > .cr-text").await, "Which harbour?");
        assert_eq!(seen(page, "[data-row='2'] .cr-title").await, "Task completed");
        tab_to(page, "Dover").await;
        page.keys(&Key::Enter).await;
        assert_eq!(said(page).await, json!([["answer", 1, { "answer": "Dover" }]]));
        run(page, "scene.chat.update(1, { state: 'done', busy: false, question: { ...scene.chat.state.rows[0].question, answer: 'Dover' } });").await;
        assert_eq!(seen(page, "[data-row='1'] .cr-answer").await, "Answered: Dover");
        assert_eq!(page.eval(parts).await, json!(order));
    });
}

#[test]
fn several_options_are_sent_together() {
    each_browser(async |page| {
        let rows = "[{ id: 1, kind: 'question', state: 'pending', text: 'Which?', question: { options: [{ id: 'd', label: 'Dover' }, { id: 'c', label: 'Calais' }], multiple: true } }]";
        show(page, rows).await;
        page.by_role("button", "Send").await.click().await.expect("a click");
        assert_eq!(said(page).await, json!([]), "nothing is chosen");
        run(page, "document.querySelector('.cr-check input').focus();").await;
        page.keys(" ").await;
        page.keys(&Key::Tab).await;
        page.keys(" ").await;
        page.by_role("button", "Send").await.click().await.expect("a click");
        assert_eq!(said(page).await, json!([["answer", 1, { "answer": ["d", "c"] }]]));
    });
}

#[test]
fn several_questions_are_answered_together() {
    each_browser(async |page| {
        let rows = "[{ id: 1, kind: 'question', state: 'pending', text: 'Two things', question: { parts: [\
             { text: 'Port?', options: [{ label: 'Dover' }, { id: 'c', label: 'Calais' }] }, { text: 'Ship?', custom: true }] } }]";
        show(page, rows).await;
        page.by_role("button", "Send").await.click().await.expect("a click");
        assert_eq!(said(page).await, json!([]), "nothing is answered");
        run(page, "document.querySelector('.cr-check:nth-of-type(2) input').click(); document.querySelector('.cr-own').focus();").await;
        page.keys("Tern").await;
        page.keys(&Key::Enter).await;
        assert_eq!(said(page).await, json!([["answer", 1, { "answers": { "Port?": "c", "Ship?": "Tern" } }]]));
        run(page, "scene.chat.update(1, { state: 'done', question: { parts: [{ text: 'Port?', answer: 'Dover' }, { text: 'Ship?' }] } });").await;
        assert_eq!(page.texts("[data-row='1'] .cr-answer").await, ["Port?\u{2003}Answered: Dover"]);
    });
}

#[test]
fn a_place_is_opened_and_an_error_tried_again() {
    each_browser(async |page| {
        show(
            page,
            "[{ id: 1, kind: 'tool', state: 'running', tool: { name: 'f', input: '', inputDone: true, locations: [{ path: 'a.txt', line: 3 }] } }, \
             { id: 2, kind: 'error', error: { message: 'busy', retryable: true } }]",
        )
        .await;
        page.by_role("button", "a.txt:3").await.click().await.expect("a click");
        page.by_role("button", "Try again").await.click().await.expect("a click");
        assert_eq!(said(page).await, json!([["open", 1, { "path": "a.txt", "line": 3 }], ["retry", 2, {}]]));
    });
}
