//! A disk that is full, fails, is slow and loses power.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use cudainfer_files::Access;

use super::machine::{Machine, Shared, machine};
use crate::spool::{Disk, DiskFile};
use crate::world;

/// What lies on a disk, as processes see it and as it would be after a power cut.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    nodes: Vec<Node>,
    names: BTreeMap<String, usize>,
    /// The names that the disk has, and what came after; a journal keeps their order.
    durable_names: BTreeMap<String, usize>,
    name_changes: Vec<NameChange>,
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
    /// Whether anything failed.
    pub has_failed: bool,
}

#[derive(Clone, Debug, Default)]
struct Node {
    bytes: Vec<u8>,
    durable: Vec<u8>,
    /// What is not on the disk yet; any part of it may be there first.
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

#[derive(Clone, Debug)]
enum NameChange {
    Add(String, usize),
    Remove(String),
    Rename(String, String),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
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
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
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
    fn change(&mut self, node: usize, change: Change) {
        let Node { bytes, changes, .. } = &mut self.nodes[node];
        change.apply(bytes);
        // What is cut off at once need not be remembered for long.
        let begins = |change: &Change| if let Change::Write(offset, _) = change { *offset } else { 0 };
        if let (Change::Length(length), [.., Change::Length(before), cut]) = (&change, &changes[..])
            && length == before
            && begins(cut) == *length
        {
            changes.pop();
            return;
        }
        changes.push(change);
    }

    fn change_names(&mut self, change: NameChange) {
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

#[derive(Debug)]
pub(super) struct SimulatedDisk(pub Shared);

#[derive(Debug)]
struct SimulatedFile {
    machine: Shared,
    node: usize,
    is_segment: bool,
}

/// Fails where the disk fails now.
fn check(machine: &mut Machine) -> io::Result<()> {
    let fails = world::passed() < machine.files.weather.failing_until && machine.random.u8(..4) == 0;
    if fails {
        machine.files.weather.has_failed = true;
        return Err(rustix::io::Errno::IO.into());
    }
    Ok(())
}

impl Disk for SimulatedDisk {
    fn names(&self) -> io::Result<Vec<String>> {
        let mut machine = machine(&self.0);
        check(&mut machine)?;
        Ok(machine.files.names.keys().cloned().collect())
    }

    fn file(&self, name: &str, access: Access) -> io::Result<Arc<dyn DiskFile>> {
        let mut machine = machine(&self.0);
        check(&mut machine)?;
        let found = machine.files.names.get(name).copied();
        let node = match (found, access) {
            (Some(_), Access::New) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(node), _) => node,
            (None, Access::Read) => return Err(io::ErrorKind::NotFound.into()),
            (None, _) => {
                machine.operate(|_, _| ());
                machine.files.nodes.push(Node::default());
                let node = machine.files.nodes.len() - 1;
                machine.files.change_names(NameChange::Add(name.to_owned(), node));
                node
            }
        };
        let is_segment = name.ends_with(".spool");
        Ok(Arc::new(SimulatedFile { machine: Arc::clone(&self.0), node, is_segment }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut machine = machine(&self.0);
        check(&mut machine)?;
        machine.operate(|_, _| ());
        machine.files.change_names(NameChange::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut machine = machine(&self.0);
        check(&mut machine)?;
        if !machine.files.names.contains_key(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        machine.operate(|_, _| ());
        machine.files.change_names(NameChange::Remove(name.to_owned()));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let until = machine(&self.0).files.name_changes.len();
        flush(&self.0)?;
        let mut machine = machine(&self.0);
        let Files { durable_names, name_changes, .. } = &mut machine.files;
        let until = until.min(name_changes.len());
        name_changes.drain(..until).for_each(|change| change.apply(durable_names));
        Ok(())
    }
}

/// The time that a flush takes.
fn flush(shared: &Shared) -> io::Result<()> {
    let time = {
        let mut machine = machine(shared);
        check(&mut machine)?;
        machine.operate(|_, _| ());
        let slow = machine.files.weather.slow;
        slow.mul_f64(machine.random.f64())
    };
    world::sleep(time);
    Ok(())
}

impl DiskFile for SimulatedFile {
    fn read(&self, offset: u64, most: u64) -> io::Result<Vec<u8>> {
        let mut machine = machine(&self.machine);
        check(&mut machine)?;
        let bytes = &machine.files.nodes[self.node].bytes;
        let start = usize::try_from(offset).unwrap().min(bytes.len());
        let end = usize::try_from(offset.saturating_add(most)).unwrap().min(bytes.len());
        Ok(bytes[start..end].to_vec())
    }

    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut machine = machine(&self.machine);
        let offset = usize::try_from(offset).unwrap();
        let failed = check(&mut machine).err();
        let full = world::passed() < machine.files.weather.full_until;
        let mut there = bytes.len();
        if failed.is_some() {
            there = machine.random.usize(..=bytes.len());
        } else if full {
            // What lies there already can be written again.
            let room = machine.files.nodes[self.node].bytes.len().saturating_sub(offset)
                + machine.random.usize(..100);
            there = room.min(bytes.len());
        } else if let Some(room) = machine.files.weather.room.filter(|_| self.is_segment) {
            let overwritten = machine.files.nodes[self.node].bytes.len().saturating_sub(offset);
            there = (room.saturating_sub(machine.files.used()) + overwritten).min(bytes.len());
        }
        let write = |length: usize| Change::Write(offset, bytes[..length].to_vec());
        let node = self.node;
        machine.operate(|files, random| files.change(node, write(random.usize(..=there))));
        machine.files.change(node, write(there));
        let error = failed.or((there < bytes.len()).then(|| io::ErrorKind::StorageFull.into()));
        if let Some(error) = error {
            machine.files.weather.failed_writes += u64::from(self.is_segment);
            return Err(error);
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut machine = machine(&self.machine);
        check(&mut machine)?;
        machine.operate(|_, _| ());
        machine.files.change(self.node, Change::Length(usize::try_from(length).unwrap()));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let until = machine(&self.machine).files.nodes[self.node].changes.len();
        flush(&self.machine)?;
        let mut machine = machine(&self.machine);
        let Node { durable, changes, .. } = &mut machine.files.nodes[self.node];
        let until = until.min(changes.len());
        changes.drain(..until).for_each(|change| change.apply(durable));
        Ok(())
    }
}
