//! What the page that mounts a chat may rely on: its language, its own
//! renderers, two chats beside each other, and nothing left at the end.

use page::each_browser;
use serde_json::json;

use crate::{open, run, seen, show, show_every_kind};

#[test]
fn the_language_changes_in_place() {
    each_browser(async |page| {
        show_every_kind(page).await;
        let before = "window.before = { tree: [...document.querySelectorAll('#log [data-row], #log details, #log .cr-own')], \
             text: document.querySelector('.cr-rows').textContent, top: (scene.log.scrollTop = 300, scene.log.scrollTop) }; \
             const own = document.querySelector('.cr-own'); own.focus(); own.value = 'half an answer'; \
             document.querySelector('[data-row=\"12\"] details').open = true; window.before.top = scene.log.scrollTop;";
        run(page, before).await;
        page.frames(3).await;
        run(page, "window.before.top = scene.log.scrollTop; scene.view.setCatalogue(scene.catalogues.fr, 'fr'); scene.side.setCatalogue(scene.catalogues.fr, 'fr');").await;
        page.frames(2).await;
        assert_eq!(page.accessible("[data-row='1']").await.1, "Vous");
        assert_eq!(seen(page, "[data-row='6'] .cr-title").await, "Préparation de write_to_file…");
        assert_eq!(seen(page, "[data-row='9'] .cr-ask button").await, "Autoriser une fois");
        assert_eq!(seen(page, "[data-row='21'] .cr-answer").await, "Choix : Autoriser une fois");
        assert_eq!(seen(page, ".cr-plan summary").await, "Plan : 1 sur 3");
        assert_eq!(page.eval("document.querySelector('.cr-own').placeholder").await, "Votre propre réponse");
        let kept = "[before.tree.every((el) => el.isConnected), document.activeElement === document.querySelector('.cr-own') && document.activeElement.value, \
             document.querySelector('[data-row=\"12\"] details').open, Math.abs(scene.log.scrollTop - before.top) < 40]";
        assert_eq!(page.eval(kept).await, json!([true, "half an answer", true, true]));
        run(
            page,
            "scene.chat.insert({ id: 90, kind: 'notice', message: { key: 'group.read', params: { count: 12345 } } });",
        )
        .await;
        assert!(
            seen(page, "[data-row='90'] .cr-message")
                .await
                .replace(['\u{202f}', '\u{a0}'], " ")
                .starts_with("12 345 fichiers")
        );
        run(page, "scene.view.setCatalogue({}, 'en');").await;
        run(page, "scene.chat.remove(90);").await;
        assert_eq!(page.text(".cr-rows").await, page.eval("before.text").await);
    });
}

#[test]
fn a_key_that_no_catalogue_has_shows_its_last_part() {
    each_browser(async |page| {
        show(page, "[{ id: 1, kind: 'notice', message: { key: 'say.never.heardOf' } }, { id: 2, kind: 'notice', message: { key: '__proto__' } }, { id: 3, kind: 'notice', message: { key: 'constructor' } }]").await;
        assert_eq!(page.texts(".cr-message").await, ["heardOf", "__proto__", "constructor"]);
    });
}

#[test]
fn every_kind_may_be_drawn_in_ones_own_way() {
    each_browser(async |page| {
        open(page).await;
        run(
            page,
            "const draw = (body, row, { op }) => { body.textContent = `${row.kind} ${op}`; }; \
             const kinds = 'user text reasoning tool tool-preparing question permission notice error retry compaction summary image custom'.split(' '); \
             scene.view = scene.mount({ renderers: Object.fromEntries(kinds.map((kind) => [kind, draw])) }); \
             scene.everyKind(scene.chat); scene.chat.update(1, { text: 'x' });",
        )
        .await;
        let texts = page.texts(".cr-body").await;
        assert_eq!(texts[0], "user update");
        assert!(texts[1..].iter().all(|text| text.ends_with(" insert")), "{texts:?}");
        run(page, "scene.view.setCatalogue(scene.catalogues.zh, 'zh');").await;
        assert!(page.texts(".cr-body").await.iter().all(|text| text.ends_with(" update")));
        assert_eq!(page.accessible("[data-row='1']").await.1, "你");
    });
}

#[test]
fn two_chats_on_one_page_know_nothing_of_each_other() {
    each_browser(async |page| {
        open(page).await;
        run(
            page,
            "scene.view = scene.mount(); scene.second = new scene.Chat(); \
             scene.secondView = scene.mount({ catalogue: scene.catalogues.fr, locale: 'fr' }, document.querySelector('#other'), scene.second); \
             scene.everyKind(scene.chat); \
             scene.second.insert({ id: 1, kind: 'permission', state: 'pending', text: 'Oui ?', permission: { options: [{ id: 'y', kind: 'allow_once' }] } });",
        )
        .await;
        assert_eq!(page.accessible("#log [data-row='1']").await.1, "You");
        assert_eq!(page.accessible("#other [data-row='1']").await.1, "Autorisation");
        page.by_role("button", "Autoriser une fois").await.click().await.expect("a click");
        assert_eq!(page.eval("scene.said.map(([type, row]) => [type, row])").await, json!([["approve", 1]]));
        run(page, "scene.view.unmount();").await;
        assert_eq!(page.eval("scene.order(document.querySelector('#other'))").await, json!([1]));
    });
}

#[test]
fn unmounting_leaves_no_trace() {
    each_browser(async |page| {
        open(page).await;
        run(
            page,
            "window.before = [scene.log.outerHTML, scene.panels.outerHTML]; \
             const every = setInterval, stop = clearInterval, listen = EventTarget.prototype.addEventListener; \
             window.open_ = new Set(); \
             window.setInterval = (...all) => { const id = every(...all); open_.add(id); return id; }; \
             window.clearInterval = (id) => { open_.delete(id); stop(id); }; \
             EventTarget.prototype.addEventListener = function (type, listener, options) { \
               if (this === scene.log || this === document || this === window) { open_.add(type); options?.signal?.addEventListener?.call; listen.call(options.signal, 'abort', () => open_.delete(type)); } \
               return listen.call(this, type, listener, options); }; \
             scene.view = scene.mount({ compact: true }); scene.side = scene.rows.mountPanels(scene.panels, scene.chat); scene.everyKind(scene.chat); \
             scene.chat.update(6, { quietSince: Date.now() - 5000 });",
        )
        .await;
        assert_eq!(page.eval("open_.size > 3").await, true);
        run(page, "scene.view.unmount(); scene.side.unmount();").await;
        assert_eq!(page.eval("[scene.log.outerHTML, scene.panels.outerHTML].join() === before.join()").await, true);
        assert_eq!(page.eval("[...open_]").await, json!([]));
        assert_eq!(page.eval("scene.chat.listeners.size").await, 0);
    });
}
