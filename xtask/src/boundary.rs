//! Checks that the core knows nothing of JavaScript: outside `src/wasm` no
//! source names a crate of the boundary. Comments may.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::project::Project;

/// The crates that only `src/wasm` may name; wasm_bindgen with all that begins so.
const CRATES: [&str; 5] = ["wasm_bindgen*", "js_sys", "web_sys", "serde_wasm_bindgen", "futures"];

pub fn check(project: &Project) -> Result<()> {
    let source = project.root.join("src");
    let edge = source.join("wasm");
    let mut found = Vec::new();
    for file in rust_files(&source)?.iter().filter(|file| !file.starts_with(&edge)) {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let name = file.strip_prefix(&project.root).unwrap_or(file).display();
        for (line, word) in named(&text) {
            found.push(format!("{name}:{line}: {word}"));
        }
    }
    if !found.is_empty() {
        bail!("only src/wasm may name these:\n{}", found.join("\n"));
    }
    Ok(())
}

/// The forbidden names in a source text, each with its line's number.
fn named(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(line));
    code.enumerate().flat_map(|(index, line)| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| CRATES.iter().any(|name| fits(word, name)))
            .map(move |word| (index + 1, word))
    })
}

fn fits(word: &str, name: &str) -> bool {
    match name.strip_suffix('*') {
        Some(prefix) => word.starts_with(prefix),
        None => word == name,
    }
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(usize, &str)]) {
        assert_eq!(named(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn code_may_not_name_a_crate_of_the_boundary() {
        check("mod a;\nuse wasm_bindgen::JsValue;", &[(2, "wasm_bindgen")]);
        check("fn f(a: js_sys::Array, b: &web_sys::Window) {}", &[(1, "js_sys"), (1, "web_sys")]);
        check("wasm_bindgen_futures::spawn_local(f)", &[(1, "wasm_bindgen_futures")]);
        check("serde_wasm_bindgen::to_value(&futures::join)", &[(1, "serde_wasm_bindgen"), (1, "futures")]);
    }

    #[test]
    fn comments_and_longer_names_may() {
        check("/// Unlike wasm_bindgen.\nlet futures_seen = 0; // futures", &[]);
    }
}
