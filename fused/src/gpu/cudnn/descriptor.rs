//! A descriptor of the backend API.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t as Attribute, cudnnBackendAttributeType_t as Type,
    cudnnBackendDescriptorType_t as Kind, cudnnBackendNumericalNote_t as Note,
};

use super::Cudnn;
use crate::gpu::GpuError;

/// Notes that are looked at.
const KNOWN: [Note; 4] = [
    Note::CUDNN_NUMERICAL_NOTE_TENSOR_CORE,
    Note::CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
    Note::CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
    Note::CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
];

/// A descriptor.
#[derive(Debug)]
pub(super) struct Descriptor {
    cudnn: Arc<Cudnn>,
    raw: *mut c_void,
}

// SAFETY: descriptors are memory of cuDNN's, which no thread owns.
unsafe impl Send for Descriptor {}
// SAFETY: after it is finalised, it is only read.
unsafe impl Sync for Descriptor {}

impl Descriptor {
    pub fn new(cudnn: &Arc<Cudnn>, kind: Kind) -> Result<Self, GpuError> {
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is written to.
        cudnn.check(unsafe { (cudnn.create_descriptor)(kind, &raw mut raw) }, "a descriptor")?;
        Ok(Self { cudnn: Arc::clone(cudnn), raw })
    }

    pub fn raw(&self) -> *mut c_void {
        self.raw
    }

    /// Sets an attribute of these elements.
    ///
    /// # Safety
    /// `T` is the type that cuDNN's documentation gives for `ty`.
    pub unsafe fn set<T>(&self, name: Attribute, ty: Type, elements: &[T]) -> Result<(), GpuError> {
        let count = i64::try_from(elements.len()).unwrap_or(0);
        // SAFETY: as many elements as it says, of the type that the caller promises.
        let status =
            unsafe { (self.cudnn.set_attribute)(self.raw, name, ty, count, elements.as_ptr().cast()) };
        self.cudnn.check(status, "an attribute")
    }

    pub fn integers(&self, name: Attribute, integers: &[i64]) -> Result<(), GpuError> {
        // SAFETY: cuDNN's INT64 is i64.
        unsafe { self.set(name, Type::CUDNN_TYPE_INT64, integers) }
    }

    pub fn float(&self, name: Attribute, float: f32) -> Result<(), GpuError> {
        // SAFETY: cuDNN's FLOAT is f32.
        unsafe { self.set(name, Type::CUDNN_TYPE_FLOAT, &[float]) }
    }

    pub fn descriptors(&self, name: Attribute, descriptors: &[&Self]) -> Result<(), GpuError> {
        let raw: Vec<*mut c_void> = descriptors.iter().map(|descriptor| descriptor.raw).collect();
        // SAFETY: a BACKEND_DESCRIPTOR is the pointer.
        unsafe { self.set(name, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, &raw) }
    }

    pub fn finalize(&self, what: &'static str) -> Result<(), GpuError> {
        // SAFETY: the descriptor lives.
        self.cudnn.check(unsafe { (self.cudnn.finalize)(self.raw) }, what)
    }

    /// An integer attribute.
    pub fn integer(&self, name: Attribute) -> Result<i64, GpuError> {
        let (mut integer, mut count) = (0_i64, 0);
        let place = (&raw mut integer).cast();
        // SAFETY: one INT64 is written at most.
        let status = unsafe {
            (self.cudnn.get_attribute)(self.raw, name, Type::CUDNN_TYPE_INT64, 1, &raw mut count, place)
        };
        self.cudnn.check(status, "an attribute")?;
        Ok(integer)
    }

    /// Has cuDNN fill these descriptors, and returns how many it has filled.
    pub fn fill(&self, name: Attribute, descriptors: &mut [Self]) -> Result<usize, GpuError> {
        let mut raw: Vec<*mut c_void> = descriptors.iter().map(|descriptor| descriptor.raw).collect();
        let mut count = 0;
        let wanted = i64::try_from(raw.len()).unwrap_or(0);
        let ty = Type::CUDNN_TYPE_BACKEND_DESCRIPTOR;
        // SAFETY: as many descriptors as it says, which cuDNN fills.
        let status = unsafe {
            (self.cudnn.get_attribute)(self.raw, name, ty, wanted, &raw mut count, raw.as_mut_ptr().cast())
        };
        self.cudnn.check(status, "its heuristics' results")?;
        Ok(usize::try_from(count).unwrap_or(0).min(descriptors.len()))
    }

    /// An engine's numerical notes.
    pub fn notes(&self) -> Result<Vec<Note>, GpuError> {
        const MOST: usize = Note::CUDNN_NUMERICAL_NOTE_TYPE_COUNT as usize;
        // Numbers first: a newer cuDNN may know notes that have no name here.
        let (mut notes, mut count) = ([0_u32; MOST], 0);
        let (name, ty) = (Attribute::CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, Type::CUDNN_TYPE_NUMERICAL_NOTE);
        let place = notes.as_mut_ptr().cast();
        // SAFETY: as many notes as it says, each a C enum of the size of an unsigned int.
        let status =
            unsafe { (self.cudnn.get_attribute)(self.raw, name, ty, MOST as i64, &raw mut count, place) };
        self.cudnn.check(status, "an engine's notes")?;
        let of = |number: &u32| KNOWN.iter().copied().find(|note| *note as u32 == *number);
        Ok(notes.iter().take(usize::try_from(count).unwrap_or(0)).filter_map(of).collect())
    }

    /// A text attribute, as bytes.
    pub fn text(&self, name: Attribute) -> Result<Vec<u8>, GpuError> {
        let mut count = 0;
        let ty = Type::CUDNN_TYPE_CHAR;
        // SAFETY: with room for nothing, only the length is written.
        let status =
            unsafe { (self.cudnn.get_attribute)(self.raw, name, ty, 0, &raw mut count, ptr::null_mut()) };
        self.cudnn.check(status, "a text's length")?;
        let mut text = vec![0_u8; usize::try_from(count).unwrap_or(0)];
        // SAFETY: as many bytes as it said.
        let status = unsafe {
            (self.cudnn.get_attribute)(self.raw, name, ty, count, &raw mut count, text.as_mut_ptr().cast())
        };
        self.cudnn.check(status, "a text")?;
        Ok(text)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: created by us, destroyed once.
        let _ = unsafe { (self.cudnn.destroy_descriptor)(self.raw) };
    }
}
