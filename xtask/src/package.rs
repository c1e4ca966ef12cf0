//! The package that pages import: compile the crate, let wasm-bindgen write
//! the glue, and put the page-side renderer and a manifest beside it.
//!
//! What is built already from the same inputs is not built again.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

use crate::command::run;
use crate::project::Project;
use crate::setup;

/// The module, as wasm-bindgen names it.
pub const MODULE: &str = "chatrows_bg.wasm";
/// The glue that wasm-bindgen writes for it.
pub const GLUE: &str = "chatrows.js";
/// The renderer, written by hand.
pub const RENDERER: &str = "rows.js";
pub const STYLES: &str = "rows.css";
/// The words that the renderer imports.
pub const ENGLISH: &str = "locales/en.js";

/// What pages import besides the module. The renderer imports the English words.
const PAGE_SIDE: [&str; 7] = [
    "www/rows.js",
    "www/rows.css",
    "www/rows.d.ts",
    "www/locales/en.js",
    "www/locales/fr.js",
    "www/locales/zh.js",
    "www/locales/locale.d.ts",
];

/// Which package to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// For the demo and its tests: soon there, and panics are told on the console.
    Demo,
    /// What is published: without the panic hook, and as small as it gets.
    Release,
}

impl Kind {
    fn features(self) -> &'static [&'static str] {
        match self {
            Kind::Demo => &["page", "agent", "sessions", "panic-hook"],
            Kind::Release => &["page"],
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Kind::Demo => "pkg",
            Kind::Release => "dist",
        }
    }

    /// The files of the repository that go into the package as they are.
    fn sources(self) -> impl Iterator<Item = &'static str> {
        let words: &[&str] = match self {
            Kind::Demo => &[],
            Kind::Release => &["README.md", "LICENSE-MIT", "LICENSE-APACHE"],
        };
        PAGE_SIDE.iter().chain(words).copied()
    }
}

/// Builds the package where its inputs changed; answers with its folder.
pub fn build(project: &Project, kind: Kind) -> Result<PathBuf> {
    build_with(project, kind, kind.features())
}

/// The same with these features of the crate.
pub fn build_with(project: &Project, kind: Kind, features: &[impl AsRef<str>]) -> Result<PathBuf> {
    setup::wasm_target()?;
    let module = compile(project, kind, features)?;
    let module = fs::read(&module).with_context(|| module.display().to_string())?;
    let sources = read_sources(project, kind)?;

    let folder = project.target.join(kind.folder());
    let stamp_file = folder.with_extension("stamp");
    let stamp = stamp(&module, &sources)?;
    if fs::read_to_string(&stamp_file).is_ok_and(|last| last == stamp) {
        return Ok(folder);
    }

    // The stamp goes first and comes last: half a package is never taken for one.
    remove(&stamp_file)?;
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    Bindgen::new()
        .input_bytes("chatrows", module)
        .web(true)?
        // So that `init()` finds the module beside the glue.
        .omit_default_module_path(false)
        .typescript(true)
        .generate(&folder)?;
    if kind == Kind::Release {
        number_imports(&folder)?;
        shrink(project, &folder.join(MODULE))?;
    }
    fs::create_dir_all(folder.join("locales"))?;
    for (name, bytes) in &sources {
        fs::write(folder.join(name), bytes)?;
    }
    if kind == Kind::Release {
        let scripts = sources.iter().map(|(name, _)| *name).filter(|name| name.ends_with(".js"));
        for script in scripts.chain([GLUE]) {
            minify(project, &folder.join(script))?;
        }
    }
    fs::write(folder.join("package.json"), manifest(project)?)?;
    fs::write(&stamp_file, stamp)?;
    Ok(folder)
}

/// Compiles the module; answers with where it is.
fn compile(project: &Project, kind: Kind, features: &[impl AsRef<str>]) -> Result<PathBuf> {
    let mut cargo = project.cargo();
    // What a panic would say of places on this machine is nobody's business, and long.
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let home = home.map(|home| format!("--remap-path-prefix={}=", home.join("registry/src").display()));
    let mut flags: Vec<String> = home.into_iter().collect();
    // Nothing recurses with the input, so a quarter of the usual stack is plenty; the rest would be memory of each page.
    flags.push("-Clink-arg=-zstack-size=262144".to_owned());
    cargo.args(["build", "--release", "--lib", "--package", "chatrows", "--target", setup::WASM]);
    // What only other programs need is no part of what a page downloads.
    cargo.arg("--no-default-features");
    for feature in features {
        cargo.args(["--features", feature.as_ref()]);
    }
    let mut target = project.target.clone();
    if kind == Kind::Release {
        // The standard library as it is delivered says at length where it panicked, which nobody would hear. Compiled
        // with the module it is 6 % less to download; what is hot in it stays as fast.
        setup::standard_library()?;
        target.push("dist-build");
        flags.extend(["-Zunstable-options", "-Cpanic=immediate-abort", "-Zfmt-debug=none"].map(str::to_owned));
        for fast in ["core", "compiler_builtins"] {
            cargo.args(["--config", &format!("profile.release.package.{fast}.opt-level=3")]);
        }
        cargo.args(["-Zbuild-std=std,panic_abort", "--target-dir"]).arg(&target).env("RUSTC_BOOTSTRAP", "1");
    }
    run(cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")))?;
    Ok(target.join(setup::WASM).join("release/chatrows.wasm"))
}

/// Names in the package, and contents.
fn read_sources(project: &Project, kind: Kind) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let read = |path: &'static str| {
        let name = path.strip_prefix("www/").unwrap_or(path);
        let bytes = fs::read(project.root.join(path));
        Ok((name, bytes.with_context(|| format!("{path}, a file of the package"))?))
    };
    kind.sources().map(read).collect()
}

