//! The dimensions of inputs other than the image, for a frame alone.

use cudainfer_kernels::tensor::TensorDesc;

/// The dimensions of an input for a frame alone, and whether each frame of a batch has its own; `batch` is the image's.
pub fn of_one_frame(input: &TensorDesc, batch: Option<usize>) -> (Vec<Option<usize>>, bool) {
    let mut dims = input.dims.clone();
    let batched = dims.len() > 1 && dims.first() == Some(&batch) && batch != Some(1);
    if let (true, Some(first)) = (batched, dims.first_mut()) {
        *first = Some(1);
    }
    (dims, batched)
}

/// These dimensions as `shape` states them, or else with 1 for those that are open. `None` where they contradict it.
pub fn with_shape(dims: &[Option<usize>], shape: Option<&[usize]>) -> Option<Vec<usize>> {
    let Some(shape) = shape else { return Some(dims.iter().map(|dim| dim.unwrap_or(1)).collect()) };
    let fits = |(dim, stated): (&Option<usize>, &usize)| dim.is_none_or(|dim| dim == *stated);
    (shape.len() == dims.len() && dims.iter().zip(shape).all(fits)).then(|| shape.to_vec())
}
