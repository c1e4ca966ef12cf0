//! The frames that were seen: a replay after a reconnect, or a server that repeats itself, sends them again. Roots of
//! frames go in; whether each is new comes out. It remembers the newest so many and forgets the oldest, so it is a
//! first filter: a replay of more frames than it remembers is reconciled by position, elsewhere.

use crate::json::Value;

/// The keys of the newest frames. A key is the frame's `type` (or `event`), `kind`, `seq`, `timestamp` and `data` as
/// they are written, so that no digit of a timestamp in nanoseconds is rounded away. Frames are the same if all five
/// are; the same time and data under another `seq` is another frame.
///
/// A frame with neither a `seq` nor a `timestamp` (absent, null or 0, as in a ping) cannot be told from another that
/// says the same, and is always new: what is really said twice is shown twice.
///
/// Of a key 64 bits of hash are kept. That a new frame is taken for one of the 2,000 remembered has a chance of 1 in 9
/// × 10¹⁵; of a million frames one is lost in 1 of 9 × 10⁹ sessions. Whoever makes frames collide on purpose is the
/// server itself, which could as well not send them.
///
/// ```
/// use chatrows::{SeenFrames, json::Tape, limits::SEEN_FRAMES};
/// let (mut seen, mut tape) = (SeenFrames::new(SEEN_FRAMES), Tape::default());
/// let mut is_new = |text: &str| seen.is_new(tape.read(text).unwrap().root());
/// assert!(is_new(r#"{"type":"task-running","seq":1,"timestamp":1719561600123456789,"data":"e30="}"#));
/// assert!(is_new(r#"{"type":"task-running","seq":1,"timestamp":1719561600123456788,"data":"e30="}"#));
/// assert!(!is_new(r#"{"type":"task-running","seq":1,"timestamp":1719561600123456789,"data":"e30="}"#));
/// assert!(is_new(r#"{"type":"ping"}"#) && is_new(r#"{"type":"ping"}"#));
/// ```
#[derive(Debug)]
pub struct SeenFrames {
    cap: usize,
    /// The oldest is at `next` once there are `cap` of them.
    keys: Vec<Seen>,
    next: usize,
    /// By some bits of a hash: the newest key that has them.
    heads: Vec<u32>,
}

/// A key, and the one before it among those that share these bits.
#[derive(Debug)]
struct Seen {
    hash: u64,
    older: u32,
}

const NONE: u32 = u32::MAX;

impl SeenFrames {
    /// Remembers the newest `cap` frames, such as [`SEEN_FRAMES`](crate::limits::SEEN_FRAMES); of 0, none.
    pub fn new(cap: usize) -> Self {
        SeenFrames { cap: cap.min(1 << 24), keys: Vec::new(), next: 0, heads: Vec::new() }
    }

    /// True the first time, and again when so many others came that it was forgotten. To be seen again does not make a
    /// frame newer. `frame`: the root of its record.
    pub fn is_new(&mut self, frame: Value<'_>) -> bool {
        self.cap == 0 || !is_dated(frame) || self.insert(key(frame))
    }

    pub(super) fn insert(&mut self, hash: u64) -> bool {
        if self.keys.len() == self.heads.len() && self.keys.len() < self.cap {
            self.widen();
        }
        let mut at = self.heads[self.head(hash)];
        while let Some(seen) = self.keys.get(at as usize) {
            if seen.hash == hash {
                return false;
            }
            at = seen.older;
        }
        let place = self.next as u32;
        if let Some(oldest) = self.keys.get(self.next) {
            // It ends its chain, for all that share its bits came later.
            let head = self.head(oldest.hash);
            let mut at = self.heads[head];
            if at == place {
                self.heads[head] = NONE;
            }
            while let Some(newer) = self.keys.get_mut(at as usize) {
                at = newer.older;
                if at == place {
                    newer.older = NONE;
                }
            }
        } else {
            self.keys.push(Seen { hash, older: NONE });
        }
        let head = self.head(hash);
        let older = std::mem::replace(&mut self.heads[head], place);
        self.keys[self.next] = Seen { hash, older };
        self.next = (self.next + 1) % self.cap;
        true
    }

    /// More heads for more keys, of which none was forgotten yet.
    fn widen(&mut self) {
        let count = (2 * self.heads.len()).clamp(64, self.cap.next_power_of_two().max(64));
        self.heads.clear();
        self.heads.resize(count, NONE);
        for place in 0..self.keys.len() {
            let head = self.head(self.keys[place].hash);
            self.keys[place].older = std::mem::replace(&mut self.heads[head], place as u32);
        }
    }

    fn head(&self, hash: u64) -> usize {
        // The high half of the product is the better mixed one.
        (hash >> 32) as usize & (self.heads.len() - 1)
    }
}

/// Whether a frame has a `seq` or a `timestamp` by which it can be told from another that says the same.
pub(super) fn is_dated(frame: Value<'_>) -> bool {
    let dated = |value: Value<'_>| !value.is_null() && value.u64() != Some(0);
    dated(frame.get("seq")) || dated(frame.get("timestamp"))
}

/// The hash of a frame's key.
pub(super) fn key(frame: Value<'_>) -> u64 {
    let kind = frame.get("type");
    let kind = if kind.exists() { kind } else { frame.get("event") };
    let parts = [kind, frame.get("kind"), frame.get("seq"), frame.get("timestamp"), frame.get("data")];
    // FNV-1a. No byte of UTF-8 is 0xff, so it tells where a part ends; what is absent is empty, and no value is.
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut mix = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    for part in parts {
        part.raw().bytes().for_each(&mut mix);
        mix(0xff);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::SeenFrames;

    #[test]
    fn it_agrees_with_a_plain_list_of_the_newest_keys() {
        for (cap, keys) in [(1, 3), (2, 4), (7, 12), (64, 100), (100, 90)] {
            let (mut seen, mut plain, mut seed) = (SeenFrames::new(cap), Vec::new(), 7u64);
            for step in 0..20_000 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Few different high halves, so that chains are long.
                let hash = ((seed >> 40) % keys) << 31;
                let known = plain.contains(&hash);
                if !known {
                    plain.push(hash);
                    if plain.len() > cap {
                        plain.remove(0);
                    }
                }
                assert_eq!(seen.insert(hash), !known, "cap {cap}, step {step}");
            }
        }
    }
}
