//! Control by HTTP, against a server that runs: what is documented is answered, and nothing else; and the page, in a browser.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

mod api;
mod browser;
mod certificates;
mod documented;
mod flood;
mod hostile;
mod page;
mod secured;
mod service;