/// Tells whether a package was made of the same inputs by the same xtask.
fn stamp(module: &[u8], sources: &[(&str, Vec<u8>)]) -> Result<String> {
    let xtask = fs::metadata(std::env::current_exe()?)?;
    let mut hasher = DefaultHasher::new();
    (module, sources, xtask.len(), xtask.modified()?).hash(&mut hasher);
    Ok(format!("{:016x}\n", hasher.finish()))
}

fn remove(file: &Path) -> Result<()> {
    if file.exists() {
        fs::remove_file(file)?;
    }
    Ok(())
}

/// wasm-bindgen tells the functions between module and glue apart by hashes, which no compression shortens. Numbers
/// of the same length do as well, and only these two files name them.
fn number_imports(folder: &Path) -> Result<()> {
    const DIGITS: usize = 16;
    let (glue, module) = (folder.join(GLUE), folder.join(MODULE));
    let mut script = fs::read_to_string(&glue)?;
    let mut code = fs::read(&module)?;
    let is_hash = |word: &str| word.len() == DIGITS && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = script.split(|c: char| !c.is_ascii_alphanumeric()).map(|word| word.trim_start_matches('h'));
    let hashes: BTreeSet<String> = words.filter(|word| is_hash(word)).map(str::to_owned).collect();
    for (number, hash) in hashes.iter().enumerate() {
        let name = format!("{number:0DIGITS$}");
        script = script.replace(hash.as_str(), &name);
        let places: Vec<usize> = memmem(&code, hash.as_bytes()).collect();
        ensure!(!places.is_empty(), "the glue names {hash}, the module does not");
        for place in places {
            code[place..place + DIGITS].copy_from_slice(name.as_bytes());
        }
    }
    fs::write(glue, script)?;
    fs::write(module, code)?;
    Ok(())
}

/// Where `needle` stands in `bytes`.
fn memmem<'a>(bytes: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    bytes.windows(needle.len()).enumerate().filter(move |(_, window)| *window == needle).map(|(place, _)| place)
}

/// Aims at the download, not at the file: large functions inlined into their one caller and values kept for reuse make
/// fewer bytes that compress worse, functions of like names are alike.
const SHRINK: [&str; 7] = [
    "--flatten",
    "--rereloop",
    "-Oz",
    "-Oz",
    "--reorder-functions-by-name",
    "--one-caller-inline-max-function-size=25",
    "--skip-pass=local-cse",
];

/// wasm-opt drops what is not needed and names; a module that did not shrink
/// has not been through it.
pub fn shrink(project: &Project, module: &Path) -> Result<()> {
    let wasm_opt = setup::wasm_opt(project)?;
    let before = fs::metadata(module)?.len();
    run(Command::new(wasm_opt).args(SHRINK).arg(module).arg("-o").arg(module))?;
    let after = fs::metadata(module)?.len();
    ensure!(after < before, "wasm-opt left {} at {after} bytes, from {before}", module.display());
    Ok(())
}

/// Takes comments and long names out of a module; what it exports stays.
fn minify(project: &Project, script: &Path) -> Result<()> {
    let esbuild = setup::esbuild(project)?;
    let mut outfile = std::ffi::OsString::from("--outfile=");
    outfile.push(script);
    let options = ["--minify", "--format=esm", "--target=es2022", "--allow-overwrite", "--log-level=warning"];
    run(Command::new(esbuild).arg(script).args(options).arg(outfile))
}

/// The package's manifest. Conditions are tried in order, so types come first.
fn manifest(project: &Project) -> Result<String> {
    let mut json = String::from("{\n  \"name\": \"chatrows\",\n");
    for (key, value) in
        [("version", &project.version), ("description", &project.description), ("license", &project.license)]
    {
        writeln!(json, "  \"{key}\": {},", serde_json::to_string(value)?)?;
    }
    json.push_str(
        r#"  "type": "module",
  "sideEffects": ["./rows.css"],
  "main": "./chatrows.js",
  "types": "./chatrows.d.ts",
  "exports": {
    ".": { "types": "./chatrows.d.ts", "default": "./chatrows.js" },
    "./rows.js": { "types": "./rows.d.ts", "default": "./rows.js" },
    "./rows.css": "./rows.css",
    "./locales/*.js": { "types": "./locales/locale.d.ts", "default": "./locales/*.js" },
    "./chatrows_bg.wasm": "./chatrows_bg.wasm",
    "./package.json": "./package.json"
  },
  "files": ["*.js", "*.d.ts", "*.css", "*.wasm", "locales", "LICENSE-*"]
}
"#,
    );
    Ok(json)
}
