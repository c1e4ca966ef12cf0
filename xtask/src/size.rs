//! The size gate: what a page downloads, compressed, against the budget and
//! the sizes recorded in `size.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::{Compression, write::GzEncoder};
use serde::Deserialize;

use crate::package::{ENGLISH, GLUE, MODULE, RENDERER, STYLES};
use crate::project::Project;

/// The files that are measured, and whether the budget counts them.
const FILES: [(&str, bool); 5] = [(MODULE, true), (GLUE, true), (RENDERER, true), (ENGLISH, true), (STYLES, false)];

/// By how much a file may grow unrecorded, in percent.
const GROWTH: u64 = 2;

/// `size.toml`; sizes are bytes after `gzip -9`.
#[derive(Deserialize)]
struct Gate {
    /// What the download is meant to be; the benchmark judges by it.
    budget: u64,
    /// What it must not exceed meanwhile.
    limit: u64,
    #[serde(default)]
    recorded: BTreeMap<String, u64>,
}

impl Gate {
    fn file(project: &Project) -> PathBuf {
        project.root.join("size.toml")
    }

    fn read(project: &Project) -> Result<Gate> {
        let gate = fs::read_to_string(Gate::file(project)).context("size.toml, the budget and the recorded sizes")?;
        toml::from_str(&gate).context("size.toml")
    }
}

/// A file of the package, in bytes.
pub struct Size {
    pub name: &'static str,
    pub raw: u64,
    /// After `gzip -9`.
    pub gzip: u64,
    /// The budget counts it.
    pub counted: bool,
}

/// Measures the files of a package.
pub fn sizes(package: &Path) -> Result<Vec<Size>> {
    let measure = |&(name, counted): &(&'static str, bool)| {
        let bytes = fs::read(package.join(name)).with_context(|| name.to_owned())?;
        Ok(Size { name, raw: bytes.len() as u64, gzip: gzip(&bytes)?, counted })
    };
    FILES.iter().map(measure).collect()
}

/// What is counted is meant to be so much.
pub fn budget(project: &Project) -> Result<u64> {
    Ok(Gate::read(project)?.budget)
}

/// What to do with the measured sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Check,
    Record,
}

/// Measures a release package, prints a table, and passes or fails it.
pub fn gate(project: &Project, package: &Path, mode: Mode) -> Result<()> {
    let gate = Gate::read(project)?;
    let mut measured = BTreeMap::new();
    let mut total = 0;
    println!("{:18} {:>9} {:>9} {:>9}", "", "raw", "gzip -9", "recorded");
    for Size { name, raw, gzip, counted } in sizes(package)? {
        let recorded = gate.recorded.get(name).map_or("none".to_owned(), u64::to_string);
        println!("{name:18} {raw:>9} {gzip:>9} {recorded:>9}");
        measured.insert(name.to_owned(), gzip);
        total += if counted { gzip } else { 0 };
    }
    println!("{:18} {:>9} {total:>9}   of {} ({STYLES} not counted)", "total", "", gate.limit);
    if total > gate.budget {
        println!("the budget of {} bytes is missed", gate.budget);
    }

    if mode == Mode::Record {
        fs::write(Gate::file(project), render(&gate, &measured))?;
        println!("recorded in size.toml");
    }
    let known = if mode == Mode::Record { &measured } else { &gate.recorded };
    let faults = faults(gate.limit, known, &measured, total);
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}

fn faults(limit: u64, recorded: &BTreeMap<String, u64>, measured: &BTreeMap<String, u64>, total: u64) -> Vec<String> {
    const RECORD: &str = "if it is worth it, `cargo xtask size --update` and commit size.toml";
    let mut faults = Vec::new();
    if total > limit {
        faults.push(format!("the download of {total} bytes exceeds the limit of {limit}"));
    }
    for (name, &size) in measured {
        match recorded.get(name) {
            None => faults.push(format!("{name} is not recorded: {RECORD}")),
            Some(&known) if size * 100 > known * (100 + GROWTH) => {
                faults.push(format!("{name} grew from {known} to {size} bytes, more than {GROWTH} %: {RECORD}"))
            }
            Some(_) => {}
        }
    }
    faults
}

/// The bytes after `gzip -9`.
pub fn gzip(bytes: &[u8]) -> Result<u64> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len() as u64)
}

fn render(gate: &Gate, recorded: &BTreeMap<String, u64>) -> String {
    let Gate { budget, limit, .. } = gate;
    let lines = recorded.iter().map(|(name, size)| format!("{name:?} = {size}\n"));
    format!(
        "# What a page downloads, in bytes after gzip -9. `cargo xtask size` checks it,\n\
         # `cargo xtask size --update` records it.\n\
         \n\
         # What the module, the glue, rows.js and its words are meant to be together,\n\
         # and what they must not exceed while they are more.\n\
         budget = {budget}\n\
         limit = {limit}\n\
         \n\
         # No file may grow by more than {GROWTH} % over this.\n\
         [recorded]\n\
         {}",
        lines.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(module: u64) -> BTreeMap<String, u64> {
        BTreeMap::from([(MODULE.to_owned(), module)])
    }

    #[track_caller]
    fn check(recorded: u64, measured: u64, fault: Option<&str>) {
        let faults = faults(2000, &sizes(recorded), &sizes(measured), measured);
        match fault {
            None => assert_eq!(faults, [""; 0]),
            Some(words) => assert!(faults.len() == 1 && faults[0].contains(words), "{faults:?}"),
        }
    }

    #[test]
    fn two_percent_of_growth_pass_and_more_does_not() {
        check(1000, 900, None);
        check(1000, 1020, None);
        check(1000, 1021, Some("grew from 1000 to 1021"));
    }

    #[test]
    fn the_limit_itself_passes_and_one_byte_more_does_not() {
        check(2000, 2000, None);
        check(2001, 2001, Some("exceeds the limit"));
    }

    #[test]
    fn a_file_that_is_not_recorded_fails() {
        let faults = faults(2000, &BTreeMap::new(), &sizes(10), 10);
        assert!(faults.len() == 1 && faults[0].contains("not recorded"), "{faults:?}");
    }

    #[test]
    fn what_is_recorded_is_read_back() {
        let gate = Gate { budget: 7, limit: 8, recorded: BTreeMap::new() };
        let gate: Gate = toml::from_str(&render(&gate, &sizes(5))).unwrap();
        assert_eq!((gate.budget, gate.limit, gate.recorded), (7, 8, sizes(5)));
    }
}
