//! Pools of memory for masks, on the host or on the device.

use gst::prelude::*;

use crate::memory::host_pool;
use crate::memory::tensor::TensorAllocator;

/// A pool for each size that was asked for.
#[derive(Debug, Default)]
pub(super) struct Pools {
    /// On the device; `None` on the host.
    allocator: Option<TensorAllocator>,
    pools: Vec<(usize, gst::BufferPool)>,
}

impl Pools {
    /// On the device.
    pub fn on_device(allocator: TensorAllocator) -> Self {
        Self { allocator: Some(allocator), pools: Vec::new() }
    }

    /// A buffer of `bytes` undefined bytes, whose memory is in one piece.
    ///
    /// # Errors
    /// There is no memory left.
    pub fn buffer(&mut self, bytes: usize) -> Result<gst::Buffer, String> {
        let no_memory = |e: &dyn std::fmt::Display| format!("no memory for a mask of {bytes} bytes: {e}");
        let place = match self.pools.iter().position(|(size, _)| *size == bytes) {
            Some(known) => known,
            None => {
                let pool = match &self.allocator {
                    Some(allocator) => allocator.pool(bytes),
                    None => host_pool::pool(bytes),
                };
                self.pools.push((bytes, pool.map_err(|e| no_memory(&e))?));
                self.pools.len() - 1
            }
        };
        self.pools[place].1.acquire_buffer(None).map_err(|e| no_memory(&e))
    }
}

impl Drop for Pools {
    fn drop(&mut self) {
        for (_, pool) in &self.pools {
            let _ = pool.set_active(false);
        }
    }
}
