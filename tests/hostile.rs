//! Models with damaged bytes, and sizes for which there is no memory: a pipeline with them ends with an error or succeeds, and
//! never ends the process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests, which clippy does not know as such

use std::path::Path;

use cudainfer_tests::{CLOCK_LIMIT, init, model, scratch};
use gst::prelude::*;

/// How many damaged models are made of each valid one.
const MUTATIONS: u64 = 300;
/// Bytes that the process may take beyond those that it has at the start: enough for any valid model here.
const ROOM: u64 = 1 << 29;

/// SplitMix64, by Vigna: the same numbers in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }
}

/// Starts GStreamer and opens ONNX Runtime; from then on, allocations beyond [`ROOM`] fail.
fn init_and_limit_memory() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        init();
        assert!(runs(Path::new(&model("detector-batch")), "", "detector-batch"));
        limit_memory();
    });
}

fn limit_memory() {
    // Each thread may reserve some memory of its own, which counts, too: the more cores, the more of them.
    // SAFETY: the call takes numbers only.
    assert_eq!(unsafe { libc::mallopt(libc::M_ARENA_MAX, 2) }, 1);
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = status.split(' ').next().unwrap().parse().unwrap();
    let most = pages * 4096 + ROOM;
    let limit = libc::rlimit { rlim_cur: most, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the call reads the limit, which lives longer.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

/// Loads the model and runs it on a frame; returns whether that worked.
#[track_caller]
fn runs(model: &Path, preproc: &str, what: &str) -> bool {
    let description = format!(
        "videotestsrc num-buffers=1 ! video/x-raw,width=32,height=32 ! fusedpreproc device=cpu {preproc} \
         ! trtinfer provider=cpu device=cpu workers=1 engine-cache=none model={} ! fakesink",
        model.display()
    );
    end(&description, what).is_none()
}

/// Runs a pipeline to its end, or to its first error, which is returned.
#[track_caller]
fn end(description: &str, what: &str) -> Option<String> {
    let pipeline = gst::parse::launch(description).unwrap().downcast::<gst::Pipeline>().unwrap();
    let _ = pipeline.set_state(gst::State::Playing);
    let ends = [gst::MessageType::Error, gst::MessageType::Eos];
    let end = pipeline.bus().unwrap().timed_pop_filtered(CLOCK_LIMIT, &ends);
    let end = end.unwrap_or_else(|| panic!("{what} hangs"));
    pipeline.set_state(gst::State::Null).unwrap();
    match end.view() {
        gst::MessageView::Error(error) => Some(error.error().to_string()),
        _ => None,
    }
}

#[test]
fn tensors_for_which_there_is_no_memory_are_an_error_of_whoever_would_make_them() {
    init_and_limit_memory();
    let size = "width=8192 height=8192";
    let error = end(
        &format!(
            "videotestsrc num-buffers=1 ! video/x-raw,width=32,height=32 ! fusedpreproc device=cpu {size} ! fakesink"
        ),
        size,
    );
    let error = error.expect("there is memory for it");
    assert!(error.contains("no memory for the tensors"), "{error}");
    // The model is warmed up before the first tensor is made.
    let error = end(
        &format!(
            "videotestsrc num-buffers=1 ! video/x-raw,width=32,height=32 ! fusedpreproc device=cpu {size} \
             ! trtinfer provider=cpu device=cpu workers=1 engine-cache=none model={} ! fakesink",
            model("identity-dynamic")
        ),
        size,
    );
    let error = error.expect("there is memory for it");
    assert!(error.contains("not enough memory"), "{error}");
}

#[test]
fn a_model_with_other_bytes_is_refused_or_runs() {
    init_and_limit_memory();
    let folder = scratch("mutated");
    let path = folder.join("model.onnx");
    let mut random = Random(1);
    for name in ["detector-batch", "two-inputs"] {
        let right = std::fs::read(model(name)).unwrap();
        std::fs::copy(Path::new(&model(name)).with_extension("toml"), path.with_extension("toml")).unwrap();
        std::fs::write(&path, &right).unwrap();
        assert!(runs(&path, "", name), "{name} as it is does not run");
        let mut ran = 0;
        for number in 0..MUTATIONS {
            let mut bytes = right.clone();
            for _ in 0..1 + random.below(4) {
                let place = random.below(bytes.len());
                bytes[place] = u8::try_from(random.below(256)).unwrap();
            }
            std::fs::write(&path, &bytes).unwrap();
            ran += u64::from(runs(&path, "", &format!("mutation {number} of {name}")));
        }
        // Some models succeed, and some fail.
        assert!((1..MUTATIONS).contains(&ran), "{ran} of {MUTATIONS} of {name} ran");
    }
}
