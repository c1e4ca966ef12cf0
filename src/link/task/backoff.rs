//! How long to wait before dialling again.

/// Delays that double: `first`, twice that, four times that, never more than `max`; all in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    /// The first delay: 500.
    pub first: u64,
    /// The largest: 8,000.
    pub max: u64,
    /// The share of a delay, from 0 to 1, that chance may take off, so that many clients of one server do not come back
    /// in the same moment: 0, exact delays.
    pub jitter: f64,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff { first: 500, max: 8000, jitter: 0.0 }
    }
}

impl Backoff {
    /// The delay after `waits` others. `random`, from 0 to 1, says how much of the jitter is taken off.
    ///
    /// ```
    /// use chatrows::Backoff;
    /// let backoff = Backoff::default();
    /// let delays: Vec<u64> = (0..6).map(|waits| backoff.delay(waits, 0.0)).collect();
    /// assert_eq!(delays, [500, 1000, 2000, 4000, 8000, 8000]);
    /// assert_eq!(Backoff { jitter: 0.5, ..backoff }.delay(0, 1.0), 250);
    /// ```
    pub fn delay(&self, waits: u32, random: f64) -> u64 {
        let delay = self.first.saturating_mul(1 << waits.min(32)).min(self.max);
        // A conversion saturates, and what is no number is 0: nothing a caller says makes a delay longer.
        let off = delay as f64 * self.jitter * random;
        delay.saturating_sub(off as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::Backoff;

    #[test]
    fn no_numbers_make_a_delay_longer_than_its_own() {
        let odd = [0.0, 0.3, 1.0, -5.0, 9.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        for (jitter, random) in odd.iter().flat_map(|jitter| odd.map(|random| (*jitter, random))) {
            for waits in [0, 4, 31, 32, 64, u32::MAX] {
                let delay = Backoff { jitter, ..Backoff::default() }.delay(waits, random);
                assert!(delay <= 8000 && (waits > 0 || delay <= 500), "{jitter} {random} {waits}: {delay}");
            }
        }
        assert_eq!(Backoff { first: u64::MAX, max: u64::MAX, jitter: 0.0 }.delay(7, 0.0), u64::MAX);
    }
}
