//! A disk that is full, fails, is slow and loses power.

use std::io;
use std::sync::Arc;

use cudainfer_files::Access;

use super::files::{Change, Files, NameChange, Node};
use super::machine::{Machine, Shared, machine};
use crate::spool::{Disk, DiskFile};
use crate::world;

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
