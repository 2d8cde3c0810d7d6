//! Delivery to real brokers, which the tests start on ports of their own of this machine, stop, kill and start again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this runs in tests only

mod access;
mod brokers;
mod feeding;
#[path = "../../../tests/free_port.rs"]
mod free_port;
mod full_disks;
mod hostile;
mod kafka;
mod namespaces;
mod outages;
mod partitions;
mod relay;
mod sockets;
mod spools;
mod webhooks;
