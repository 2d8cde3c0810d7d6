//! The embeddings in a model's output, for the elements that read them: embed and, directly downstream of trtinfer, tracker. Also
//! tracker's query whether an embed has read them.

use std::ops::Range;
use std::sync::Arc;

use gst::prelude::*;

use crate::meta::batch::ResultKey;
use crate::meta::tensor::{Failure, Tensor, TensorSet};

/// The name of the query's structure, which an embed answers.
const QUERY: &str = "cudainfer-embeddings";

/// Whether an embed upstream of `sink` gives objects embeddings.
pub(crate) fn are_made_upstream(sink: &gst::Pad) -> bool {
    sink.peer_query(&mut gst::query::Custom::new(gst::Structure::new_empty(QUERY)))
}

/// Whether it is the query of [`are_made_upstream`].
pub(crate) fn asked(query: &gst::QueryRef) -> bool {
    matches!(query.view(), gst::QueryView::Custom(custom) if custom.structure().is_some_and(|s| s.name() == QUERY))
}

/// The embedding of a frame or region: a row of its batch.
pub(crate) struct Embedding {
    batch: Arc<Vec<f32>>,
    range: Range<usize>,
}

impl Embedding {
    /// Reads the output of this name. All rows of a batch are read, and downloaded, at once, when the first of them is asked for.
    ///
    /// # Errors
    /// A sentence: there is no such tensor, or it cannot be read.
    pub fn of(set: &TensorSet, output: &str) -> Result<Self, String> {
        let missing = || format!("a frame came without the tensor '{output}'");
        let named = |tensor: &&Tensor| tensor.desc.name == output;
        // The dimensions are those of one region; there need not be one for the batch.
        let own = set.tensors.iter().find(named).ok_or_else(missing)?;
        let length: usize = own.desc.dims.iter().map(|n| n.unwrap_or(1)).product();
        let (batch, row) = set.batch([0, 0]);
        let all = batch.tensors().iter().find(named).ok_or_else(missing)?;
        let key = ResultKey::new(&format!("embeddings {output}"));
        let read = || -> Result<Vec<f32>, Failure> { Ok(all.map()?.view()?.to_f32().to_vec()) };
        let values = batch.once(&key, read).map_err(|e| e.to_string())?;
        let range = row * length..(row + 1) * length;
        if values.len() < range.end {
            return Err(format!("'{}' has no row {row} of {length} values", all.desc));
        }
        Ok(Self { batch: values, range })
    }

    /// The numbers.
    pub fn values(&self) -> &[f32] {
        self.batch.get(self.range.clone()).unwrap_or_default()
    }
}
