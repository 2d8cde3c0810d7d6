//! ONNX Runtime: finding its library, choosing a provider, loading a model and running it.
//!
//! The `ort` crate speaks to the library. `unsafe` is only where libraries are looked at or opened (`library`, `libraries`)
//! and where addresses on the device and a stream are handed over (`binding`, `provider`).

mod binding;
mod gpu;
mod libraries;
pub(super) mod library;
mod profile;
pub(super) mod provider;
mod session;

pub(super) use gpu::WARM_UP;
pub use session::Session;
