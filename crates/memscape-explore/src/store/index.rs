//! Where points stand among shards, by their keys.

use rayon::prelude::*;

use super::shard::Shard;
use crate::space::Key;

/// The keys of many shards, sorted.
pub(crate) struct Index {
    entries: Vec<Entry>,
    /// Where keys with the same first bits begin.
    starts: Vec<u32>,
    bits: u32,
    pub(crate) shards: Vec<Shard>,
}

#[derive(Clone, Copy)]
struct Entry {
    key: Key,
    place: Place,
}

/// A row of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) shard: u32,
    pub(crate) row: u32,
}

/// More keys would take more than a gigabyte; what is beyond is computed again.
pub(crate) const MOST_ENTRIES: usize = 1 << 25;

/// Keys that are looked through for one.
const LOOKED_THROUGH: usize = 8;

impl Index {
    /// Of shards with their keys.
    pub(crate) fn new(shards: Vec<(Shard, Vec<Key>)>) -> Self {
        let mut entries = Vec::with_capacity(shards.iter().map(|it| it.1.len()).sum());
        let mut named = Vec::with_capacity(shards.len());
        for (shard, (name, keys)) in (0..).zip(shards) {
            let of_row = |(row, key)| Entry { key, place: Place { shard, row } };
            entries.extend((0..).zip(keys).map(of_row));
            named.push(name);
        }
        entries.par_sort_unstable_by_key(|it| (it.key, it.place));
        entries.dedup_by_key(|it| it.key);
        let bits = (entries.len() / LOOKED_THROUGH).max(1).ilog2() + 1;
        let mut starts = Vec::with_capacity((1 << bits) + 1);
        for (place, entry) in (0..).zip(&entries) {
            starts.resize(first_bits(entry.key, bits).max(starts.len().saturating_sub(1)) + 1, place);
        }
        starts.resize((1 << bits) + 1, u32::try_from(entries.len()).unwrap_or(u32::MAX));
        Self { entries, starts, bits, shards: named }
    }

    pub(crate) fn find(&self, key: Key) -> Option<Place> {
        let bucket = first_bits(key, self.bits);
        let bucket = self.starts[bucket] as usize..self.starts[bucket + 1] as usize;
        self.entries[bucket].iter().find(|it| it.key == key).map(|it| it.place)
    }
}

fn first_bits(key: Key, bits: u32) -> usize {
    usize::try_from(key >> (Key::BITS - bits)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn every_key_is_found_and_no_other() {
        let name = || Shard::of(PathBuf::from(format!("{0:032x}-{0:032x}.parquet", 1))).unwrap();
        let random = memscape_study::random::Key::new(3);
        let key = |it: u64| Key::from(random.bits(2 * it)) << 64 | Key::from(random.bits(2 * it + 1));
        for count in [0, 1, 2, 7, 100, 5000] {
            let keys: Vec<Key> = (0..count).map(key).collect();
            let shard = |part: &[Key]| (name(), part.to_vec());
            let shards = keys.chunks(64).map(shard).collect();
            let index = Index::new(shards);
            for (at, key) in (0_u32..).zip(&keys) {
                assert_eq!(index.find(*key), Some(Place { shard: at / 64, row: at % 64 }));
            }
            assert!((count..count + 1000).all(|it| index.find(key(it)).is_none()));
        }
        assert_eq!(Index::new(Vec::new()).find(0), None);
        let ends = vec![(name(), vec![0, Key::MAX])];
        let ends = Index::new(ends);
        assert!(ends.find(0).is_some() && ends.find(Key::MAX).is_some() && ends.find(1).is_none());
    }
}
