//! What cargo knows about the project: where it lies, where it builds, and
//! the versions that the package and the tools must agree on.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The crate `chatrows` and its places.
pub struct Project {
    /// The repository.
    pub root: PathBuf,
    /// Cargo's target folder; everything that xtask makes goes there too.
    pub target: PathBuf,
    /// The version, description and licence of the crate, for the package.
    pub version: String,
    pub description: String,
    pub license: String,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    description: Option<String>,
    license: Option<String>,
}

impl Project {
    /// Asks cargo, from the folder of this very crate.
    pub fn load() -> Result<Project> {
        let output = cargo(Path::new(env!("CARGO_MANIFEST_DIR")))
            .args(["metadata", "--format-version", "1", "--no-deps"])
            .output()
            .context("cargo cannot be started")?;
        if !output.status.success() {
            bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
        }
        let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
        let package = metadata.packages.into_iter().find(|package| package.name == "chatrows");
        let package = package.context("the workspace has no crate `chatrows`")?;
        Ok(Project {
            root: metadata.workspace_root,
            target: metadata.target_directory,
            version: package.version,
            description: package.description.unwrap_or_default(),
            license: package.license.unwrap_or_default(),
        })
    }

    /// The cargo that runs xtask, in the repository.
    pub fn cargo(&self) -> Command {
        cargo(&self.root)
    }

    /// The locked version of wasm-bindgen. The tools that read what it wrote
    /// into a module must have exactly this one.
    pub fn wasm_bindgen(&self) -> Result<String> {
        #[derive(Deserialize)]
        struct Lock {
            package: Vec<Locked>,
        }
        #[derive(Deserialize)]
        struct Locked {
            name: String,
            version: String,
        }
        let lock = std::fs::read_to_string(self.root.join("Cargo.lock")).context("Cargo.lock")?;
        let lock: Lock = toml::from_str(&lock).context("Cargo.lock")?;
        let locked = lock.package.into_iter().find(|package| package.name == "wasm-bindgen");
        Ok(locked.context("Cargo.lock has no wasm-bindgen")?.version)
    }
}

fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder);
    command
}
