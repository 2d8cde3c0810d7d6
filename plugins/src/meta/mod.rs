//! Metadata on buffers: tensors between the elements; objects, maps, masks, zones and places in the world for elements and applications downstream.

pub mod analytics;
pub mod batch;
pub(crate) mod gst_tensor;
pub(crate) mod label;
mod list;
pub mod map;
pub mod mask;
pub mod object;
mod params;
pub mod region;
pub(crate) mod row;
pub mod tensor;
pub mod world;
pub mod zone;

#[cfg(test)]
mod tests;

use gst_base::subclass::base_transform::{InputBuffer, PrepareOutputBufferSuccess};

/// The buffer that an in-place element hands on: the one that came, or where it is held elsewhere too, one that shares its
/// memory, so that metadata can be added without copying pixels.
pub fn share(input: InputBuffer) -> PrepareOutputBufferSuccess {
    match input {
        InputBuffer::Writable(_) => PrepareOutputBufferSuccess::InputBuffer,
        InputBuffer::Readable(buffer) => PrepareOutputBufferSuccess::Buffer(buffer.copy()),
    }
}
