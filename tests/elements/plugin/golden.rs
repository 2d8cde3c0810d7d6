//! Each pipeline file's results, compared with those in tests/golden/results, which are the same on every CPU and with every GStreamer.
//! `UPDATE_GOLDEN=1` writes them again: look at what has changed before it is committed.

use cudainfer_tests::golden::{ON_CPU, left_over, names, outcome};

#[test]
fn every_pipeline_file_makes_the_golden_records_and_frames() {
    let mut wrong = Vec::new();
    for name in names() {
        let made = outcome(&name, Some("cpu"));
        assert!(made.frames.iter().all(|frames| !frames.is_empty()), "{name} makes no frames");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            made.write(&name);
        }
        wrong.extend(made.differences(&name, ON_CPU));
        wrong.extend(made.other_frames(&name));
    }
    assert!(wrong.is_empty(), "UPDATE_GOLDEN=1 writes these if they are right:\n{}", wrong.join("\n"));
    assert_eq!(left_over(), [""; 0], "golden files without a pipeline");
}
