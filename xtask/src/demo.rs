//! `cargo xtask demo`: builds the package, serves the demo page with a task
//! stream for its live scene, and keeps serving until it is interrupted.

use std::process::{Command, Stdio};

use anyhow::{Context, Error, Result, ensure};
use lexopt::prelude::*;
use serve::{Mount, Server};

use crate::package::{self, Kind};
use crate::project::Project;

pub fn run(project: &Project, mut arguments: lexopt::Parser) -> Result<()> {
    let (mut port, mut open) = (8080_u16, true);
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("port") => port = arguments.value()?.parse().map_err(Error::msg)?,
            Long("no-open") => open = false,
            _ => return Err(argument.unexpected().into()),
        }
    }
    let www = project.root.join("www");
    ensure!(www.join("index.html").is_file(), "www/index.html, the demo page, is missing");
    let package = package::build(project, Kind::Demo)?;
    let mounts = vec![Mount { prefix: "/pkg/", folder: package }, Mount { prefix: "/", folder: www }];
    let server = Server::start(mounts, port)
        .with_context(|| format!("no port from {port} on can be had: try another with --port"))?;
    println!("demo: {}", server.url());
    if open {
        open_browser(&server.url());
    }
    server.wait();
    Ok(())
}

/// Shows the page where there is a desktop; elsewhere the address was printed.
fn open_browser(url: &str) {
    let desktop = std::env::var_os("DISPLAY").or_else(|| std::env::var_os("WAYLAND_DISPLAY"));
    let opener = if cfg!(target_os = "macos") { Some("open") } else { desktop.map(|_| "xdg-open") };
    if let Some(opener) = opener {
        let mut command = Command::new(opener);
        command.arg(url).stdout(Stdio::null()).stderr(Stdio::null());
        // The address stands on the terminal all the same.
        let _ = command.spawn();
    }
}
