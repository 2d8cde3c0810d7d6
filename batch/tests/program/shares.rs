//! Several processes in one folder.

use crate::process::{Started, command, ends, folder, names, results};
use crate::videos::{arguments, make};

#[test]
fn two_shares_do_every_video_once() {
    let serial = folder();
    let all = make(&serial, 5);
    assert_eq!(ends(&mut command(&serial, &arguments(&all))).0, 0);
    let shared = folder();
    make(&shared, 5);
    let mut slurm = command(&shared, &arguments(&all));
    slurm.env("SLURM_ARRAY_TASK_ID", "1").env("SLURM_ARRAY_TASK_MIN", "1").env("SLURM_ARRAY_TASK_MAX", "2");
    slurm.env("SLURM_ARRAY_TASK_COUNT", "2").env("SLURM_ARRAY_TASK_STEP", "1");
    let mut kubernetes = command(&shared, &arguments(&all));
    kubernetes.env("JOB_COMPLETION_INDEX", "1").env("JOB_COMPLETIONS", "2");
    let mut both = [Started::new(&mut slurm), Started::new(&mut kubernetes)];
    assert_eq!(both.each_mut().map(|one| one.ends().code()), [Some(0); 2]);
    let logs = both.each_ref().map(Started::log);
    assert!(
        logs[0].contains("share 0 of 2: 3 videos") && logs[1].contains("share 1 of 2: 2 videos"),
        "{logs:?}"
    );
    assert!(results(&shared) == results(&serial), "results differ");
}

#[test]
fn processes_that_get_the_same_videos_do_each_once_and_all_end_well() {
    let serial = folder();
    let all = make(&serial, 4);
    assert_eq!(ends(&mut command(&serial, &arguments(&all))).0, 0);
    let shared = folder();
    make(&shared, 4);
    let paced = [&["--jobs", "2", "--set", "pace=10000"], &arguments(&all)[..]].concat();
    let mut three = [(); 3].map(|()| Started::new(&mut command(&shared, &paced)));
    assert_eq!(three.each_mut().map(|one| one.ends().code()), [Some(0); 3]);
    let logs: String = three.iter().map(Started::log).collect();
    for name in ["v0", "v1", "v2", "v3"] {
        assert_eq!(logs.matches(&format!(" {name}: 20 frames, ")).count(), 1, "{name}: {logs}");
    }
    assert!(results(&shared) == results(&serial), "results differ");
    assert!(names(&shared).iter().all(|name| !name.starts_with('.')), "{:?}", names(&shared));
}

#[test]
fn what_another_process_leaves_undone_is_done_by_the_one_that_waits() {
    let shared = folder();
    make(&shared, 1);
    let mut first =
        Started::new(&mut command(&shared, &["v0.mp4", "--set", "pace=4000000000", "--stall", "600"]));
    first.runs_until("the video is in work", || names(&shared).contains(&".v0.part".into()));
    let mut second =
        Started::new(&mut command(&shared, &["v0.mp4", "--set", "pace=4000000000", "--stall", "1"]));
    second.waits_for("it has found that", |log| log.contains("v0 is in work by another process"));
    first.signal(rustix::process::Signal::KILL);
    first.ends();
    assert_eq!(second.ends().code(), Some(65), "{}", second.log());
    assert!(second.log().contains("v0 failed: no frame has come for 1 s"), "{}", second.log());
}
