//! Copies of planes to, from and on the device, which the calling thread does not wait for.

use std::{ffi::c_void, ptr};

use cudarc::driver::sys::{self, CUDA_MEMCPY2D, CUmemorytype, CUpointer_attribute};

use super::{CudaStream, DeviceError, DevicePlane};

/// One plane to copy from the host to the device.
#[derive(Clone, Copy, Debug)]
pub struct Upload<'a> {
    /// Host memory, from the first row on.
    pub source: &'a [u8],
    /// Bytes from row to row in `source`.
    pub source_stride: usize,
    /// Where to copy to.
    pub target: DevicePlane<'a>,
    /// Bytes of each row to copy.
    pub row_bytes: usize,
    /// Rows to copy.
    pub rows: usize,
}

/// One plane to copy from the device to the host.
#[derive(Debug)]
pub struct Download<'a> {
    /// What to copy.
    pub source: DevicePlane<'a>,
    /// Host memory, from the first row on.
    pub target: &'a mut [u8],
    /// Bytes from row to row in `target`.
    pub target_stride: usize,
    /// Bytes of each row to copy.
    pub row_bytes: usize,
    /// Rows to copy.
    pub rows: usize,
}

impl CudaStream {
    /// Whether the device reaches all of `bytes` by itself, so that copies do not hold the host up.
    pub fn is_pinned(&self, bytes: &[u8]) -> bool {
        let Ok(_entered) = self.context().enter() else { return false };
        let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return true };
        [first, last].into_iter().all(|byte| {
            let mut kind = 0u32;
            let mut attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
            let mut value = (&raw mut kind).cast::<c_void>();
            let address = ptr::from_ref(byte).expose_provenance() as u64;
            // SAFETY: one attribute, and a value of its size. The driver looks the address up and does not use it; for
            // memory that it does not know, the type is 0.
            let found =
                unsafe { sys::cuPointerGetAttributes(1, &raw mut attribute, &raw mut value, address) };
            found.result().is_ok() && kind == CUmemorytype::CU_MEMORYTYPE_HOST as u32
        })
    }

    /// Enqueues the copy of a plane to the device.
    ///
    /// # Safety
    /// The source must stay as it is until the copy is done: wait for an event after it. The target must be as
    /// [`super::DeviceSlice::from_raw`] was promised.
    ///
    /// # Errors
    /// [`DeviceError::ShortPlane`] if a side does not hold the rows, [`DeviceError::Call`].
    pub unsafe fn start_upload_plane(&self, copy: &Upload<'_>) -> Result<(), DeviceError> {
        let Upload { source, source_stride, target, row_bytes, rows } = *copy;
        check("host", rows, row_bytes, source.len(), source_stride)?;
        check("device", rows, row_bytes, target.bytes(), target.stride())?;
        let mut shape = rectangle(row_bytes, rows);
        shape.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
        shape.srcHost = source.as_ptr().cast();
        shape.srcPitch = source_stride;
        shape.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
        shape.dstDevice = target.pointer();
        shape.dstPitch = target.stride();
        // SAFETY: checked above; the rest is the caller's promise.
        unsafe { self.copy_rectangle(&shape)? };
        self.counters().host_to_device.add_size(row_bytes * rows);
        Ok(())
    }

    /// Enqueues the copy of a plane to the host.
    ///
    /// # Safety
    /// The target must stay, and be neither read nor written, until the copy is done: wait for an event after it. The
    /// source must be as [`super::DeviceSlice::from_raw`] was promised.
    ///
    /// # Errors
    /// As [`CudaStream::start_upload_plane`].
    pub unsafe fn start_download_plane(&self, copy: Download<'_>) -> Result<(), DeviceError> {
        let Download { source, target, target_stride, row_bytes, rows } = copy;
        check("device", rows, row_bytes, source.bytes(), source.stride())?;
        check("host", rows, row_bytes, target.len(), target_stride)?;
        let mut shape = rectangle(row_bytes, rows);
        shape.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
        shape.srcDevice = source.pointer();
        shape.srcPitch = source.stride();
        shape.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
        shape.dstHost = target.as_mut_ptr().cast();
        shape.dstPitch = target_stride;
        // SAFETY: checked above; the rest is the caller's promise.
        unsafe { self.copy_rectangle(&shape)? };
        self.counters().device_to_host.add_size(row_bytes * rows);
        Ok(())
    }

    /// Enqueues the copy of a plane on the device.
    ///
    /// # Errors
    /// As [`CudaStream::start_upload_plane`].
    pub fn copy_plane(
        &self,
        source: DevicePlane<'_>,
        target: DevicePlane<'_>,
        row_bytes: usize,
        rows: usize,
    ) -> Result<(), DeviceError> {
        for plane in [&source, &target] {
            check("device", rows, row_bytes, plane.bytes(), plane.stride())?;
        }
        let mut shape = rectangle(row_bytes, rows);
        shape.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
        shape.srcDevice = source.pointer();
        shape.srcPitch = source.stride();
        shape.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
        shape.dstDevice = target.pointer();
        shape.dstPitch = target.stride();
        // SAFETY: both hold the rows, as checked above, and are as `DeviceSlice::from_raw` was promised.
        unsafe { self.copy_rectangle(&shape)? };
        self.counters().device_to_device.add_size(row_bytes * rows);
        Ok(())
    }

    /// # Safety
    /// Both sides must hold the rows, and stay until the copy is done.
    unsafe fn copy_rectangle(&self, shape: &CUDA_MEMCPY2D) -> Result<(), DeviceError> {
        if shape.WidthInBytes == 0 || shape.Height == 0 {
            return Ok(());
        }
        let _entered = self.context().enter()?;
        // SAFETY: the caller's promise.
        unsafe { sys::cuMemcpy2DAsync_v2(shape, self.raw()) }
            .result()
            .map_err(DeviceError::call("cuMemcpy2DAsync"))
    }
}

fn rectangle(row_bytes: usize, rows: usize) -> CUDA_MEMCPY2D {
    CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: ptr::null(),
        srcDevice: 0,
        srcArray: ptr::null_mut(),
        srcPitch: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        dstHost: ptr::null_mut(),
        dstDevice: 0,
        dstArray: ptr::null_mut(),
        dstPitch: 0,
        WidthInBytes: row_bytes,
        Height: rows,
    }
}

fn check(
    side: &'static str,
    rows: usize,
    row_bytes: usize,
    bytes: usize,
    stride: usize,
) -> Result<(), DeviceError> {
    // The last row need not be followed by its padding.
    let wanted = match rows {
        0 => Some(0),
        _ => stride.checked_mul(rows - 1).and_then(|start| start.checked_add(row_bytes)),
    };
    if wanted.is_some_and(|wanted| wanted <= bytes) && (stride >= row_bytes || rows <= 1) {
        return Ok(());
    }
    Err(DeviceError::ShortPlane { side, rows, row_bytes, bytes, stride })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_must_hold_its_rows_but_not_the_last_padding() {
        assert_eq!(check("host", 3, 5, 2 * 8 + 5, 8), Ok(()));
        assert!(check("host", 3, 5, 2 * 8 + 4, 8).is_err());
        assert!(check("host", 3, 9, 100, 8).is_err(), "rows would overlap");
        assert_eq!(check("host", 0, 5, 0, 8), Ok(()));
        assert!(check("host", usize::MAX, 1, 100, 8).is_err(), "overflow");
    }
}
