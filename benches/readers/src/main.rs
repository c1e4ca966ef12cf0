//! `readers FILE ROUNDS`: the readers on this machine, without WebAssembly.
//! Prints a JSON array of names, digests and samples in milliseconds.

use std::hint::black_box;
use std::time::Instant;

use readers::{Digest, Reader, read_all};

type ReadAll = fn(&[u8], &[u32]) -> Digest;

/// One pass over the records is too short for a clock.
const PASSES: u32 = 10;

struct Side {
    name: &'static str,
    read_all: ReadAll,
    samples: Vec<f64>,
}

fn side<R: Reader>(name: &'static str) -> Side {
    Side { name, read_all: read_all::<R>, samples: Vec::new() }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(rounds)) = (arguments.next(), arguments.next()) else {
        return Err("usage: readers FILE ROUNDS".into());
    };
    let bytes = std::fs::read(file)?;
    let lines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let ends: Vec<u32> = lines.map(|(at, _)| at as u32 + 1).collect();
    let mut sides = [
        side::<readers::tape::TapeReader>("tape"),
        side::<readers::hifijson::HifiJson>("hifijson"),
        side::<readers::jiter::JiterReader>("jiter"),
        side::<readers::serde_json::SerdeJson>("serde_json"),
    ];
    for _ in 0..rounds.parse()? {
        for side in &mut sides {
            let start = Instant::now();
            for _ in 0..PASSES {
                black_box((side.read_all)(black_box(&bytes), &ends));
            }
            side.samples.push(start.elapsed().as_secs_f64() * 1000.0 / f64::from(PASSES));
        }
    }
    let sides = sides.iter().map(|side| {
        let digest = (side.read_all)(&bytes, &ends).number();
        ::serde_json::json!({ "name": side.name, "digest": digest, "samples": side.samples })
    });
    println!("{}", ::serde_json::Value::from_iter(sides));
    Ok(())
}
