//! Takes pictures of the demo, after `cargo xtask test --only page` has built it:
//!
//! ```sh
//! cargo run --package page --example pictures
//! ```
//!
//! Kept in the repository, in Chromium: `www/demo.png`, which the README shows, the long tool call half way; and
//! `tests/page/screens`, some scenes as they wait for something, in light colours, in dark and in a narrow window, so
//! that a change of the look is seen in its commit. `target/screens` gets every recording at its end, in both browsers,
//! to be looked at.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use page::{Page, Reader, each_browser_of};

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../www/demo.png");
/// The scenes that are no recordings.
const LIVE: &str = "A live task";
const SESSION: &str = "A session to walk";
const SCREENS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/screens");

fn main() {
    each_browser_of(Reader::Default, async |page| {
        page.open().await;
        page.resize(1280, 800).await;
        if page.browser() == "chromium" {
            long_call_half_way(page).await;
        }
        scenes(page, "light").await;
        every_recording(page, "wide-light").await;
        page.open_narrow(360).await;
        scenes(page, "narrow").await;
        every_recording(page, "narrow-light").await;
    });
    each_browser_of(Reader::Dark, async |page| {
        page.open().await;
        page.resize(1280, 800).await;
        scenes(page, "dark").await;
        every_recording(page, "wide-dark").await;
        page.open_narrow(360).await;
        scenes(page, "narrow-dark").await;
        every_recording(page, "narrow-dark").await;
    });
}

/// Scenes at a moment that is the same each time, whatever the machine.
async fn scenes(page: &Page, look: &str) {
    page.choose("A coding task").await;
    page.set_speed("Instantly").await;
    page.press("Play").await;
    page.wait_for_ask().await;
    keep(page, &format!("approval-{look}")).await;
    page.press("Allow once").await;
    page.find("#log [data-kind=question] .cr-own").await;
    page.wait_for_ask().await;
    keep(page, &format!("question-{look}")).await;

    page.choose("Two calls in preparation").await;
    page.wait_for("document.querySelector('#clock').textContent").await;
    let both = "[...document.querySelectorAll('#log [data-kind=tool-preparing] .cr-bytes')].filter((el) => /KB/.test(el.textContent)).length";
    while page.eval(both).await != 2 {
        page.press("Step").await;
        page.frames(1).await;
    }
    keep(page, &format!("preparing-{look}")).await;

    page.choose("A server that is busy").await;
    page.press("Play").await;
    page.wait_for_ask().await;
    keep(page, &format!("errors-{look}")).await;

    page.choose("Tools that wait").await;
    page.press("Play").await;
    page.wait_for_ask().await;
    page.press("Allow once").await;
    page.wait_for("document.querySelector('#host').textContent.includes('ask write_to_file')").await;
    page.wait_for_ask().await;
    keep(page, &format!("tools-{look}")).await;
    page.press("Reject").await;
    page.wait_for_end().await;
    keep(page, &format!("rejected-{look}")).await;

    page.choose("A question by a call").await;
    page.press("Play").await;
    page.wait_for_ask().await;
    keep(page, &format!("asked-{look}")).await;

    page.play_through("An agent’s run").await;
    keep(page, &format!("run-{look}")).await;

    page.play_through(SESSION).await;
    page.click("#entries [data-entry='00000008']").await;
    keep(page, &format!("session-{look}")).await;
    page.call("scrollTo(0, 0);", vec![]).await; // the entries stand below the chat where the window is narrow

    page.choose(LIVE).await;
    page.press("Play").await;
    page.wait_for_ask().await;
    keep(page, &format!("live-{look}")).await;
}

/// Keeps a picture of what is seen, small.
async fn keep(page: &Page, name: &str) {
    if page.browser() != "chromium" {
        return;
    }
    page.call(
        "document.activeElement.blur(); document.querySelector('#log').scrollIntoView({ block: 'nearest' });",
        vec![],
    )
    .await;
    page.wait_for("document.querySelector('#progress').getAnimations().length === 0").await;
    page.frames(10).await; // what is beside the chat follows within 100 ms
    let picture = page.screenshot(name).await;
    fs::create_dir_all(SCREENS).expect("tests/page/screens");
    fs::write(format!("{SCREENS}/{name}.png"), with_a_palette(&picture, 64)).expect("a file in tests/page/screens");
}

async fn long_call_half_way(page: &Page) {
    page.choose("A tool call of 200 KB").await;
    page.press("Wire & ops").await;
    page.press("Play").await;
    page.wait_for("/1[0-9]{2}\\.. KB/.test(document.querySelector('#log [data-kind^=tool] .cr-bytes')?.textContent)")
        .await;
    let picture = page.screenshot("long-call-half-way").await;
    fs::write(README, with_a_palette(&picture, 256)).expect("www/demo.png");
    page.press("Wire & ops").await;
}

async fn every_recording(page: &Page, name: &str) {
    let recordings = page.texts("#recording option").await;
    for (i, recording) in recordings.iter().filter(|recording| ![LIVE, SESSION].contains(&&***recording)).enumerate() {
        page.play_through(recording).await;
        page.wait_for("/ ([0-9]+) of \\1 pieces/.test(document.querySelector('#clock').textContent)").await;
        page.screenshot(&format!("{name}-{}", i + 1)).await;
    }
}

/// The picture in so many colours, at most 256, each other one as the nearest of them. They are
/// the most frequent ones, but none that is all but the same as another: so a
/// rare colour has its place. A third of the size, and nothing that the eye could miss.
fn with_a_palette(picture: &Path, most: usize) -> Vec<u8> {
    let file = BufReader::new(File::open(picture).expect("the picture"));
    let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
    let mut bytes = vec![0; reader.output_buffer_size().expect("a size that fits")];
    let info = reader.next_frame(&mut bytes).expect("a PNG");
    let pixels = bytes[..info.buffer_size()].chunks_exact(info.color_type.samples());
    let colours: Vec<[u8; 3]> = pixels.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();

    let mut count = HashMap::new();
    colours.iter().for_each(|colour| *count.entry(*colour).or_insert(0_u32) += 1);
    let mut by_count: Vec<_> = count.keys().copied().collect();
    by_count.sort_by_key(|colour| (u32::MAX - count[colour], *colour));
    let distance = |a: [u8; 3], b: [u8; 3]| a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum::<u32>();
    let mut palette: Vec<[u8; 3]> = Vec::new();
    for colour in by_count {
        if palette.len() < most && palette.iter().all(|other| distance(*other, colour) > 50) {
            palette.push(colour);
        }
    }
    let nearest = |colour: [u8; 3]| (0..palette.len()).min_by_key(|i| distance(palette[*i], colour)).expect("a colour");
    let index: HashMap<_, _> = count.keys().map(|colour| (*colour, nearest(*colour) as u8)).collect();
    let indices: Vec<u8> = colours.iter().map(|colour| index[colour]).collect();

    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, info.width, info.height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(palette.concat());
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::NoFilter);
    encoder.write_header().and_then(|mut writer| writer.write_image_data(&indices)).expect("a PNG");
    out
}
