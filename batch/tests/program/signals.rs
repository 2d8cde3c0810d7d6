//! Ending before the end.

use rustix::process::Signal;

use crate::process::{Started, command, ends, folder, names, results};
use crate::videos::{arguments, make};

#[test]
fn a_signal_drops_what_is_not_complete_and_the_next_run_does_the_rest() {
    let serial = folder();
    let all = make(&serial, 4);
    assert_eq!(ends(&mut command(&serial, &arguments(&all))).0, 0);
    for signal in [Signal::TERM, Signal::INT] {
        let folder = folder();
        make(&folder, 4);
        let mut paced = vec!["--jobs", "2", "--set", "pace=40000"];
        paced.extend(arguments(&all));
        let mut started = Started::new(&mut command(&folder, &paced));
        started.runs_until("two are complete, and others in work", || {
            let names = names(&folder);
            names.contains(&"v0.summary.json".into()) && names.iter().any(|name| name.ends_with(".part"))
        });
        started.signal(signal);
        let status = started.ends();
        assert_eq!(status.code(), Some(75), "{}", started.log());
        assert!(started.log().contains(" not done: "), "{}", started.log());
        let left = names(&folder);
        assert!(left.iter().all(|name| !name.starts_with('.')), "{left:?}");
        let whole = results(&serial);
        assert!(results(&folder).iter().all(|(name, bytes)| whole[name] == *bytes), "a result is half");
        let (code, log) = ends(&mut command(&folder, &paced));
        assert_eq!(code, 0, "{log}");
        assert!(results(&folder) == whole, "results differ");
    }
}
