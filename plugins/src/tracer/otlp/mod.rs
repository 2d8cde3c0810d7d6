//! Sampled frames as traces for OpenTelemetry: from the first element that has a frame to the sink, each call of an element's
//! chain function, and the runs of networks that the frame shared with others.
//!
//! Frames are recognised as for their latency: by stream and running time. A sampled frame's state is a [`Frame`], which the
//! [`Sampler`] keeps until it has been quiet for a while; its spans go through a bounded queue to a thread that sends them by
//! OTLP. No other thread waits for that one.

mod exporter;
mod frame;
mod sampler;
mod span;

pub(super) use frame::OpenCall;
pub(crate) use frame::{Frame, Run};
pub(super) use sampler::Sampler;
