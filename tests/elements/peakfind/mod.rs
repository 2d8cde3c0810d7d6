//! The element peakfind: points, and the objects to which they belong.

mod grouping;
mod keypoints;
mod labs;
mod lanes;
mod sleap_nn;

use cudainfer_tests::buffers;
use gstcudainfer::meta::object::{Object, objects};

/// The objects of each frame.
fn found(model: &str, source: &str, peakfind: &str) -> Vec<Vec<Object>> {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=2 ! {source} ! fusedpreproc ! trtinfer model={model} ! peakfind {peakfind} \
         ! fakesink name=out"
    ));
    frames.iter().map(|frame| objects(frame)).collect()
}
