//! Another runtime measured beside ONNX Runtime. With `provider=auto`, ONNX Runtime serves at first, and its rival is measured beside it
//! in turns. If it gives the same results and is faster, it serves from then on, and from the first frame at later starts.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cudainfer_kernels::device::Counters;

use super::backend::PLAIN;
use super::engine::Engine;
use super::rival::Rival;
use super::search::{self, OnNoise, Sessions};
use super::stop::Stop;
use super::warm_up::GAP;
use super::{InferenceError, RunShape, Session, SharedSession};
use crate::log::ENGINE as CAT;
use crate::property::nick;
use crate::sync::lock;

/// How long the two are timed at most, beside what it takes to compile the model.
const LONGEST: Duration = Duration::from_secs(2);
/// Runs of each that are timed at least, so that there is a middle one.
const LEAST_TIMED: usize = 3;

/// What a contest has found: median times of a run of ONNX Runtime and of its rival; or why that cannot replace it.
type Outcome = Result<[Duration; 2], Refusal>;

/// Why the rival cannot replace ONNX Runtime.
enum Refusal {
    /// It does not run the model. It may be there for other programs, in parts: nobody has asked for it, so only the log has this.
    Fails(InferenceError),
    /// It gives other results, in words.
    Differs(String),
}

impl Engine {
    /// Measures the rival beside the sessions that serve, in turns, and has it serve if it is faster and gives the same results.
    /// Returns how long a run of a whole batch takes now, if it does.
    ///
    /// # Errors
    /// The sessions that serve do not run.
    pub(super) fn meet(&self, mut rival: Rival, stop: &Stop) -> Result<Option<Duration>, InferenceError> {
        let shape = {
            let mut shapes = lock(&self.variant.shapes);
            shapes.retain(|shape| shape.strong_count() > 0);
            shapes.iter().find_map(std::sync::Weak::upgrade)
        };
        // Frames may have stopped to come; what goes through the host at sizes that are not known cannot be compared.
        let Some(shape) = shape.filter(|shape| shape.is_known()) else { return Ok(None) };
        let name = search::shape_name(&shape);
        if rival.is_known(&name) {
            return Ok(None);
        }
        let serving = self.provider();
        let frames = shape.fixed.unwrap_or_else(|| rival.timed_frames(self.batch));
        let Some(outcome) = self.contest(&rival, &shape, frames, stop)? else { return Ok(None) };
        let [expected, found] = match outcome {
            Ok(times) => times,
            Err(why) => {
                match why {
                    Refusal::Fails(e) => gst::info!(CAT, "{} does not run the model: {e}", rival.name()),
                    Refusal::Differs(why) => {
                        let stays = nick(serving);
                        let found = format!(
                            "the model stays on {stays}: {} gives other results ({why})",
                            rival.name()
                        );
                        *lock(&self.variant.found) = Some(found);
                    }
                }
                rival.remember(&name, serving);
                return Ok(None);
            }
        };
        let faster = search::is_faster(found, expected);
        let ms = |time: Duration| format!("{:.3} ms", time.as_secs_f64() * 1e3);
        let provider = if faster { rival.provider() } else { serving };
        let ([chosen, other], instead) = match faster {
            true => ([found, expected], serving),
            false => ([expected, found], rival.provider()),
        };
        let found = format!(
            "the model runs on {}; {} takes {}, and {} on {}",
            nick(provider),
            if frames == 1 { "a frame".to_owned() } else { format!("a batch of {frames} frames") },
            ms(chosen),
            ms(other),
            nick(instead)
        );
        let took = if faster { self.replace_all(&rival, stop)? } else { None };
        if faster && took.is_none() {
            // The next start measures again.
            return Ok(None);
        }
        rival.remember(&name, provider);
        *lock(&self.variant.found) = Some(found);
        Ok(took)
    }

