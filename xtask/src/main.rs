//! `cargo xtask`: the project's own commands, and all the set-up that they
//! need on a machine with Rust and a C compiler.

mod bench;
mod boundary;
mod command;
mod demo;
mod package;
mod project;
mod replay;
mod setup;
mod size;
mod test;

use std::process::ExitCode;

use anyhow::{Result, bail};
use lexopt::prelude::*;

use crate::package::Kind;
use crate::project::Project;

const HELP: &str = "\
cargo xtask COMMAND

  demo [--port N] [--no-open]
          Build the package and serve the demo page on 127.0.0.1, from port N on
          (8080); shows it in a browser where there is a desktop.
  test [--only STEP …] [--list]
          Run every check, or the named steps; --list names them.
  replay --format F [OPTION …] FILE | -
          Read a recording and print what a page would be told, as JSON lines;
          `cargo xtask replay` alone lists the options.
  bench [--rounds N] [--only NAME …] [--json] | --readers [--rounds N]
          Measure the release package beside JavaScript, in Chromium and node;
          --readers compares readers of JSON. See benches/README.md.
  dist [--only F,F] [--features F]
          Build the release package in target/dist and check its size, or tell it
          where it is built otherwise: for some formats only, such as
          `--only say,acp`, or with further features, such as `conversion`.
  size [--update]
          Check the release package against size.toml; --update records it.

Every command installs what it needs the first time: into target/, into a
cache folder that all clones share, through rustup, or with apt-get where
that is allowed. What cannot be had is named, with the command that gets it.
";

fn main() -> ExitCode {
    match dispatch() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch() -> Result<ExitCode> {
    let replays = std::env::args().nth(1).is_some_and(|command| command == "replay");
    if !replays && std::env::args().any(|argument| argument == "--help") {
        print!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    }
    let mut arguments = lexopt::Parser::from_env();
    let command = match arguments.next()? {
        Some(Value(command)) => command.string()?,
        None => {
            print!("{HELP}");
            return Ok(ExitCode::SUCCESS);
        }
        Some(option) => return Err(option.unexpected().into()),
    };
    match command.as_str() {
        "demo" => demo::run(&Project::load()?, arguments)?,
        "test" => return test::run_steps(&Project::load()?, arguments),
        "replay" => {
            let rest = arguments.raw_args()?.map(|argument| argument.string());
            return Ok(replay::run(rest.collect::<Result<_, _>>()?));
        }
        "bench" => bench::run(&Project::load()?, arguments)?,
        "dist" => dist(arguments)?,
        "size" => size(arguments)?,
        "help" => print!("{HELP}"),
        unknown => bail!("there is no command `{unknown}`: `cargo xtask` lists them"),
    }
    Ok(ExitCode::SUCCESS)
}

fn dist(mut arguments: lexopt::Parser) -> Result<()> {
    let mut features = vec!["page".to_owned()];
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("only") => features[0] = arguments.value()?.string()?,
            Long("features") => features.push(arguments.value()?.string()?),
            _ => return Err(argument.unexpected().into()),
        }
    }
    let project = Project::load()?;
    let package = package::build_with(&project, Kind::Release, &features)?;
    println!("package: {}", package.display());
    if features == ["page"] {
        return size::gate(&project, &package, size::Mode::Check);
    }
    for size in size::sizes(&package)? {
        println!("{}: {} bytes, gzip -9", size.name, size.gzip);
    }
    Ok(())
}

fn size(mut arguments: lexopt::Parser) -> Result<()> {
    let mut mode = size::Mode::Check;
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("update") => mode = size::Mode::Record,
            _ => return Err(argument.unexpected().into()),
        }
    }
    let project = Project::load()?;
    let package = package::build(&project, Kind::Release)?;
    size::gate(&project, &package, mode)
}
