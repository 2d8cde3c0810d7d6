//! The buffers of a plan in host memory.

use super::{number, places};
use crate::FusedError;
use crate::plan::{BufferId, Content, Plan, View};

/// The bytes of a plan's buffers.
#[derive(Clone, Debug)]
pub struct Memory(Vec<Vec<u8>>);

impl Memory {
    /// Constants and inputs are filled in; what nobody has written is NaN, so that results show where it is read.
    ///
    /// # Errors
    /// An input or a constant has another size than its buffer.
    pub fn new(plan: &Plan, inputs: &[Vec<u8>]) -> Result<Self, FusedError> {
        let mut buffers = Vec::new();
        for (number, buffer) in plan.buffers.iter().enumerate() {
            let bytes = match &buffer.content {
                Content::Input(index) => inputs.get(*index).cloned().ok_or_else(|| {
                    FusedError::Plan(format!(
                        "buffer {number} is input {index}, and {} are given",
                        inputs.len()
                    ))
                })?,
                Content::Constant(bytes) => bytes.clone(),
                Content::Output(_) | Content::Intermediate => vec![0xFF; buffer.bytes],
            };
            if bytes.len() != buffer.bytes {
                let (has, wants) = (bytes.len(), buffer.bytes);
                return Err(FusedError::Plan(format!(
                    "buffer {number} has {wants} bytes, its content {has}"
                )));
            }
            buffers.push(bytes);
        }
        Ok(Self(buffers))
    }

    /// The bytes of a buffer; none of one that the plan does not have.
    pub fn bytes(&self, id: BufferId) -> &[u8] {
        self.0.get(id.0).map_or(&[], Vec::as_slice)
    }

    /// Other bytes for a buffer: what a kernel under test has made of it.
    #[cfg(test)]
    pub(crate) fn replace(&mut self, id: BufferId, bytes: Vec<u8>) {
        self.0[id.0] = bytes;
    }

    /// The elements of a tensor, row-major.
    ///
    /// # Errors
    /// It reaches beyond its buffer.
    pub fn read(&self, view: &View) -> Result<Vec<f32>, String> {
        check(view, self.bytes(view.buffer).len())?;
        let bytes = self.bytes(view.buffer);
        Ok(places(&view.dims).map(|at| number::read(bytes, view.ty, position(view, &at))).collect())
    }

    /// The same as float64, which holds each int32.
    ///
    /// # Errors
    /// As [`Memory::read`].
    pub fn read_exactly(&self, view: &View) -> Result<Vec<f64>, String> {
        check(view, self.bytes(view.buffer).len())?;
        let bytes = self.bytes(view.buffer);
        Ok(places(&view.dims).map(|at| number::read_exactly(bytes, view.ty, position(view, &at))).collect())
    }

    /// Writes the elements of a tensor, row-major.
    ///
    /// # Errors
    /// It reaches beyond its buffer, or has another number of elements.
    pub fn write(&mut self, view: &View, elements: &[f32]) -> Result<(), String> {
        check(view, self.bytes(view.buffer).len())?;
        if elements.len() != view.elements() {
            return Err(format!("{} elements for {view:?}", elements.len()));
        }
        if let Some(bytes) = self.0.get_mut(view.buffer.0) {
            for (at, element) in places(&view.dims).zip(elements) {
                number::write(bytes, view.ty, position(view, &at), *element);
            }
        }
        Ok(())
    }
}

/// Where an element lies, counted from the buffer's first one. The view has been checked.
fn position(view: &View, at: &[usize]) -> usize {
    let steps: isize = at.iter().zip(&view.strides).map(|(at, stride)| at.cast_signed() * stride).sum();
    view.offset.wrapping_add_signed(steps)
}

/// Whether all elements of a view lie in a buffer of this many bytes.
fn check(view: &View, bytes: usize) -> Result<(), String> {
    if view.dims.len() != view.strides.len() {
        return Err(format!("{} dimensions have {} strides", view.dims.len(), view.strides.len()));
    }
    if view.elements() == 0 {
        return Ok(());
    }
    let reach = |sign: isize| -> isize {
        let reaches =
            view.dims.iter().zip(&view.strides).map(|(dim, stride)| (dim - 1).cast_signed() * stride);
        reaches.filter(|reach| reach.signum() == sign).sum()
    };
    let (first, last) = (view.offset.cast_signed() + reach(-1), view.offset.cast_signed() + reach(1));
    let elements = (bytes / view.ty.size()).cast_signed();
    if first < 0 || last >= elements {
        return Err(format!("elements {first} to {last} of a buffer of {elements} are wanted: {view:?}"));
    }
    Ok(())
}
