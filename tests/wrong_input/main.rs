//! Everything that a user can get wrong: each is one sentence on the bus that says what to do, and nothing hangs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests, which clippy does not know as such

mod batches;
mod declared;
mod files;
mod frames;
mod handlers;
mod identify;
mod library;
mod maps;
mod masks;
mod messages;
mod models;
mod negotiation;
mod outputs;
mod overlay;
mod prompts;
mod properties;
mod publish;
mod publishing;
mod sidecars;
mod strings;
mod suspicions;
mod threads;
mod tiles;
mod tracks;
mod zones;
