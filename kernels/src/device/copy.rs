//! Copies of planes on the device.

use cudarc::driver::sys::{self, CUmemorytype};

use super::stream::{check, rectangle};
use super::{DeviceError, DevicePlane, Stream};

impl Stream {
    /// Enqueues the copy of a plane to another.
    ///
    /// # Errors
    /// [`DeviceError::ShortPlane`] if one does not hold the rows, [`DeviceError::Call`].
    pub fn copy_plane(
        &self,
        source: DevicePlane<'_>,
        target: DevicePlane<'_>,
        row_bytes: usize,
        rows: usize,
    ) -> Result<(), DeviceError> {
        for plane in [&source, &target] {
            check(0, "device", rows, row_bytes, plane.bytes(), plane.stride())?;
        }
        if row_bytes == 0 || rows == 0 {
            return Ok(());
        }
        let mut shape = rectangle(row_bytes, rows);
        shape.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
        shape.srcDevice = source.pointer();
        shape.srcPitch = source.stride();
        shape.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
        shape.dstDevice = target.pointer();
        shape.dstPitch = target.stride();
        let _entered = self.context().enter()?;
        // SAFETY: both hold the rows, as checked above, and are what `DeviceSlice::from_raw` was promised.
        unsafe { sys::cuMemcpy2DAsync_v2(&raw const shape, self.raw()) }
            .result()
            .map_err(DeviceError::call("cuMemcpy2DAsync"))?;
        self.counters().device_to_device.add_size(row_bytes * rows);
        Ok(())
    }
}
