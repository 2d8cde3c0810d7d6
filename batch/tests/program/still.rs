//! Pipelines that stand still, and GPUs that fail.

use crate::process::{command, command_with, ends, folder, json, names};
use crate::videos::make_one;

#[test]
fn a_video_that_stands_still_fails_and_the_others_are_done() {
    let folder = folder();
    // Its own name is how long a frame of a video takes.
    for name in ["0", "1", "4000000000"] {
        make_one(&folder.join(format!("{name}.mp4")), 0);
    }
    let arguments =
        ["--jobs", "2", "--stall", "5", "--set", "pace={name}", "4000000000.mp4", "0.mp4", "1.mp4"];
    let (code, log) = ends(&mut command(&folder, &arguments));
    assert_eq!(code, 65, "{log}");
    let failed = json(&folder, "4000000000.error.json");
    let still = "no frame has come for 5 s";
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains(still), "{error}");
    assert_eq!(failed["permanent"], false, "it is tried again by the next run");
    assert!(log.contains("2 of 3 videos complete"), "{log}");
    assert!(
        names(&folder).contains(&"0.summary.json".into())
            && names(&folder).contains(&"1.summary.json".into())
    );
}

#[test]
fn a_process_whose_pipelines_do_not_stop_ends_with_exit_code_71() {
    let folder = folder();
    let names = ["v0.mp4", "v1.mp4", "v2.mp4"];
    names.iter().for_each(|name| make_one(&folder.join(name), 0));
    let arguments = [&["--jobs", "2", "--stall", "1", "--set", "pace=4000000000"], &names[..]].concat();
    let (code, log) = ends(&mut command(&folder, &arguments));
    assert_eq!(code, 71, "{log}");
    assert!(log.contains("too many pipelines do not stop"), "{log}");
}

#[test]
fn a_fault_of_the_gpu_ends_the_process_with_exit_code_70() {
    let folder = folder();
    make_one(&folder.join("v0.mp4"), 0);
    // The words of the driver's error, in the only text of an element's error that can be chosen from here.
    let failing = [
        "! inferoverlay",
        "! tee name=t ! filesink location=/nowhere/CUDA_ERROR_LAUNCH_FAILED t. ! inferoverlay",
    ];
    let (code, log) = ends(&mut command_with(&folder, failing, &["v0.mp4"]));
    assert_eq!(code, 70, "{log}");
    assert!(
        !names(&folder).iter().any(|name| name.starts_with("v0")),
        "it is done elsewhere: {:?}",
        names(&folder)
    );
}
