//! A stream, and copies of picture planes through it.

use std::{marker::PhantomData, ptr, sync::Arc};

use cudarc::driver::{
    result::stream,
    sys::{self, CUDA_MEMCPY2D, CUmemorytype},
};

use super::{Context, DeviceError};

/// Rows of bytes in device memory, borrowed for `'a` from whoever holds the memory.
#[derive(Clone, Copy, Debug)]
pub struct DevicePlane<'a> {
    pointer: sys::CUdeviceptr,
    bytes: usize,
    stride: usize,
    memory: PhantomData<&'a ()>,
}

impl DevicePlane<'_> {
    /// Device memory of `bytes` bytes from `pointer` on, whose rows begin `stride` bytes apart.
    ///
    /// # Safety
    /// For the whole lifetime `'a`, these bytes must be device memory that the context of every [`Stream`] this is
    /// given to may read and write, and no other work may touch what the stream's work writes.
    pub unsafe fn from_raw(pointer: sys::CUdeviceptr, bytes: usize, stride: usize) -> Self {
        Self { pointer, bytes, stride, memory: PhantomData }
    }

    /// Device address of the first row.
    pub fn pointer(&self) -> sys::CUdeviceptr {
        self.pointer
    }

    /// Bytes from row to row.
    pub fn stride(&self) -> usize {
        self.stride
    }
}

/// One plane to copy from the host to the device.
#[derive(Clone, Copy, Debug)]
pub struct Upload<'a> {
    /// Host memory, from the first row on.
    pub source: &'a [u8],
    /// Bytes from row to row in `source`.
    pub source_stride: usize,
    /// Where to.
    pub target: DevicePlane<'a>,
    /// Bytes of each row to copy.
    pub row_bytes: usize,
    /// Rows to copy.
    pub rows: usize,
}

/// A non-blocking stream: it does not wait for the legacy default stream nor the other way round.
#[derive(Debug)]
pub struct Stream {
    context: Arc<Context>,
    raw: sys::CUstream,
}

// SAFETY: the driver's streams may be used from every thread; `raw` is only ever handed to the driver.
unsafe impl Send for Stream {}
// SAFETY: as above; the driver orders calls made at the same time.
unsafe impl Sync for Stream {}

impl Stream {
    /// A new stream in `context`.
    ///
    /// # Errors
    /// [`DeviceError::Call`] if the driver cannot make one.
    pub fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        let _entered = context.enter()?;
        let raw =
            stream::create(stream::StreamKind::NonBlocking).map_err(DeviceError::call("cuStreamCreate"))?;
        Ok(Self { context: Arc::clone(context), raw })
    }

    /// The context it belongs to.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Copies every plane from the host to the device and waits until all have arrived. Returns the bytes copied.
    ///
    /// # Errors
    /// [`DeviceError::ShortPlane`] if a plane does not hold its rows, [`DeviceError::Call`] if the driver fails;
    /// the target is then undefined.
    pub fn upload<'a>(&self, planes: impl IntoIterator<Item = Upload<'a>>) -> Result<usize, DeviceError> {
        let _entered = self.context.enter()?;
        let mut bytes = 0;
        let enqueue = || {
            for (plane, copy) in planes.into_iter().enumerate() {
                let Upload { source, source_stride, target, row_bytes, rows } = copy;
                check(plane, "host", rows, row_bytes, source.len(), source_stride)?;
                check(plane, "device", rows, row_bytes, target.bytes, target.stride)?;
                let mut shape = rectangle(row_bytes, rows);
                shape.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
                shape.srcHost = source.as_ptr().cast();
                shape.srcPitch = source_stride;
                shape.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
                shape.dstDevice = target.pointer;
                shape.dstPitch = target.stride;
                self.copy(&shape)?;
                bytes += row_bytes * rows;
            }
            Ok(())
        };
        let enqueued = enqueue();
        // In any case, because what was enqueued before an error still reads the host's memory.
        self.synchronize()?;
        enqueued.map(|()| bytes)
    }

    /// Copies a plane from the device to the host and waits until it has arrived.
    ///
    /// # Errors
    /// As [`Stream::upload`].
    pub fn download(
        &self,
        source: DevicePlane<'_>,
        target: &mut [u8],
        target_stride: usize,
        row_bytes: usize,
        rows: usize,
    ) -> Result<(), DeviceError> {
        check(0, "device", rows, row_bytes, source.bytes, source.stride)?;
        check(0, "host", rows, row_bytes, target.len(), target_stride)?;
        let _entered = self.context.enter()?;
        let mut shape = rectangle(row_bytes, rows);
        shape.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
        shape.srcDevice = source.pointer;
        shape.srcPitch = source.stride;
        shape.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
        shape.dstHost = target.as_mut_ptr().cast();
        shape.dstPitch = target_stride;
        let enqueued = self.copy(&shape);
        self.synchronize()?;
        enqueued
    }

    /// Waits until everything that was enqueued is done.
    ///
    /// # Errors
    /// [`DeviceError::Call`], also for faults of earlier work.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        let _entered = self.context.enter()?;
        // SAFETY: the stream is valid until `self` is dropped.
        unsafe { stream::synchronize(self.raw) }.map_err(DeviceError::call("cuStreamSynchronize"))
    }

    /// Enqueues a copy that was checked against both memories; the caller waits before either may go.
    fn copy(&self, shape: &CUDA_MEMCPY2D) -> Result<(), DeviceError> {
        if shape.WidthInBytes == 0 || shape.Height == 0 {
            return Ok(());
        }
        // SAFETY: the callers checked that both sides hold the rows, device memory is what `DevicePlane::from_raw`
        // was promised, and both sides are borrowed until the stream has been waited for.
        unsafe { sys::cuMemcpy2DAsync_v2(shape, self.raw) }
            .result()
            .map_err(DeviceError::call("cuMemcpy2DAsync"))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _entered = self.context.enter();
        // SAFETY: created by us, destroyed once. Work that is still under way finishes before the driver frees it.
        let _ = unsafe { stream::destroy(self.raw) };
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
    plane: usize,
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
    Err(DeviceError::ShortPlane { plane, side, rows, row_bytes, bytes, stride })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_must_hold_its_rows_but_not_the_last_padding() {
        assert_eq!(check(0, "host", 3, 5, 2 * 8 + 5, 8), Ok(()));
        assert!(check(0, "host", 3, 5, 2 * 8 + 4, 8).is_err());
        assert!(check(0, "host", 3, 9, 100, 8).is_err(), "rows would overlap");
        assert_eq!(check(0, "host", 0, 5, 0, 8), Ok(()));
        assert!(check(0, "host", usize::MAX, 1, 100, 8).is_err(), "overflow");
    }
}
