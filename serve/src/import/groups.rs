//! A configuration as groups of keys, whichever format it was read from.

use std::cell::Cell;

/// One line `key=value`.
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: String,
    /// Counted from 1.
    pub(super) line: usize,
    /// Whether a translation has read it. Keys that none has read are reported.
    pub(super) read: Cell<bool>,
}

impl Entry {
    pub(super) fn new(key: &str, value: &str, line: usize) -> Self {
        Self { key: key.to_owned(), value: value.to_owned(), line, read: Cell::new(false) }
    }
}

/// A group `[name]` with its keys, in the order of the file.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) entries: Vec<Entry>,
}

impl Group {
    /// Marks all keys as read: one finding stands for them.
    pub(super) fn pass_over(&self) {
        self.entries.iter().for_each(|entry| entry.read.set(true));
    }
}

/// A key that does not count, because a later line of the same group repeats it.
pub(super) struct Repeated {
    pub(super) group: String,
    pub(super) entry: Entry,
    pub(super) by_line: usize,
}

/// A file's groups, each name once.
#[derive(Default)]
pub(super) struct Groups {
    pub(super) groups: Vec<Group>,
    pub(super) repeated: Vec<Repeated>,
}

impl Groups {
    /// Adds a group, or goes on with the one of that name, as GKeyFile does. Returns its place.
    pub(super) fn open(&mut self, name: &str, line: usize) -> usize {
        if let Some(place) = self.groups.iter().position(|g| g.name == name) {
            return place;
        }
        self.groups.push(Group { name: name.to_owned(), line, entries: Vec::new() });
        self.groups.len() - 1
    }

    /// Adds a key to the group at `place`. The last value of a key counts, as with GKeyFile.
    pub(super) fn add(&mut self, place: usize, entry: Entry) {
        let group = &mut self.groups[place];
        if let Some(earlier) = group.entries.iter().position(|e| e.key == entry.key) {
            let by_line = entry.line;
            let entry = std::mem::replace(&mut group.entries[earlier], entry);
            self.repeated.push(Repeated { group: group.name.clone(), entry, by_line });
        } else {
            group.entries.push(entry);
        }
    }
}
