//! The outputs of a batch, shared by its frames, so that the first of them to be decoded decodes all.

use std::any::Any;
use std::sync::{Arc, Mutex, Weak};

use cudainfer_kernels::geometry::RowFrame;

use super::tensor::Tensor;
use crate::sync::lock;

/// The outputs of a run of the model, and the frames that they belong to.
#[derive(Clone, Debug, glib::Boxed)]
#[boxed_type(name = "GstCudaInferBatch")]
pub struct Batch(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tensors: Vec<Tensor>,
    rows: Vec<RowFrame>,
    results: Mutex<Vec<(ResultKey, Arc<dyn Any + Send + Sync>)>>,
}

/// Everything that results depend on, except for the tensors. Keys of the same text are one in the whole process, so that elements of
/// several streams share results, and comparing two keys compares two pointers, however long the text is.
#[derive(Clone, Debug)]
pub struct ResultKey(Arc<str>);

impl ResultKey {
    /// The key of this text.
    pub fn new(text: &str) -> Self {
        static KEYS: Mutex<Vec<Weak<str>>> = Mutex::new(Vec::new());
        let mut keys = lock(&KEYS);
        keys.retain(|key| key.strong_count() > 0);
        if let Some(known) = keys.iter().filter_map(Weak::upgrade).find(|known| **known == *text) {
            return Self(known);
        }
        let key = Arc::from(text);
        keys.push(Arc::downgrade(&key));
        Self(key)
    }
}

impl PartialEq for ResultKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Batch {
    /// `tensors` have as many rows as there are frames, or more.
    pub fn new(tensors: Vec<Tensor>, rows: Vec<RowFrame>) -> Self {
        Self(Arc::new(Inner { tensors, rows, results: Mutex::default() }))
    }

    /// The outputs, of all frames.
    pub fn tensors(&self) -> &[Tensor] {
        &self.0.tensors
    }

    /// What each row belongs to.
    pub fn rows(&self) -> &[RowFrame] {
        &self.0.rows
    }

    /// The result of `work` on the batch. It is computed once for all elements that ask with the same `key`; those that ask
    /// meanwhile wait.
    ///
    /// # Errors
    /// Those of `work`. The next element that asks tries again.
    pub fn once<T: Any + Send + Sync, E>(
        &self,
        key: &ResultKey,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let mut results = lock(&self.0.results);
        let known = results.iter().find(|(known, _)| known == key).map(|(_, result)| Arc::clone(result));
        if let Some(known) = known.and_then(|known| known.downcast::<T>().ok()) {
            return Ok(known);
        }
        let result = Arc::new(work()?);
        results.push((key.clone(), Arc::clone(&result) as Arc<dyn Any + Send + Sync>));
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_same_text_are_one_and_are_forgotten_with_the_last() {
        let (a, b) = (ResultKey::new("priors of 640"), ResultKey::new("priors of 320"));
        assert!(a == ResultKey::new("priors of 640") && a != b);
        let text = Arc::downgrade(&a.0);
        drop(a);
        assert!(text.upgrade().is_none() && ResultKey::new("priors of 640") != b);
    }

    #[test]
    fn work_is_done_once_for_each_key_and_again_after_a_failure() {
        let batch = Batch::new(Vec::new(), Vec::new());
        let mut done = 0;
        let mut ask = |key, works| {
            let result = batch.once(&ResultKey::new(key), || {
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
