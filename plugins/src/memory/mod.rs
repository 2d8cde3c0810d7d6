//! Video in GPU memory: GStreamer's own `GstCudaMemory`, through libgstcuda opened at run time. Also how the CPU reads frames and
//! allocates tensors.
//!
//! | what | for |
//! |---|---|
//! | [`caps`] | which caps mean GPU memory, and which formats it can hold |
//! | [`GpuSession`] | the GPU as an element holds it: the shared context, a stream, buffer pools, context queries |
//! | [`ChosenDevice`] | where an element works, from its property `device` |
//! | [`tensor`] | tensors in device memory, as buffers hold them |
//! | [`MappedCudaFrame`] | the planes of a frame on the device, for work in one stream |
//! | [`MappedHostFrame`], [`MappedHostFrameMut`] | the planes of a frame in system memory, for the CPU |
//! | `host_pool` | system memory for tensors and masks, whose allocation can fail without ending the process |
//! | [`order`] | how work of several elements on a frame is kept in order without the host |
//! | [`PinnedAllocator`] | system memory that the device copies to and from by itself |
//! | [`cropping`] | what keeps frames out that show only a part of their picture |
//! | [`HeldBuffers`] | buffers that work in flight still reads |
//!
//! libgstcuda is never linked: this plugin loads and registers its elements on machines without it. It has the same
//! soname in every version, so [`library`] takes only functions whose signature never changed, and distinguishes the
//! versions by the symbols that are present.

mod callback;
pub mod caps;
mod chosen_device;
mod context;
pub mod cropping;
mod error;
mod foreign;
mod frame;
mod held;
mod host;
pub(crate) mod host_pool;
mod layout;
mod library;
pub mod order;
mod owner;
mod pinned;
mod session;
pub mod tensor;
mod wrapped;

pub use chosen_device::ChosenDevice;
pub use error::MemoryError;
pub use foreign::Elsewhere;
pub use frame::MappedCudaFrame;
pub use held::HeldBuffers;
pub use host::{MappedHostFrame, MappedHostFrameMut};
pub use layout::plane_extent;
pub use library::is_cuda_memory;
pub use pinned::PinnedAllocator;
pub use session::GpuSession;

use crate::log::MEMORY as CAT;
