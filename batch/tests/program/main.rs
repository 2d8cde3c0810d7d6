//! The program itself, on videos that are made here: results, wrong input, signals, shares, full disks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

mod again;
mod complete;
mod configuration;
mod disk;
mod killed;
mod process;
mod shares;
mod shown;
mod signals;
mod still;
mod videos;
mod wrong_input;
