//! A loaded model with its queue and its workers: an element's own, or shared by all that name the same `instance`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cudainfer_kernels::device::{Choice, Counters};

use super::batcher::{Batcher, Client, Rules};
use super::load::{Cost, Load};
use super::request::Request;
use super::setup::Setup;
use super::worker;
use crate::auto_gpu::Reservation;
use crate::inference::{Config, Engine, InferenceError, Progress, RunShape, Stop};
use crate::log::TRTINFER as CAT;
use crate::model::ModelError;
use crate::sync::lock;
use crate::time::nanoseconds;

/// A model and everything that runs it. When the last reference is released, its workers end.
pub(super) struct Instance {
    /// Its number in this process.
    pub number: u64,
    pub setup: Setup,
    pub engine: Arc<Engine>,
    pub batcher: Arc<Batcher<Request>>,
    /// Nanoseconds that a run of a whole batch takes, as measured when warming up.
    pub run_ns: Arc<AtomicU64>,
    /// How busy it is.
    load: Arc<Load>,
    shapes: Shapes,
    /// Threads that end with the instance: the workers, and the one that makes a faster variant of the session ready.
    threads: Mutex<Vec<JoinHandle<()>>>,
    stop: Arc<Stop>,
    /// One for each worker: it ends the worker's run.
    runs: Vec<Arc<Stop>>,
    reservation: Reservation,
}

