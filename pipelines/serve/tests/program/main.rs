//! The program itself: its arguments, what it says of wrong input, signals and exit codes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

mod service;
mod signals;
mod wrong_input;
