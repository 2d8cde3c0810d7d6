//! The outputs of a batch, shared by its frames, so that the first of them to be decoded decodes all.

use std::any::Any;
use std::sync::{Arc, Mutex};

use cudainfer_kernels::geometry::Row;

use super::tensor::Tensor;
use crate::sync::lock;

/// The outputs of a run of the model, and the frames that they belong to.
#[derive(Clone, Debug, glib::Boxed)]
#[boxed_type(name = "GstCudaInferBatch")]
pub struct Batch(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tensors: Vec<Tensor>,
    rows: Vec<Row>,
    results: Mutex<Vec<(String, Arc<dyn Any + Send + Sync>)>>,
}

impl Batch {
    /// `tensors` have as many rows as there are frames, or more.
    pub fn new(tensors: Vec<Tensor>, rows: Vec<Row>) -> Self {
        Self(Arc::new(Inner { tensors, rows, results: Mutex::default() }))
    }

    /// The outputs, of all frames.
    pub fn tensors(&self) -> &[Tensor] {
        &self.0.tensors
    }

    /// What each row belongs to.
    pub fn rows(&self) -> &[Row] {
        &self.0.rows
    }

    /// What `work` makes of the batch. It is done once for all who ask with the same `key`, which tells all that the result
    /// depends on; whoever asks meanwhile waits.
    ///
    /// # Errors
    /// What `work` says. The next who asks tries again.
    pub fn once<T: Any + Send + Sync, E>(
        &self,
        key: &str,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let mut results = lock(&self.0.results);
        let known = results.iter().find(|(of, _)| of == key).map(|(_, result)| Arc::clone(result));
        if let Some(known) = known.and_then(|known| known.downcast::<T>().ok()) {
            return Ok(known);
        }
        let result = Arc::new(work()?);
        results.push((key.to_owned(), Arc::clone(&result) as Arc<dyn Any + Send + Sync>));
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_once_for_each_key_and_again_after_a_failure() {
        let batch = Batch::new(Vec::new(), Vec::new());
        let mut done = 0;
        let mut ask = |key, works| {
            let result = batch.once(key, || {
                done += 1;
                if works { Ok(done) } else { Err("no") }
            });
            result.map(|result| *result)
        };
        assert_eq!(ask("a", false), Err("no"));
        assert_eq!(
            [("a", true), ("a", false), ("b", true), ("a", true)].map(|(key, works)| ask(key, works)),
            [Ok(2), Ok(2), Ok(3), Ok(2)]
        );
    }
}
