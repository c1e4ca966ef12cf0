//! How many generated cases a property is tried on, and which: the same at every run, unless `PROPTEST_CASES` and
//! `PROPTEST_RNG_SEED` ask for others.

use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// So many cases.
pub fn cases(count: u32) -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = count;
    }
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(1);
    }
    config
}

/// 5,000 cases, or 100,000 where `CHATROWS_FULL` is set.
pub fn many_cases() -> ProptestConfig {
    cases(if std::env::var_os("CHATROWS_FULL").is_some() { 100_000 } else { 5_000 })
}