impl Instance {
    /// Loads the model and starts its workers. Where `device` is left open, it runs on GPU `near`, if that is known.
    ///
    /// # Errors
    /// The errors of [`Engine::open`]; a minimum above the batch that follows from the model.
    pub fn open(
        setup: Setup,
        near: Option<u32>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Arc<Self>, InferenceError> {
        let counters = Arc::<Counters>::default();
        let Config { device, provider, model, .. } = &setup.config;
        let device = if provider.is_on_host() { Choice::Cpu } else { *device };
        let reservation = Reservation::of(device, model, near);
        // Not in the setup: elements that share the instance have left it open as well.
        let config = Config { gpu: reservation.gpu(), ..setup.config.clone() };
        let engine = Arc::new(Engine::open(&config, &counters, progress)?);
        if setup.min_batch > engine.batch {
            let why = format!(
                "min-batch-size={} is more than the batch size, {}, so no batch would ever be large enough. Set a larger \
                 batch-size, or a smaller min-batch-size",
                setup.min_batch, engine.batch
            );
            return Err(ModelError::Unfit(setup.config.model, why).into());
        }
        // What all workers run, on a GPU the run in progress and the next one, and another batch to fill meanwhile.
        let runs = if engine.provider().is_on_host() { engine.sessions.len() } else { 2 };
        let in_flight = runs * engine.batch + engine.batch.max(2);
        let rules = Rules { size: engine.batch, min: setup.min_batch, timeout: setup.timeout, in_flight };
        let batcher = Arc::new(Batcher::new(rules));
        let cores = if engine.provider().is_on_host() { setup.config.intra_threads } else { 0 };
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let runs = engine.sessions.iter().map(|_| Arc::default()).collect();
        let run_ns = Arc::<AtomicU64>::default();
        let cost = if engine.provider().is_on_host() {
            Cost::OnHost(engine.sessions.len())
        } else {
            Cost::OnGpu(Arc::clone(&run_ns), engine.batch)
        };
        let instance = Arc::new(Self {
            runs,
            number: OPENED.fetch_add(1, Ordering::Relaxed) + 1,
            setup,
            engine,
            batcher,
            run_ns,
            load: Arc::new(Load::new(cost, Instant::now())),
            shapes: Shapes::default(),
            threads: Mutex::default(),
            stop: Arc::default(),
            reservation,
        });
        for (index, (session, runs)) in instance.engine.sessions.iter().zip(&instance.runs).enumerate() {
            let (batcher, session, runs) =
                (Arc::clone(&instance.batcher), Arc::clone(session), Arc::clone(runs));
            let load = Arc::clone(&instance.load);
            let work = move || {
                let work = || worker::work(&batcher, &session, &runs, cores, &load);
                // The frames of the failed batch come back with an error, and the later ones must still be inferred.
                while std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err() {
                    gst::error!(CAT, "a worker panicked; this is a bug of cudainfer");
                }
            };
            let worker = std::thread::Builder::new()
                .name(format!("trtinfer:{index}"))
                .spawn(work)
                .map_err(|e| InferenceError::Thread(e.to_string()))?;
            // The workers that run end with the instance, also if a later one cannot be started.
            lock(&instance.threads).push(worker);
        }
        Ok(instance)
    }

    /// An element leaves, whose frames are not wanted any more. After the last element, the runs in progress are ended: they may
    /// take forever.
    pub fn leave(&self, client: Client) {
        self.batcher.leave(client);
        if self.batcher.clients() == 0 {
            self.runs.iter().for_each(|run| run.interrupt());
        }
    }

    /// The share of the last second in which it worked, from 0 to 1; none in its first one.
    pub fn load(&self) -> Option<f64> {
        self.load.share(Instant::now())
    }

    /// The number of the GPU that it runs on; none on the CPU.
    pub fn gpu(&self) -> Option<u32> {
        self.reservation.gpu().filter(|_| !self.engine.provider().is_on_host())
    }

    /// Device memory that the model holds: a share for each of the elements whose frames it runs, so that their sum is all of it.
    pub fn device_bytes_a_client(&self) -> u64 {
        let clients = u64::try_from(self.batcher.clients()).unwrap_or(1);
        self.engine.held_device_bytes() / clients.max(1)
    }

    /// The shape, complete and warmed up: an equal shape that is known already, if there is one, so that frames of all elements
    /// share batches. `stop` ends warming up. `upgraded` is called from another thread with the result for a faster variant of
    /// the session: whether it serves from now on, or why not.
    ///
    /// # Errors
    /// The model does not run with it.
    pub fn shape(
        &self,
        wanted: RunShape,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &Stop,
        upgraded: impl Fn(Result<bool, InferenceError>) + Send + 'static,
    ) -> Result<Arc<RunShape>, InferenceError> {
        let shape = self.shapes.get(&wanted, stop, || {
            let (shape, run) = self.engine.warm_up(wanted.clone(), progress, stop)?;
            gst::debug!(CAT, "a run of {} frames takes {run:?}", self.engine.batch);
            self.run_ns.store(nanoseconds(run), Ordering::Relaxed);
            Ok::<_, InferenceError>(shape)
        })?;
        let shape = shape.ok_or(InferenceError::Interrupted)?;
        if self.engine.has_upgrade() {
            // The variant that is warm serves without the faster one.
            if let Err(e) = self.upgrade(upgraded) {
                gst::warning!(CAT, "no faster variant of the session is made ready: {e}");
            }
        }
        Ok(shape)
    }

    /// Makes the faster variant of the session ready in a thread of its own.
    fn upgrade(
        &self,
        upgraded: impl Fn(Result<bool, InferenceError>) + Send + 'static,
    ) -> Result<(), InferenceError> {
        let (engine, stop, run_ns) =
            (Arc::clone(&self.engine), Arc::clone(&self.stop), Arc::clone(&self.run_ns));
        let work = move || {
            let work = std::panic::AssertUnwindSafe(|| engine.upgrade(&stop));
            let panicked = |_| Err(InferenceError::Run("it panicked. This is a bug of cudainfer".into()));
            let done = std::panic::catch_unwind(work).unwrap_or_else(panicked);
            // Released before the report: its receiver may release the last reference to the instance, which waits for this
            // thread.
            drop(engine);
            if let Ok(Some(run)) = &done {
                // The run was measured beside the session that served, so its time is rather too long; 0 where nothing was run.
                if !run.is_zero() {
                    run_ns.fetch_min(nanoseconds(*run), Ordering::Relaxed);
                }
            }
            upgraded(done.map(|run| run.is_some()));
        };
        let thread = std::thread::Builder::new()
            .name("trtinfer:upgrade".into())
            .spawn(work)
            .map_err(|e| InferenceError::Thread(e.to_string()))?;
        lock(&self.threads).push(thread);
        Ok(())
    }
}

/// How often an element that waits for a shape looks whether it must stop.
const LOOK: Duration = Duration::from_millis(100);

/// The shapes that are in use. Each is warmed up once, while the others are used.
#[derive(Debug, Default)]
struct Shapes {
    inner: Mutex<ShapesInner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct ShapesInner {
    warm: Vec<Weak<RunShape>>,
    /// Those that are being warmed up at the moment.
    warming: Vec<RunShape>,
}

impl Shapes {
    /// The shape that is equal to the wanted one: one that is warm, or that another thread is warming up, or the result of
    /// `warm_up`; `None` where `stop` is set while another thread warms up.
    ///
    /// # Errors
    /// Those of `warm_up`.
    fn get<E>(
        &self,
        wanted: &RunShape,
        stop: &Stop,
        warm_up: impl FnOnce() -> Result<Arc<RunShape>, E>,
    ) -> Result<Option<Arc<RunShape>>, E> {
        let mut inner = lock(&self.inner);
        loop {
            inner.warm.retain(|shape| shape.strong_count() > 0);
            if let Some(known) = inner.warm.iter().filter_map(Weak::upgrade).find(|shape| shape.fits(wanted))
            {
                return Ok(Some(known));
            }
            if !inner.warming.iter().any(|shape| shape.fits(wanted)) {
                break;
            }
            if stop.is_set() {
                return Ok(None);
            }
            // Setting `stop` does not notify this condition variable.
            inner = self.changed.wait_timeout(inner, LOOK).unwrap_or_else(|e| e.into_inner()).0;
        }
        inner.warming.push(wanted.clone());
        drop(inner);
        // Also where warming up panics: another thread may wait for the shape.
        let guard = WarmUpGuard { shapes: self, wanted };
        let shape = warm_up()?;
        lock(&self.inner).warm.push(Arc::downgrade(&shape));
        drop(guard);
        Ok(Some(shape))
    }
}

/// A shape is being warmed up until this is dropped.
struct WarmUpGuard<'a> {
    shapes: &'a Shapes,
    wanted: &'a RunShape,
}

impl Drop for WarmUpGuard<'_> {
    fn drop(&mut self) {
        lock(&self.shapes.inner).warming.retain(|shape| !shape.fits(self.wanted));
        self.shapes.changed.notify_all();
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.batcher.stop();
        self.stop.set();
        let own = std::thread::current().id();
        for thread in lock(&self.threads).drain(..) {
            // One of them may be the last to hold it.
            if thread.thread().id() != own {
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc::channel;

    use cudainfer_kernels::tensor::{TensorDesc, TensorType};

    use super::*;
    use crate::inference::FrameTensors;

    fn shape(size: usize) -> RunShape {
        let tensors = FrameTensors {
            image: TensorDesc::fixed("image", TensorType::UInt8, &[1, 3, size, size]),
            joined: None,
            earlier: Vec::new(),
            batched: true,
            given: TensorType::UInt8,
            constants: Vec::new(),
            fed: Vec::new(),
            outputs: Vec::new(),
            fixed: None,
        };
        RunShape::new(tensors, 1).unwrap()
    }

    fn warm(shapes: &Shapes, size: usize) -> Arc<RunShape> {
        shapes.get::<()>(&shape(size), &Stop::default(), || Ok(Arc::new(shape(size)))).unwrap().unwrap()
    }

    #[test]
    fn while_a_shape_is_warmed_up_others_are_had_and_who_wants_the_same_waits_for_it() {
        let shapes = Shapes::default();
        let known = warm(&shapes, 4);
        let (begun, wait_for_begin) = channel();
        let (go_on, wait) = channel();
        let count = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let (shapes, count) = (&shapes, &count);
            let first = scope.spawn(move || {
                shapes.get::<()>(&shape(8), &Stop::default(), || {
                    begun.send(()).unwrap();
                    wait.recv().unwrap();
                    count.fetch_add(1, Ordering::SeqCst);
                    Ok(Arc::new(shape(8)))
                })
            });
            wait_for_begin.recv().unwrap();
            // Another new one, and one that is known.
            warm(shapes, 16);
            assert!(Arc::ptr_eq(&warm(shapes, 4), &known));
            let second = scope.spawn(move || {
                shapes.get::<()>(&shape(8), &Stop::default(), || {
                    count.fetch_add(1, Ordering::SeqCst);
                    Ok(Arc::new(shape(8)))
                })
            });
            // A thread that stops does not wait.
            let stop = Stop::default();
            stop.set();
            assert!(shapes.get::<()>(&shape(8), &stop, || Err(())).unwrap().is_none());
            go_on.send(()).unwrap();
            let (first, second) = (first.join().unwrap().unwrap(), second.join().unwrap().unwrap());
            assert!(Arc::ptr_eq(&first.unwrap(), &second.unwrap()));
        });
        assert_eq!(count.into_inner(), 1);
    }

    #[test]
    fn a_shape_that_failed_or_panicked_is_tried_again() {
        let shapes = Shapes::default();
        assert_eq!(shapes.get(&shape(4), &Stop::default(), || Err("on purpose")).unwrap_err(), "on purpose");
        let panicking = std::panic::AssertUnwindSafe(|| {
            shapes.get::<()>(&shape(4), &Stop::default(), || panic!("on purpose"))
        });
        assert!(std::panic::catch_unwind(panicking).is_err());
        warm(&shapes, 4);
    }
}
