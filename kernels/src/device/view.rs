//! Borrowed device memory: what operations on the GPU read and write.

use std::marker::PhantomData;

use cudarc::driver::sys;

use crate::frame::{FrameError, FrameFormat, check};
use crate::tensor::{Dims, TensorError, TensorType};

/// Bytes in device memory, borrowed for `'a` from whoever holds the memory.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSlice<'a> {
    pointer: sys::CUdeviceptr,
    bytes: usize,
    memory: PhantomData<&'a ()>,
}

impl<'a> DeviceSlice<'a> {
    /// `bytes` bytes from `pointer` on.
    ///
    /// # Safety
    /// The device must be allowed to read and write this memory until the work that is given this slice is done. Other
    /// work that uses it must be ordered with that work, by events.
    pub unsafe fn from_raw(pointer: sys::CUdeviceptr, bytes: usize) -> Self {
        Self { pointer, bytes, memory: PhantomData }
    }

    /// The device address.
    pub fn pointer(&self) -> sys::CUdeviceptr {
        self.pointer
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its first `bytes`, or all of it where it has less.
    pub fn first(self, bytes: usize) -> Self {
        Self { bytes: bytes.min(self.bytes), ..self }
    }

    /// The part after its first `bytes`; empty where it has less.
    pub fn after(self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        Self { pointer: self.pointer + bytes as u64, bytes: self.bytes - bytes, ..self }
    }
}

/// Rows of bytes in device memory, borrowed for `'a` from whoever holds the memory.
#[derive(Clone, Copy, Debug)]
pub struct DevicePlane<'a> {
    data: DeviceSlice<'a>,
    stride: usize,
}

impl<'a> DevicePlane<'a> {
    /// Rows that begin `stride` bytes apart.
    pub fn new(data: DeviceSlice<'a>, stride: usize) -> Self {
        Self { data, stride }
    }

    /// Device address of the first row.
    pub fn pointer(&self) -> sys::CUdeviceptr {
        self.data.pointer
    }

    /// Bytes from the first row on.
    pub fn bytes(&self) -> usize {
        self.data.bytes
    }

    /// Bytes from row to row.
    pub fn stride(&self) -> usize {
        self.stride
    }
}

/// A frame in device memory: the counterpart of [`crate::frame::Frame`] and [`crate::frame::FrameMut`].
#[derive(Clone, Copy, Debug)]
pub struct DeviceFrame<'a> {
    planes: [Option<DevicePlane<'a>>; 3],
}

impl<'a> DeviceFrame<'a> {
    /// Checks that every plane is long enough for `format`.
    ///
    /// # Errors
    /// [`FrameError`] names the first plane that is not.
    pub fn new(format: &FrameFormat, planes: &[DevicePlane<'a>]) -> Result<Self, FrameError> {
        let mut frame = Self { planes: [None; 3] };
        for (slot, plane) in frame.planes.iter_mut().zip(planes).take(format.pixels.planes()) {
            *slot = Some(*plane);
        }
        frame.check(format)?;
        Ok(frame)
    }

    /// Checks that every plane is long enough for `format`, which need not be the one it was made for.
    ///
    /// # Errors
    /// [`FrameError`] names the first plane that is not.
    pub fn check(&self, format: &FrameFormat) -> Result<(), FrameError> {
        (0..format.pixels.planes()).try_for_each(|number| {
            let plane = self.planes[number];
            check(format, number, plane.map_or(0, |p| p.bytes()), plane.map_or(0, |p| p.stride()))
        })
    }

    /// Address and stride of each plane; zeros for those that the format does not have.
    pub fn layout(&self) -> [(sys::CUdeviceptr, usize); 3] {
        self.planes.map(|plane| plane.map_or((0, 0), |plane| (plane.pointer(), plane.stride())))
    }
}

/// A tensor in device memory: the counterpart of [`crate::tensor::TensorView`].
#[derive(Clone, Copy, Debug)]
pub struct DeviceTensor<'a> {
    /// The model's name for it.
    pub name: &'a str,
    /// Element type.
    pub ty: TensorType,
    /// Dimensions, outermost first.
    pub dims: Dims,
    data: DeviceSlice<'a>,
}

impl<'a> DeviceTensor<'a> {
    /// Checks that `data` holds exactly the elements that `dims` promise.
    ///
    /// # Errors
    /// [`TensorError::Size`] where it does not, [`TensorError::Rank`] where there are more than [`Dims::MOST`].
    pub fn new(
        name: &'a str,
        ty: TensorType,
        dims: &[usize],
        data: DeviceSlice<'a>,
    ) -> Result<Self, TensorError> {
        Ok(Self { name, ty, dims: Dims::new(name, ty, dims, data.bytes)?, data })
    }

    /// Row `index` of a batch, as a tensor whose first dimension is 1; none where the first dimension is not as large.
    pub fn row(&self, index: usize) -> Option<Self> {
        let (dims, place) = self.dims.row(index, self.data.bytes)?;
        Some(Self { dims, data: self.data.after(place.start).first(place.len()), ..*self })
    }

    /// The first rows of a batch; none where the first dimension is not as large.
    pub(crate) fn first_rows(&self, rows: usize) -> Option<Self> {
        let all = *self.dims.first()?;
        let bytes = self.data.bytes.checked_div(all)?.checked_mul(rows).filter(|_| rows <= all)?;
        let mut dims = self.dims.to_vec();
        *dims.first_mut()? = rows;
        Self::new(self.name, self.ty, &dims, self.data.first(bytes)).ok()
    }

    /// The memory of all elements.
    pub(crate) fn slice(&self) -> DeviceSlice<'a> {
        self.data
    }

    /// Device address of the first element.
    pub fn pointer(&self) -> sys::CUdeviceptr {
        self.data.pointer
    }

    /// Bytes from the first element on.
    pub fn bytes(&self) -> usize {
        self.data.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_batch_lie_one_after_the_other() {
        // SAFETY: no test reads the memory.
        let data = unsafe { DeviceSlice::from_raw(4096, 48) };
        let batch = DeviceTensor::new("x", TensorType::Float16, &[4, 2, 3], data).unwrap();
        let row = batch.row(3).unwrap();
        assert_eq!((&row.dims[..], row.pointer(), row.bytes()), (&[1, 2, 3][..], 4096 + 36, 12));
        assert!(batch.row(4).is_none());
        let rows = batch.first_rows(3).unwrap();
        assert_eq!((&rows.dims[..], rows.pointer(), rows.bytes()), (&[3, 2, 3][..], 4096, 36));
        assert!(batch.first_rows(5).is_none());
    }
}