    /// What was measured; nothing where memory is short or `stop` is set.
    ///
    /// # Errors
    /// The sessions that serve do not run.
    fn contest(
        &self,
        rival: &Rival,
        shape: &Arc<RunShape>,
        frames: usize,
        stop: &Stop,
    ) -> Result<Option<Outcome>, InferenceError> {
        let counters = Arc::<Counters>::default();
        let sessions =
            Sessions { backend: &*rival.backend, config: &rival.config, counters: &counters, stop };
        let first = self.first_session()?;
        let mut whole = OnNoise::new(sessions, shape, self.batch, &**lock(first))?;
        let mut alone = OnNoise::new(sessions, shape, frames, &**lock(first))?;
        let measured = (|| {
            let expected =
                search::Bench::outputs(&mut whole, &mut **lock(first)).map_err(Failure::Reference)?;
            let candidate = rival.session(&counters);
            let mut candidate = candidate.map_err(Failure::Candidate)?;
            candidate.reserve(self.batch);
            let found = search::Bench::outputs(&mut whole, candidate.as_mut()).map_err(Failure::Candidate)?;
            search::agree(&expected, &found, rival.tolerance()).map_err(Failure::Different)?;
            timed(&mut alone, first, candidate.as_mut())
        })();
        let outcome = match measured {
            _ if stop.is_set() => return Ok(None),
            Ok(times) => Ok(times),
            Err(Failure::Reference(e)) => return Err(e),
            Err(Failure::Candidate(e)) if e.is_memory() => {
                gst::info!(CAT, "there is not enough memory to measure {}: {e}", rival.name());
                return Ok(None);
            }
            Err(Failure::Candidate(e)) => Err(Refusal::Fails(e)),
            Err(Failure::Different(why)) => Err(Refusal::Differs(why)),
        };
        Ok(Some(outcome))
    }

    /// Opens as many sessions as serve, warms them up for all shapes in use, and has them serve from then on. Returns how long a run
    /// of a whole batch takes now; nothing where `stop` is set.
    ///
    /// # Errors
    /// The new sessions do not run. Those in use go on serving.
    fn replace_all(&self, rival: &Rival, stop: &Stop) -> Result<Option<Duration>, InferenceError> {
        // Its work until it serves is counted for no element.
        let counters = Arc::<Counters>::default();
        let open = |_| {
            let mut session = rival.session(&counters)?;
            session.reserve(self.batch);
            Ok(Arc::new(Mutex::new(session)))
        };
        let next: Vec<SharedSession> =
            self.sessions.iter().map(open).collect::<Result<_, InferenceError>>()?;
        let took = self.replace(next, stop, || {
            self.variant.serve_on(rival.provider());
            *lock(&self.variant.name) = PLAIN;
            *lock(&self.counters) = Arc::clone(&counters);
            // What ONNX Runtime had taken goes with its sessions.
            self.taken.store(0, Ordering::Relaxed);
        })?;
        let Some(took) = took else { return Ok(None) };
        gst::info!(CAT, "the model runs on {} from now on", rival.name());
        Ok(Some(took))
    }
}

/// Why there are no times.
enum Failure {
    /// What serves does not run.
    Reference(InferenceError),
    /// The rival does not.
    Candidate(InferenceError),
    /// The outputs differ.
    Different(String),
}

/// The median times of a frame in the session that serves and in the candidate.
fn timed(
    bench: &mut OnNoise<'_>,
    serving: &SharedSession,
    candidate: &mut dyn Session,
) -> Result<[Duration; 2], Failure> {
    use search::Bench as _;
    let began = Instant::now();
    let mut times = [const { Vec::new() }; 2];
    bench.outputs(candidate).map_err(Failure::Candidate)?;
    while times[0].len() < search::TIMED && (times[0].len() < LEAST_TIMED || began.elapsed() < LONGEST) {
        {
            // Both runs have the cores of this session's worker, which waits meanwhile, and compete with the other workers.
            let mut serving = lock(serving);
            times[0].push(bench.time(&mut **serving).map_err(Failure::Reference)?);
            times[1].push(bench.time(candidate).map_err(Failure::Candidate)?);
        }
        // The worker gets its session only where the lock stays free for longer than it takes to wake up.
        std::thread::sleep(GAP);
    }
    Ok(times.map(search::median))
}
