//! The nth call of a kind fails, for some n of each kind, or for all with `scripts/torture`: whole pipelines, and what they write.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this runs in tests only

mod cache;
mod clients;
mod file;
mod inference;
mod libraries;
mod pipeline;
mod reader;
mod spool;
mod table;

/// Refuses memory where a scenario wants that.
#[global_allocator]
static ALLOCATOR: cudainfer_torture::Allocator = cudainfer_torture::Allocator;
