//! Where pictures go in to a client, and where its connection stands.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gst_app::AppSrc;

use crate::unpoisoned::lock;

/// How long a client may take to connect.
const CONNECTING: Duration = Duration::from_secs(15);

/// How long a client that was connected may be silent. Clients report what they have received every few seconds.
const SILENT: Duration = Duration::from_secs(20);

/// The most pictures that wait for the network before they are dropped until the next key frame.
const WAITING: u64 = 30;

/// Where the connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    /// Not yet there, since then.
    Awaited(Instant),
    /// There, and last heard of then.
    There(Instant),
    Gone,
}

impl Connection {
    /// What follows when webrtcbin reports this state.
    fn after(self, state: &str) -> Self {
        match (state, self) {
            ("connected", _) => Self::There(Instant::now()),
            ("failed" | "closed", _) => Self::Gone,
            (_, as_before) => as_before,
        }
    }

    fn is_over(self) -> bool {
        match self {
            Self::Awaited(since) => since.elapsed() > CONNECTING,
            Self::There(heard) => heard.elapsed() > SILENT,
            Self::Gone => true,
        }
    }
}

/// What pictures are pushed into.
#[derive(Debug)]
pub struct Entrance {
    source: AppSrc,
    connection: Mutex<Connection>,
    /// Whether nothing can be decoded before the next key frame.
    needs_key: AtomicBool,
}

impl Entrance {
    /// The entrance of a client that has not connected yet.
    pub fn new(source: AppSrc) -> Self {
        let connection = Mutex::new(Connection::Awaited(Instant::now()));
        Self { source, connection, needs_key: AtomicBool::new(true) }
    }

    /// Notes a state that webrtcbin reports. Returns whether the client has just connected.
    pub fn report(&self, state: &str) -> bool {
        let mut connection = lock(&self.connection);
        let before = *connection;
        *connection = before.after(state);
        matches!((before, *connection), (Connection::Awaited(_), Connection::There(_)))
    }

    /// Notes that something has come from the client.
    pub fn hear(&self) {
        if let Connection::There(heard) = &mut *lock(&self.connection) {
            *heard = Instant::now();
        }
    }

    /// Whether the client is gone, or has never come.
    pub fn is_over(&self) -> bool {
        lock(&self.connection).is_over()
    }

    /// Takes a picture of the encoder. Returns whether a key frame is needed.
    pub fn take(&self, picture: &gst::Buffer, caps: &gst::CapsRef) -> bool {
        if !matches!(*lock(&self.connection), Connection::There(_)) {
            return false;
        }
        if self.source.current_level_buffers() > WAITING {
            self.needs_key.store(true, Ordering::Relaxed);
            return false;
        }
        let is_key = !picture.flags().contains(gst::BufferFlags::DELTA_UNIT);
        if self.needs_key.load(Ordering::Relaxed) {
            if !is_key {
                return true;
            }
            self.needs_key.store(false, Ordering::Relaxed);
        }
        if self.source.caps().is_none_or(|own| *own != *caps) {
            self.source.set_caps(Some(&caps.to_owned()));
        }
        let mut picture = picture.clone();
        {
            let picture = picture.make_mut();
            picture.set_pts(gst::ClockTime::NONE);
            picture.set_dts(gst::ClockTime::NONE);
        }
        // A source that takes nothing any more belongs to a client that is about to be removed.
        let _ = self.source.push_buffer(picture);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_never_comes_is_silent_for_long_or_goes_is_over() {
        let long_ago = |ago: Duration| Instant::now().checked_sub(ago).unwrap();
        let awaited = Connection::Awaited(Instant::now());
        assert!(!awaited.is_over() && !awaited.after("connecting").is_over());
        assert!(Connection::Awaited(long_ago(CONNECTING * 2)).is_over());
        assert!(!Connection::Awaited(long_ago(CONNECTING * 2)).after("connected").is_over());
        let there = awaited.after("connected");
        assert!(matches!(there, Connection::There(_)) && !there.is_over());
        assert_eq!(there.after("disconnected"), there, "it may come back");
        assert!(Connection::There(long_ago(SILENT * 2)).is_over());
        assert!(there.after("failed").is_over() && there.after("closed").is_over());
    }
}
