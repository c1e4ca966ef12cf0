//! With few colours, all of the reader's own choice: the focus and the state of each row are seen as they are else.

use std::fs::File;
use std::io::BufReader;

use page::{Page, Reader, each_browser_of};
use serde_json::json;

use crate::{mount_every_kind, open, run, unroll};

/// What the Tab key reaches, of each look one.
const FOCUSED: [&str; 12] = [
    "[data-row='1']",
    "[data-row='12'] summary",
    "[data-row='9'] .cr-main",
    "[data-row='9'] .cr-button:not(.cr-main)",
    "[data-row='9'] .cr-place",
    "[data-row='9'] .cr-value",
    "[data-row='10'] .cr-more",
    "[data-row='16'] .cr-own",
    "[data-row='17'] input",
    ".cr-retry",
    ".cr-fold",
    ".cr-plan > summary",
];

async fn show_every_kind_in_forced_colours(page: &Page) {
    open(page).await;
    assert_eq!(page.eval("matchMedia('(forced-colors: active)').matches").await, true);
    mount_every_kind(page).await;
    run(page, "for (const id of [101, 102, 103]) scene.chat.insert({ id, kind: 'tool', tool: { name: 'read', kind: 'read' }, meta: { group: 'g' } }, 1);").await;
    unroll(page).await;
}

/// The page, as brightness from 0 to 1 by line and pixel.
async fn brightness(page: &Page) -> Vec<Vec<f64>> {
    let file = File::open(page.screenshot("forced-colours").await).expect("the picture");
    let mut reader = png::Decoder::new(BufReader::new(file)).read_info().expect("a PNG");
    let mut bytes = vec![0; reader.output_buffer_size().expect("a size that fits")];
    let info = reader.next_frame(&mut bytes).expect("a PNG");
    let light = |value: u8| (f64::from(value) / 255.0).powf(2.2);
    let bright = |pixel: &[u8]| 0.2126 * light(pixel[0]) + 0.7152 * light(pixel[1]) + 0.0722 * light(pixel[2]);
    let lines = bytes[..info.buffer_size()].chunks_exact(info.line_size);
    lines.map(|line| line.chunks_exact(info.color_type.samples()).map(bright).collect()).collect()
}

#[test]
fn the_focus_is_seen_in_forced_colours() {
    each_browser_of(Reader::ForcedColors, async |page| {
        show_every_kind_in_forced_colours(page).await;
        run(page, "scene.log.querySelectorAll('[aria-busy=true], [data-state=streaming]').forEach((el) => scene.chat.update(+el.dataset.row, { state: 'done', busy: false }));").await;
        page.frames(2).await;
        let before = brightness(page).await;
        for selector in FOCUSED {
            let focus = format!(
                "const el = document.querySelector({selector:?}); el.focus({{ preventScroll: true, focusVisible: true }}); \
                                 const {{ x, y, right, bottom }} = el.getBoundingClientRect(); return [x, y, right, bottom].map(Math.round);"
            );
            let [x, y, right, bottom]: [usize; 4] =
                serde_json::from_value(page.call(&focus, vec![]).await).expect(selector);
            page.frames(2).await;
            let after = brightness(page).await;
            let lines = y.saturating_sub(5)..(bottom + 5).min(before.len());
            let changed = lines.flat_map(|line| {
                let (before, after) = (&before[line], &after[line]);
                (x.saturating_sub(5)..(right + 5).min(before.len())).filter(move |i| {
                    let (dark, bright) = (before[*i].min(after[*i]), before[*i].max(after[*i]));
                    (bright + 0.05) / (dark + 0.05) >= 3.0
                })
            });
            // A ring is at least as long as the box is wide, above and below.
            let ring = 2 * (right - x);
            assert!(changed.count() >= ring, "the focus on {selector} is not seen");
        }
    });
}

#[test]
fn states_are_seen_in_forced_colours() {
    each_browser_of(Reader::ForcedColors, async |page| {
        show_every_kind_in_forced_colours(page).await;
        // Told by words, signs and lines, none by a tint alone.
        let words = "['failed', 'cancelled', 'interrupted', 'expired'].map((state) => document.querySelector(`[data-state=${state}] .cr-flag`).innerText)";
        assert_eq!(page.eval(words).await, json!(["Failed", "Cancelled", "Interrupted", "Expired"]));
        let style = |selector: &str, pseudo: &str| {
            format!("getComputedStyle(document.querySelector({selector:?}), {pseudo:?})")
        };
        let spinner = format!(
            "((s) => s.borderTopColor !== s.borderBottomColor && s.borderTopColor !== getComputedStyle(document.body).backgroundColor)({})",
            style(".cr-spinner", "")
        );
        assert_eq!(page.eval(&spinner).await, true);
        for (selector, pseudo, sign) in [
            ("ins.cr-line", "::before", "+"),
            ("del.cr-line", "::before", "−"),
            (".cr-entry[data-status=completed]", "::before", "✓"),
        ] {
            assert_eq!(page.eval(&format!("{}.content", style(selector, pseudo))).await, format!("\"{sign}\""));
        }
        for selector in [
            ".cr-row[data-kind=user] > .cr-body",
            ".cr-row[data-kind=error] > .cr-body",
            ".cr-value",
            ".cr-main",
            ".cr-button",
        ] {
            let border = format!(
                "((s) => parseFloat(s.borderTopWidth) >= 1 && s.borderTopStyle === 'solid')({})",
                style(selector, "")
            );
            assert_eq!(page.eval(&border).await, true, "{selector}");
        }
        run(page, "document.querySelector('[data-row=\"9\"] .cr-button:not(.cr-main)').click();").await;
        let faint = format!("{}.color !== {}.color", style("[data-row='9'] .cr-button", ""), style(".cr-retry", ""));
        assert_eq!(page.eval(&faint).await, true, "a button that is pressed is not like others");
    });
}
