//! The numbers of one output of a model that a frame or region has: a row of its batch, as float32 on the host.

use std::ops::Range;
use std::sync::Arc;

use super::batch::ResultKey;
use super::tensor::{Failure, Tensor, TensorSet};

/// An output of which rows are read.
pub(crate) struct OutputRows {
    /// Its name.
    pub name: String,
    key: ResultKey,
}

/// The row of a frame or region.
pub(crate) struct Row {
    batch: Arc<Vec<f32>>,
    range: Range<usize>,
}

impl OutputRows {
    /// Of the output of this name.
    pub fn new(name: String) -> Self {
        let key = ResultKey::new(&format!("rows {name}"));
        Self { name, key }
    }

    /// Reads the set's row. All rows of a batch are read, and downloaded, at once, when the first of them is asked for.
    ///
    /// # Errors
    /// A sentence: there is no such tensor, or it cannot be read.
    pub fn read(&self, set: &TensorSet) -> Result<Row, String> {
        let missing = || format!("a frame came without the tensor '{}'", self.name);
        let named = |tensor: &&Tensor| tensor.desc.name == self.name;
        // The dimensions are those of one region; there need not be one for the batch.
        let own = set.tensors.iter().find(named).ok_or_else(missing)?;
        let length: usize = own.desc.dims.iter().map(|n| n.unwrap_or(1)).product();
        let (batch, row) = set.batch([0, 0]);
        let all = batch.tensors().iter().find(named).ok_or_else(missing)?;
        let read = || -> Result<Vec<f32>, Failure> { Ok(all.map()?.view()?.to_f32().to_vec()) };
        let values = batch.once(&self.key, read).map_err(|e| e.to_string())?;
        let range = row * length..(row + 1) * length;
        if values.len() < range.end {
            return Err(format!("'{}' has no row {row} of {length} values", all.desc));
        }
        Ok(Row { batch: values, range })
    }
}

impl Row {
    /// The numbers.
    pub fn values(&self) -> &[f32] {
        self.batch.get(self.range.clone()).unwrap_or_default()
    }
}
