//! A list that stays in the order of its keys, whatever order they come in. To find, add or take out one costs about
//! the logarithm of their number, for the list is kept in short pieces and only one of them moves; where keys come in
//! their order it is a plain list. The standard library's tree does as much in several times the code to download.

use std::cell::Cell;

/// What is told apart by a key.
pub(crate) trait Keyed {
    fn key(&self) -> &str;
}

/// Items in the order of their keys. No piece is empty.
#[derive(Debug)]
pub(crate) struct Sorted<T> {
    pieces: Vec<Vec<T>>,
    len: usize,
    /// Keys that were compared.
    work: Cell<u64>,
}

const PIECE: usize = 128;

impl<T> Default for Sorted<T> {
    fn default() -> Self {
        Sorted { pieces: Vec::new(), len: 0, work: Cell::new(0) }
    }
}

impl<T: Keyed> Sorted<T> {
    /// Keys that were compared so far: the measure of work.
    pub fn work(&self) -> u64 {
        self.work.get()
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flatten()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.pieces.iter_mut().flatten()
    }

    /// The piece in which the key stands or would stand, and where.
    #[inline(never)]
    fn find(&self, key: &str) -> (usize, Result<usize, usize>) {
        let compare = |known: &T| {
            self.work.set(self.work.get() + 1);
            known.key().cmp(key)
        };
        let after = self.pieces.partition_point(|piece| piece.first().is_some_and(|first| compare(first).is_le()));
        let piece = after.saturating_sub(1);
        (piece, self.pieces.get(piece).map_or(Err(0), |piece| piece.binary_search_by(compare)))
    }

    pub fn get(&self, key: &str) -> Option<&T> {
        let (piece, at) = self.find(key);
        self.pieces.get(piece)?.get(at.ok()?)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut T> {
        let (piece, at) = self.find(key);
        self.pieces.get_mut(piece)?.get_mut(at.ok()?)
    }

    /// The one of this key, made now if there is none.
    pub fn get_or_insert(&mut self, key: &str, make: impl FnOnce() -> T) -> &mut T {
        let (mut piece, at) = self.find(key);
        let mut at = match at {
            Ok(at) => return &mut self.pieces[piece][at],
            Err(at) => at,
        };
        let is_last = piece + 1 >= self.pieces.len();
        match self.pieces.get_mut(piece) {
            Some(list) if list.len() < PIECE => {}
            Some(list) if at < list.len() || !is_last => {
                let rest = list.split_off(PIECE / 2);
                self.pieces.insert(piece + 1, rest);
                if at > PIECE / 2 {
                    (piece, at) = (piece + 1, at - PIECE / 2);
                }
            }
            _ => {
                (piece, at) = (self.pieces.len(), 0);
                self.pieces.push(Vec::new());
            }
        }
        self.len += 1;
        self.pieces[piece].insert(at, make());
        &mut self.pieces[piece][at]
    }

    /// Takes out the one of this key.
    pub fn remove(&mut self, key: &str) -> Option<T> {
        let (piece, at) = self.find(key);
        let list = self.pieces.get_mut(piece)?;
        let removed = list.remove(at.ok()?);
        self.len -= 1;
        if list.is_empty() {
            self.pieces.remove(piece);
        }
        Some(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Keyed for String {
        fn key(&self) -> &str {
            self
        }
    }

    /// Puts numbers in, in this order, and takes every third one out.
    fn check(numbers: impl Iterator<Item = u32>) {
        let (mut list, mut all) = (Sorted::<String>::default(), Vec::new());
        for number in numbers {
            let key = number.to_string();
            assert_eq!(list.get(&key), None);
            assert_eq!(*list.get_or_insert(&key, || key.clone()), key);
            list.get_or_insert(&key, || unreachable!());
            all.push(key);
        }
        for (_, key) in all.iter().enumerate().filter(|(place, _)| place % 3 == 0) {
            assert_eq!(list.remove(key).as_ref(), Some(key));
            assert_eq!(list.remove(key), None);
        }
        let mut kept: Vec<String> =
            all.into_iter().enumerate().filter(|(place, _)| place % 3 != 0).map(|(_, key)| key).collect();
        kept.sort();
        assert_eq!(list.iter().cloned().collect::<Vec<_>>(), kept);
        assert_eq!((list.len(), list.is_empty()), (kept.len(), kept.is_empty()));
        assert!(list.pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= PIECE));
        assert!(kept.iter().all(|key| list.get(key) == Some(key) && list.get_mut(key).is_some()));
    }

    #[test]
    fn keys_in_any_order_are_found_and_stand_in_theirs() {
        for count in [0, 1, 2, 127, 128, 129, 2000] {
            check(0..count);
            check((0..count).rev());
            check((0..count).map(|number| number.wrapping_mul(0x9E37_79B9)));
        }
    }
}
