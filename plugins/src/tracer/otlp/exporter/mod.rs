//! Where spans go: through a queue to a thread that sends them, or nowhere in a plugin that was built without that.

#[cfg(not(feature = "otlp"))]
mod absent;
#[cfg(feature = "otlp")]
mod collector;
#[cfg(feature = "otlp")]
mod encode;
#[cfg(feature = "otlp")]
mod export;

#[cfg(not(feature = "otlp"))]
pub(super) use absent::Exporter;
#[cfg(feature = "otlp")]
pub(super) use export::Exporter;
