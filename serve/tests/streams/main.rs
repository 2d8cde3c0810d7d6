//! Events of one stream, which disturb no other one: other sizes of frames, video that is broken, servers that go away, devices
//! that are missing, other models and thresholds, pipelines that do not stop.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

mod change;
mod device;
mod fleet;
mod hanging;
mod held;
mod http;
mod live;
mod recorded;
mod starting;
mod trial;
mod unreachable;
mod video;
