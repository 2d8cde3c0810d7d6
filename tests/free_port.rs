//! Ports for servers that choose none themselves.

use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, Ordering};

/// A port that no process uses. It is below those that the system assigns by itself (`ip_local_port_range`, from 32768), so that
/// no other process gets it before it is used, nor while a server is started again.
pub fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    // Processes of several root folders have the same numbers.
    let root = std::fs::metadata("/").map_or(0, |root| (root.ino() % 12_000) as u32);
    loop {
        // Processes that run at the same time have about a hundred each.
        let number = std::process::id().wrapping_mul(97).wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
        let port = 20_000 + (number.wrapping_add(root) % 12_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
