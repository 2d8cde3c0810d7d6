//! The files on a simulated disk: what processes see, and what is left after a power cut.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How many changes of a file a system keeps in its memory; it writes the first ones then, unasked.
const MOST_CHANGES: usize = 64;

/// What lies on a disk, as processes see it and as it would be after a power cut.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    pub nodes: Vec<Node>,
    pub names: BTreeMap<String, usize>,
    /// The names that the disk has, and what came after; a journal keeps their order.
    pub durable_names: BTreeMap<String, usize>,
    pub name_changes: Vec<NameChange>,
    pub weather: Weather,
}

/// What is wrong with a disk, until when.
#[derive(Clone, Debug, Default)]
pub(super) struct Weather {
    /// Bytes that segments have room for, where that is less than the spool may have.
    pub room: Option<usize>,
    pub full_until: Duration,
    pub failing_until: Duration,
    /// How long a flush takes at most.
    pub slow: Duration,
    /// Writes of segments that failed.
    pub failed_writes: u64,
    /// Messages that were put off because the disk takes none of them.
    pub put_off: u64,
    /// Whether anything failed.
    pub has_failed: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub bytes: Vec<u8>,
    pub durable: Vec<u8>,
    /// What is not on the disk yet; any part of it may be there first.
    pub changes: VecDeque<Change>,
}

#[derive(Clone, Debug)]
pub(super) enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

#[derive(Clone, Debug)]
pub(super) enum NameChange {
    Add(String, usize),
    Remove(String),
    Rename(String, String),
}

impl Change {
    pub fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write(offset, written) => {
                let end = offset + written.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[*offset..end].copy_from_slice(written);
            }
            Self::Length(length) => bytes.resize(*length, 0),
        }
    }
}

impl NameChange {
    pub fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Add(name, node) => drop(names.insert(name.clone(), *node)),
            Self::Remove(name) => drop(names.remove(name)),
            Self::Rename(from, to) => {
                if let Some(node) = names.remove(from) {
                    names.insert(to.clone(), node);
                }
            }
        }
    }
}

impl Files {
    pub fn change(&mut self, node: usize, change: Change) {
        let Node { bytes, durable, changes } = &mut self.nodes[node];
        change.apply(bytes);
        changes.push_back(change);
        if changes.len() > MOST_CHANGES {
            changes.pop_front().into_iter().for_each(|change| change.apply(durable));
        }
    }

    pub fn change_names(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.name_changes.push(change);
    }

    /// The power fails: of what was not flushed, names were changed up to some moment, and any bytes are there or not.
    pub fn cut_power(&mut self, random: &mut fastrand::Rng) {
        let until = random.usize(..=self.name_changes.len());
        self.name_changes.drain(..).take(until).for_each(|change| change.apply(&mut self.durable_names));
        self.names.clone_from(&self.durable_names);
        for node in &mut self.nodes {
            for change in std::mem::take(&mut node.changes) {
                match (random.u8(..4), change) {
                    (0, _) => (),
                    (1, Change::Write(offset, bytes)) => {
                        let there = random.usize(..=bytes.len());
                        Change::Write(offset, bytes[..there].to_vec()).apply(&mut node.durable);
                    }
                    // Later bytes are there, earlier ones are zeros.
                    (2, Change::Write(offset, mut bytes)) => {
                        let lost = random.usize(..=bytes.len());
                        bytes[..lost].fill(0);
                        Change::Write(offset, bytes).apply(&mut node.durable);
                    }
                    (_, change) => change.apply(&mut node.durable),
                }
            }
            node.bytes.clone_from(&node.durable);
        }
    }

    /// Bytes of all segments.
    pub fn used(&self) -> usize {
        let segments = self.names.iter().filter(|(name, _)| name.ends_with(".spool"));
        segments.map(|(_, node)| self.nodes[*node].bytes.len()).sum()
    }
}
