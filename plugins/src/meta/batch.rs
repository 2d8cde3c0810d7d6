//! The outputs of a batch, shared by its frames, so that the first of them to be decoded decodes all.

use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, OnceLock, Weak};

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
    results: Mutex<Vec<(ResultKey, TypeId, Arc<Slot>)>>,
}

/// Where a result comes to be; nothing where the work failed. All threads that wait for it are woken at once.
type Slot = OnceLock<Option<Arc<dyn Any + Send + Sync>>>;

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
        let mut work = Some(work);
        loop {
            let slot = self.slot::<T>(key);
            let mut failure = None;
            let mut run = || match work.take()?() {
                Ok(result) => Some(Arc::new(result) as Arc<dyn Any + Send + Sync>),
                Err(e) => {
                    failure = Some(e);
                    None
                }
            };
            let result = slot.get_or_init(&mut run).clone();
            if let Some(result) = result.and_then(|result| result.downcast::<T>().ok()) {
                return Ok(result);
            }
            lock(&self.0.results).retain(|(_, _, known)| !Arc::ptr_eq(known, &slot));
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
    }

    /// Where the result of this type comes to be.
    fn slot<T: 'static>(&self, key: &ResultKey) -> Arc<Slot> {
        let ty = TypeId::of::<T>();
        let mut results = lock(&self.0.results);
        if let Some((.., slot)) = results.iter().find(|(known, of, _)| known == key && *of == ty) {
            return Arc::clone(slot);
        }
        let slot = Arc::<Slot>::default();
        results.push((key.clone(), ty, Arc::clone(&slot)));
        slot
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

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

    #[test]
    fn of_many_threads_one_does_the_work_and_where_it_fails_one_of_the_others() {
        let (batch, key) = (Batch::new(Vec::new(), Vec::new()), ResultKey::new("many"));
        let runs = AtomicUsize::new(0);
        let all_ask = Barrier::new(8);
        let ask = || {
            all_ask.wait();
            batch.once(&key, || {
                // The others ask meanwhile.
                thread::sleep(Duration::from_millis(20));
                if runs.fetch_add(1, Ordering::Relaxed) == 0 { Err("the first fails") } else { Ok(7) }
            })
        };
        let results: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (done, failed): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        assert_eq!((failed.len(), runs.into_inner()), (1, 2));
        let done: Vec<_> = done.into_iter().map(Result::unwrap).collect();
        assert!(done.iter().all(|one| Arc::ptr_eq(one, &done[0]) && **one == 7));
    }
}
