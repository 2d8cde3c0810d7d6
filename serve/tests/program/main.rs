//! The program itself: its arguments, what it says of wrong input, signals and exit codes, and the commands of the documents.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

#[path = "../control/certificates.rs"]
mod certificates;
mod commands;
mod descriptors;
mod imported;
mod left_behind;
mod service;
mod signals;
mod wrong_input;
