//! The GPU: whether there is one, which one the user asked for, its primary context, streams, and copies to and from it.
//!
//! CUDA's driver library is opened when [`probe`] is first called and never linked, so everything here can be called
//! on a machine that has neither driver nor GPU: the answer is then a [`DeviceError`] that names what is missing.
//!
//! | type | what it is |
//! |---|---|
//! | [`Choice`] | an element's `device` property: `auto`, `cuda`, `cuda:N` or `cpu` |
//! | [`Resolved`] | where to compute on this machine: the outcome of a [`Choice`] |
//! | [`Device`] | a GPU that can be used, as found by [`probe`] |
//! | [`Context`] | the device's primary context, retained |
//! | [`CudaStream`] | a non-blocking stream in it: launches, copies, allocation, all counted in [`Counters`] |
//! | [`Event`] | a mark in a stream that other streams, or the host, wait for |
//! | [`Memory`], [`Pinned`] | device memory, and host memory that the device reaches |
//! | [`Order`], [`SharedMemory`] | the use of memory by several streams in turn, ordered by events |
//! | [`DeviceSlice`], [`DevicePlane`], [`DeviceFrame`], [`DeviceTensor`] | device memory, borrowed: what operations work on |
//! | [`Reach`], [`ForeignMark`] | memory and streams of another library's context, or of another GPU |
//! | [`Kernel`] | one of the embedded kernels of `cuda/` |
//! | [`Graph`] | work that is recorded once and launched as a whole |

mod choice;
mod context;
mod counters;
mod error;
mod event;
mod graph;
mod kernel;
mod lock;
mod memory;
mod order;
mod planes;
mod probe;
mod reach;
mod sample;
mod shared;
mod stream;
mod uploads;
mod view;
mod wait;

pub use choice::{Choice, ParseChoiceError, Resolved};
pub use context::{Context, Entered, Unrecorded};
pub use counters::{Counter, Counters, DEVICE_BYTES, HeldBytes};
pub use error::DeviceError;
pub use event::Event;
pub use graph::Graph;
pub use kernel::{Kernel, Module};
use lock::lock;
pub use memory::{Memory, Pinned};
pub use order::Order;
pub use planes::{Download, Upload};
pub use probe::{Device, probe};
pub use reach::{ForeignMark, Reach};
pub use sample::{DeviceSpan, SAMPLE_EVERY, Timeline, draw_timeline};
pub use shared::SharedMemory;
pub use stream::CudaStream;
pub(crate) use uploads::Uploads;
pub use view::{DeviceFrame, DevicePlane, DeviceSlice, DeviceTensor};
