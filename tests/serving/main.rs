//! trtinfer as a serving engine: batches across frames and streams, live sources, models that change while frames flow.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests, which clippy does not know as such

mod accepts;
mod bad_stream;
mod batches;
mod branches;
mod change;
mod fault;
mod haste;
mod leaky;
mod many;
mod order;
mod shared;
mod time;
