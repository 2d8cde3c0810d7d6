//! The nth call of a kind fails, for some n of each kind, or for all with `scripts/torture`: what the service keeps on the disk.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this runs in tests only

mod control;
mod history;
mod logged;
mod outputs;
mod state;

/// Refuses memory where a scenario wants that.
#[global_allocator]
static ALLOCATOR: cudainfer_torture::Allocator = cudainfer_torture::Allocator;
