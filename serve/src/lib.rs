//! The service: one process that runs the pipelines of many cameras, keeps them running and is controlled while they do.
//!
//! It uses GStreamer and the installed plugin `cudainfer`, and links neither the plugin nor its kernels.

pub mod config;
pub mod control;
pub mod describe;
pub mod fleet;
pub mod folders;
pub mod history;
pub mod import;
pub mod log;
pub mod notify;
mod onvif;
pub mod output;
pub mod resources;
pub mod retention;
pub mod stream;
pub mod systemd;
mod time;
mod unpoisoned;
