//! A scenario with many faults, and what they came to.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::fault::{Fault, faults_of};
use crate::process;
use crate::scenario::Scenario;
use crate::seam::{Seam, watch};
use crate::stage::Stage;
use crate::trial::{Outcome, Tormented, Trial};

/// Set where all faults are tried with each n; else one fault of each seam is, with one n.
const EVERY: &str = "CUDAINFER_TORTURE_EVERY";
/// The seed that chooses n. Without it, it is another one each time.
const SEED: &str = "CUDAINFER_TORTURE_SEED";
/// Parts of the names of seams that are tried alone, with commas between.
const ONLY: &str = "CUDAINFER_TORTURE_SEAMS";
/// The one n that is tried.
const NUMBER: &str = "CUDAINFER_TORTURE_N";
/// Calls of one kind that are looked at in one run, at most.
const MOST: u64 = 400;
/// What a trial may leave in memory on average, in KiB, where there are enough of them: below a session, a frame, or its tensors.
const GROWTH: usize = 64;
const ENOUGH: usize = 40;

/// What the faults of one kind came to.
#[derive(Debug, Default)]
struct Row {
    tried: usize,
    errors: usize,
    warnings: usize,
    unharmed: usize,
    broken: Vec<String>,
    longest: Duration,
}

impl Row {
    fn add(&mut self, what: &str, Trial { outcome, took, .. }: &Trial) {
        match outcome {
            Outcome::NotReached => return,
            Outcome::Error(_) => self.errors += 1,
            Outcome::Warning(_) => self.warnings += 1,
            Outcome::Unharmed => self.unharmed += 1,
            Outcome::Broken(why) => self.broken.push(format!("{what}: {why}")),
        }
        self.tried += 1;
        self.longest = self.longest.max(*took);
    }
}

/// Tries faults in a scenario, whose files lie below `folder`: one of each seam, or where `CUDAINFER_TORTURE_EVERY` is set all. Prints a line for
/// each, and one for each kind of faults, which begins with `torture:`. Where the kernel cannot ask, nothing is tried, and a line
/// reports it.
///
/// # Panics
/// A fault broke a promise, or the scenario does not work without any.
pub fn torture(scenario: impl Scenario, folder: &Path) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let stage = match Stage::get() {
        Ok(stage) => stage,
        Err(why) => {
            let required = std::env::var_os("CUDAINFER_TEST_ALL").is_some();
            assert!(!required, "the kernel has no filter that asks (seccomp, Linux 5.5): {why}");
            println!("left out: the kernel has no filter that asks (seccomp, Linux 5.5): {why}");
            return;
        }
    };
    watch(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let (name, seams) = (scenario.name(), scenario.seams());
    let variable = |name: &str| std::env::var(name).ok();
    let seed = variable(SEED).and_then(|text| text.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    let mut random = fastrand::Rng::with_seed(seed);
    let (only, every) = (variable(ONLY).unwrap_or_default(), variable(EVERY).is_some());
    let one = variable(NUMBER).and_then(|text| text.parse::<u64>().ok());
    println!("# {name}: {SEED}={seed}");
    let tormented = Tormented::start(stage, scenario, folder).unwrap_or_else(|why| panic!("{name}: {why}"));
    let counted: Vec<(Seam, u64)> = seams.iter().map(|seam| (*seam, seam.calls())).collect();
    let (mut broken, mut trials, before) = (Vec::new(), 0, process::memory_in_use());
    for (seam, calls) in counted {
        if !only.is_empty() && !only.split(',').any(|part| seam.name() == part) {
            continue;
        }
        let all = faults_of(seam);
        let faults = if every || one.is_some() { all } else { one_of(all, &mut random) };
        for (form, error) in faults {
            let (mut row, mut number) = (Row::default(), 1);
            let chosen = one.unwrap_or_else(|| random.u64(1..=calls.max(1)));
            let mut fault = Fault { seam, first: number, form: *form, error: *error };
            while number <= MOST {
                fault.first = if every { number } else { chosen };
                let trial = tormented.try_fault(&fault);
                let what = format!("{name} {} {} n={}", seam.name(), fault.name(), fault.first);
                println!("{what} ({}) {}", trial.site, line(&trial));
                row.add(&what, &trial);
                number += 1;
                if trial.outcome == Outcome::NotReached || !every {
                    break;
                }
            }
            println!(
                "torture: {name} {} {} {calls} {} {} {} {} {} {:.1}",
                seam.name(),
                fault.name(),
                row.tried,
                row.errors,
                row.warnings,
                row.unharmed,
                row.broken.len(),
                row.longest.as_secs_f64()
            );
            trials += row.tried;
            broken.extend(row.broken);
        }
    }
    let growth = process::memory_in_use().saturating_sub(before) / trials.max(1);
    println!("# {name}: {growth} KiB a fault stay in memory, of {trials} faults");
    if trials >= ENOUGH && growth > GROWTH {
        broken.push(format!("{name}: {growth} KiB a fault stay in memory"));
    }
    assert!(broken.is_empty(), "{SEED}={seed} repeats it\n{}", broken.join("\n"));
}

/// One of these, by chance.
fn one_of<'a, T>(all: &'a [T], random: &mut fastrand::Rng) -> &'a [T] {
    let place = random.usize(..all.len().max(1));
    all.get(place..=place).unwrap_or_default()
}

/// What became of a fault, in a line.
fn line(trial: &Trial) -> String {
    let (word, sentence) = match &trial.outcome {
        Outcome::NotReached => return "not reached".to_owned(),
        Outcome::Error(sentence) => ("ERROR", sentence.as_str()),
        Outcome::Warning(sentence) => ("WARNING", sentence.as_str()),
        Outcome::Unharmed => ("unharmed", ""),
        Outcome::Broken(sentence) => ("BROKEN", sentence.as_str()),
    };
    format!("{} ms {word} {}", trial.took.as_millis(), sentence.replace('\n', " "))
}
