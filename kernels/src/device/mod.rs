//! The GPU: is there one, which one a user asked for, its primary context, a stream, and copies to and from it.
//!
//! CUDA's driver library is opened when [`probe`] is first called and never linked, so everything here can be called
//! on a machine that has neither driver nor GPU: the answer is then a [`DeviceError`] that says what is missing.
//!
//! | type | what it is |
//! |---|---|
//! | [`Choice`] | an element's `device` property: `auto`, `cuda`, `cuda:N` or `cpu` |
//! | [`Resolved`] | what that means on this machine |
//! | [`Device`] | a GPU that can be used, as found by [`probe`] |
//! | [`Context`] | the device's primary context, retained |
//! | [`Stream`] | a non-blocking stream in it, and the copies that are enqueued there |
//! | [`DevicePlane`] | rows of bytes in device memory |

mod choice;
mod context;
mod error;
mod probe;
mod stream;

pub use choice::{Choice, ParseChoiceError, Resolved};
pub use context::{Context, Entered};
pub use error::DeviceError;
pub use probe::{Device, probe};
pub use stream::{DevicePlane, Stream, Upload};
