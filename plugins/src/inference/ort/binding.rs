//! ONNX Runtime's inputs and outputs bound to device memory: the part of its C interface that the `ort` crate keeps for
//! memory of its own.

use std::ffi::{CString, c_char};

use cudainfer_kernels::device::DeviceSlice;
use cudainfer_kernels::tensor::TensorType;
use ort::memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType};
use ort::session::{IoBinding, RunOptions, Session};
use ort::sys::{OrtIoBinding, OrtValue};
use ort::value::{Shape, TensorRefMut};
use ort::{AsPointer, ortsys};

/// A session's inputs and outputs at fixed addresses.
#[derive(Debug)]
pub(super) struct Binding {
    binding: IoBinding,
    device: MemoryInfo<'static>,
}

impl Binding {
    /// Nothing is bound yet. `ordinal` is the GPU's number.
    pub fn new(session: &Session, ordinal: u32) -> Result<Self, ort::Error> {
        let ordinal = i32::try_from(ordinal).unwrap_or(0);
        let device =
            MemoryInfo::new(AllocationDevice::CUDA, ordinal, AllocatorType::Device, MemoryType::Default)?;
        Ok(Self { binding: session.create_binding()?, device })
    }

    /// Binds an input to device memory.
    ///
    /// # Safety
    /// The memory stays as long as the binding is run, and holds as many elements as `dims` say.
    pub unsafe fn input(
        &mut self,
        name: &str,
        ty: TensorType,
        dims: &[usize],
        memory: DeviceSlice<'_>,
    ) -> Result<(), ort::Error> {
        self.bind(name, ty, dims, memory, |binding, name, value| {
            // SAFETY: binding and name live through the call; the value is of memory that the caller promises to keep.
            ortsys![unsafe BindInput(binding, name, value)?];
            Ok(())
        })
    }

    /// Binds an output to device memory.
    ///
    /// # Safety
    /// As for [`Binding::input`].
    pub unsafe fn output(
        &mut self,
        name: &str,
        ty: TensorType,
        dims: &[usize],
        memory: DeviceSlice<'_>,
    ) -> Result<(), ort::Error> {
        self.bind(name, ty, dims, memory, |binding, name, value| {
            // SAFETY: as for an input.
            ortsys![unsafe BindOutput(binding, name, value)?];
            Ok(())
        })
    }

    /// Enqueues a run.
    pub fn run(&self, session: &mut Session, options: &RunOptions) -> Result<(), ort::Error> {
        // SAFETY: all three live through the call, the session is borrowed mutably, and what is bound stays as long as the
        // binding is run, as the callers of `input` and `output` have promised.
        ortsys![unsafe RunWithBinding(session.ptr_mut(), options.ptr(), self.binding.ptr())?];
        Ok(())
    }

    /// Makes a value of the memory and hands it to `call`, with the binding and the name in C's terms.
    fn bind(
        &mut self,
        name: &str,
        ty: TensorType,
        dims: &[usize],
        memory: DeviceSlice<'_>,
        call: impl FnOnce(*mut OrtIoBinding, *const c_char, *const OrtValue) -> Result<(), ort::Error>,
    ) -> Result<(), ort::Error> {
        let name = CString::new(name).map_err(|_| ort::Error::new("a tensor's name has a zero byte"))?;
        macro_rules! of {
            ($type:ty) => {{
                let shape = Shape::new(dims.iter().map(|d| i64::try_from(*d).unwrap_or(i64::MAX)));
                let address = usize::try_from(memory.pointer()).unwrap_or(0);
                let address = std::ptr::with_exposed_provenance_mut(address);
                // SAFETY: the memory is on the device that `self.device` names, as the callers promise.
                let value = unsafe { TensorRefMut::<$type>::from_raw(self.device.clone(), address, shape) }?;
                // The binding keeps its own reference to the value.
                call(self.binding.ptr_mut(), name.as_ptr(), value.ptr())
            }};
        }
        match ty {
            TensorType::Float32 => of!(f32),
            TensorType::Float16 => of!(half::f16),
            TensorType::UInt8 => of!(u8),
            TensorType::Int8 => of!(i8),
            TensorType::Int32 => of!(i32),
            TensorType::Int64 => of!(i64),
            TensorType::Bool => of!(bool),
        }
    }
}
