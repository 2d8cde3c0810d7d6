//! Runs of a simulation: each has a seed, of which everything in it follows.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// The only seed that is run.
const SEED: &str = "CUDAINFER_SIMULATION_SEED";
/// How many are run, from 0.
const SEEDS: &str = "CUDAINFER_SIMULATION_SEEDS";

/// What happened in a run, and how often: so one sees that a simulation has what it is for.
pub type Tally = BTreeMap<&'static str, u64>;

fn set(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|e| panic!("{variable} is '{text}' and must be a number: {e}")))
}

/// Runs a simulation with the seeds from 0 to `seeds`, or as the environment says, on all cores. Prints and returns what happened.
///
/// # Panics
/// With the smallest seed that was found whose run panics.
pub fn simulate(name: &str, seeds: u64, run: impl Fn(u64) -> Tally + Sync) -> Tally {
    let range = match set(SEED) {
        Some(seed) => seed..seed + 1,
        None => 0..set(SEEDS).unwrap_or(seeds),
    };
    let (next, failed) = (AtomicU64::new(range.start), AtomicBool::new(false));
    let (tally, failures) = (Mutex::new(Tally::new()), Mutex::new(Vec::new()));
    let begun = Instant::now();
    let work = || {
        let mut own = Tally::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= range.end || failed.load(Ordering::Relaxed) {
                break;
            }
            match catch_unwind(AssertUnwindSafe(|| run(seed))) {
                Ok(happened) => {
                    happened.into_iter().for_each(|(what, count)| *own.entry(what).or_default() += count)
                }
                Err(_) => {
                    failed.store(true, Ordering::Relaxed);
                    failures.lock().unwrap_or_else(|e| e.into_inner()).push(seed);
                }
            }
        }
        let mut all = tally.lock().unwrap_or_else(|e| e.into_inner());
        own.into_iter().for_each(|(what, count)| *all.entry(what).or_default() += count);
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().unwrap_or_else(|e| e.into_inner());
    if let Some(seed) = failures.iter().min() {
        panic!("the simulation {name} fails with seed {seed}: set {SEED}={seed} to repeat it");
    }
    let tally = tally.into_inner().unwrap_or_else(|e| e.into_inner());
    println!("{name} seeds {}", range.end - range.start);
    tally.iter().for_each(|(what, count)| println!("{name} {what} {count}"));
    println!("{name} seconds {:.1}", begun.elapsed().as_secs_f64());
    tally
}
