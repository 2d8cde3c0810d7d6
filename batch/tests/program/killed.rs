//! Processes that are killed at any time, and stopped and continued.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::{Started, command, ends, folder, names, results};
use crate::videos::{arguments, make};

#[test]
fn after_any_number_of_kills_the_results_are_those_of_a_serial_run() {
    let serial = folder();
    let all = make(&serial, 8);
    assert_eq!(ends(&mut command(&serial, &[&["--jobs", "1"], &arguments(&all)[..]].concat())).0, 0);
    let whole = results(&serial);
    let killed = folder();
    make(&killed, 8);
    let paced = [&["--jobs", "3", "--set", "pace=10000"], &arguments(&all)[..]].concat();
    let mut kills = 0;
    // Each process is killed at another moment after its first video has begun, so that all steps are hit at some time.
    for round in 0..12 {
        let mut started = Started::new(&mut command(&killed, &paced));
        started.waits_for("it has begun", |log| log.contains(" at a time"));
        let end = Instant::now() + Duration::from_millis(37 * round);
        started.waits_for("the moment comes", |_| Instant::now() >= end);
        if round % 3 == 0 {
            started.signal(Signal::STOP);
            started.signal(Signal::CONT);
        }
        started.signal(Signal::KILL);
        if started.ends().code().is_some() {
            break;
        }
        kills += 1;
        for name in names(&killed).iter().filter(|name| name.ends_with(".summary.json")) {
            let stem = name.split('.').next().unwrap();
            let now = results(&killed);
            for name in [format!("{stem}.jsonl"), format!("{stem}.raw")] {
                assert!(now[&name] == whole[&name], "{name} is half, and its summary calls it complete");
            }
        }
    }
    assert!(kills > 0, "no process was killed while it worked");
    let (code, log) = ends(&mut command(&killed, &paced));
    assert_eq!(code, 0, "{log}");
    assert!(results(&killed) == whole, "results differ");
    let left = names(&killed);
    assert_eq!(left.len(), 1 + 8 * 3, "{left:?}");
}
