//! Control by HTTP with a server that runs: it answers what is documented, and nothing else. And the page, in a browser.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

mod accessibility;
mod api;
mod browser;
mod certificates;
mod describe;
mod discover;
mod documented;
mod editor;
mod fake_camera;
mod flood;
mod history;
mod hostile;
mod live;
mod notify;
mod page;
mod page_video;
mod secured;
mod service;
mod views;
mod wall;
mod webrtc_client;
mod whep;
