//! A kernel's source and launch.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::launch::whole;
use crate::plan::{BufferId, View};

/// The word in generated sources that becomes the kernel's name.
pub(super) const NAME: &str = "KERNEL";

/// The most buffers that a kernel knows.
pub const MOST_BUFFERS: usize = 16;

/// A kernel, written for one step of a plan. Its source follows [`super::prelude`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Of the function: `extern "C"`. It says what it does, and has a hash of the source: kernels of one name have one source, which need
    /// be compiled only once, however many blocks of it run.
    pub name: String,
    /// CUDA C++.
    pub source: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of each.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// What the kernel's parameter `Buffers` has the addresses of, in this order: multiples of 16 bytes.
    pub buffers: Vec<BufferId>,
    /// How many there are of what it makes, for that parameter as well.
    pub count: u32,
}

impl Kernel {
    /// A kernel without dynamic shared memory, in whose `source` [`NAME`] is where its name belongs.
    pub(super) fn new(what: &str, source: &str, blocks: u32, threads: u32, slots: Slots) -> Self {
        let mut hasher = DefaultHasher::new();
        source.hash(&mut hasher);
        let name = format!("{what}_{:016x}", hasher.finish());
        let source = source.replace(NAME, &name);
        Self {
            name,
            source,
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared: 0,
            buffers: slots.buffers,
            count: 0,
        }
    }

    /// With this [`Kernel::count`].
    pub(super) fn counting(self, count: usize) -> Self {
        Self { count: whole(count), ..self }
    }
}

/// What a kernel of this name does: its name without the hash.
pub fn what(name: &str) -> &str {
    name.rsplit_once('_').map_or(name, |(what, _)| what)
}

/// Which buffers a kernel knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    buffers: Vec<BufferId>,
}

impl Slots {
    /// For a kernel that writes these tensors.
    pub(super) fn writing<'a>(views: impl IntoIterator<Item = &'a View>) -> Self {
        let mut slots = Self::default();
        for view in views {
            slots.add(view.buffer);
        }
        slots
    }

    fn add(&mut self, id: BufferId) -> usize {
        if let Some(slot) = self.buffers.iter().position(|known| *known == id) {
            return slot;
        }
        self.buffers.push(id);
        self.buffers.len() - 1
    }

    /// The address of a view's buffer, as its elements' type.
    pub(super) fn address(&mut self, view: &View) -> String {
        let slot = self.add(view.buffer);
        format!("(({}*)b.at[{slot}])", super::text::c_type(view.ty))
    }

    /// Whether the kernel's parameter has room for all of them.
    pub(super) fn fit(&self) -> bool {
        self.buffers.len() <= MOST_BUFFERS
    }
}
