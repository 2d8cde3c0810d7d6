//! The program itself: its arguments, its errors about wrong input, signals and exit codes, and the commands of the documents.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

mod abandoned;
#[path = "../control/certificates.rs"]
mod certificates;
mod commands;
mod describe;
mod descriptors;
#[allow(dead_code)] // the tests of control use all of it
#[path = "../control/fake_camera.rs"]
mod fake_camera;
mod history;
mod imported;
mod notify;
mod service;
mod signals;
mod wrong_input;
