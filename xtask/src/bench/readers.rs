//! `cargo xtask bench --readers`: the crate's own reader of JSON beside those of
//! the registry, on the job of benches/readers: speed natively, speed in
//! WebAssembly, and what each adds to a module. All are built like the package.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use wasm_bindgen_cli_support::Bindgen;

use super::command_json;
use super::figures::{Spread, short, table, whole};
use crate::command::run as run_command;
use crate::project::Project;
use crate::{package, setup, size};

/// The features of the crate `readers`.
const READERS: [&str; 4] = ["tape", "hifijson", "jiter", "serde_json"];
/// The module without a reader.
const NONE: &str = "none";
/// What JavaScript reads with.
const JSON_PARSE: &str = "JSON.parse";

/// One reader's samples, in milliseconds for all records.
#[derive(Deserialize)]
struct Side {
    name: String,
    digest: u32,
    samples: Vec<f64>,
}

pub fn run(project: &Project, rounds: usize) -> Result<()> {
    setup::node()?;
    setup::wasm_target()?;
    let folder = project.target.join("readers");
    fs::create_dir_all(&folder)?;
    let records = folder.join("records.jsonl");
    let script = project.root.join("benches/readers.js");
    run_command(Command::new("node").arg(&script).arg("records").arg(&records))?;
    let count = fs::read_to_string(&records)?.lines().count();

    let mut sizes = Vec::new();
    for name in READERS.into_iter().chain([NONE]) {
        sizes.push((name, build(project, name, &folder.join(name))?));
    }
    run_command(project.cargo().args(["build", "--release", "--package", "readers", "--all-features"]))?;
    let rounds = rounds.to_string();
    let native: Vec<Side> =
        command_json(Command::new(project.target.join("release/readers")).arg(&records).arg(&rounds))?;
    let mut node = Command::new("node");
    node.arg(&script).arg("measure").args([&records]).arg(&rounds).arg(&folder).args(READERS);
    let wasm: Vec<Side> = command_json(&mut node)?;

    for side in native.iter().chain(&wasm) {
        ensure!(side.digest == wasm[0].digest, "{} reads something else than {JSON_PARSE}", side.name);
    }
    let time = |sides: &[Side], name: &str| {
        let side = sides.iter().find(|side| side.name == name)?;
        let nanos: Vec<_> = side.samples.iter().map(|time| time * 1e6 / count as f64).collect();
        let Spread { lower, median, upper, .. } = Spread::of(&nanos)?;
        Some(format!("{} ({}–{})", short(median), short(lower), short(upper)))
    };
    let (_, (_, base)) = sizes.iter().find(|(name, _)| *name == NONE).context("no module without a reader")?;
    let rows: Vec<_> = [JSON_PARSE]
        .into_iter()
        .chain(READERS)
        .map(|name| {
            let size = sizes.iter().find(|(known, _)| *known == name).map(|(_, size)| size);
            let size = size.map(|(raw, gzip)| [whole(*raw), whole(*gzip), whole(gzip.saturating_sub(*base))]);
            let [raw, gzip, added] = size.unwrap_or_default();
            let time = |sides| time(sides, name).unwrap_or_default();
            [name.to_owned(), time(&native), time(&wasm), raw, gzip, added]
        })
        .collect();
    println!(
        "{count} chat chunks of {} bytes each; ns a record: median (quartiles)\n",
        fs::metadata(&records)?.len() / count as u64
    );
    print!("{}", table(["reader", "native", "in node", "module, raw", "gzip -9", "the reader's part"], &rows));
    Ok(())
}

/// Builds the module of one reader; answers with its size, raw and compressed.
fn build(project: &Project, name: &str, folder: &Path) -> Result<(u64, u64)> {
    let mut cargo = project.cargo();
    cargo.args(["build", "--release", "--lib", "--package", "readers", "--target", setup::WASM]);
    if name != NONE {
        cargo.args(["--features", name]);
    }
    run_command(&mut cargo)?;
    let module = fs::read(project.target.join(setup::WASM).join("release/readers.wasm"))?;
    Bindgen::new().input_bytes("readers", module).web(true)?.typescript(false).generate(folder)?;
    // What `import` takes for a module.
    fs::write(folder.join("package.json"), "{ \"type\": \"module\" }\n")?;
    let module = folder.join("readers_bg.wasm");
    package::shrink(project, &module)?;
    let bytes = fs::read(&module)?;
    Ok((bytes.len() as u64, size::gzip(&bytes)?))
}
