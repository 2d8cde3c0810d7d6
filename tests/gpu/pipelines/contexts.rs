//! Frames of a CUDA context that is not ours.

use super::*;

/// The objects that `pipeline` finds on frames of `source`, which is another pipeline; and the stats of its element `name`.
fn found_in_two_pipelines(source: &str, pipeline: &str, name: &str) -> (Vec<Vec<Object>>, gst::Structure) {
    let theirs = TestPipeline::new(&format!("{source} ! appsink name=theirs sync=false"));
    let ours = TestPipeline::new(&format!("appsrc name=in format=time ! {pipeline} ! fakesink name=out"));
    let sink = theirs.element("theirs");
    let pull = || sink.emit_by_name::<Option<gst::Sample>>("pull-sample", &[]);
    let frames = ours.collect("out");
    theirs.play();
    let input = ours.element("in");
    let mut sample = pull();
    input.set_property("caps", sample.as_ref().unwrap().caps_owned().unwrap());
    ours.play();
    while let Some(frame) = sample {
        let _ = input.emit_by_name::<gst::FlowReturn>("push-buffer", &[&frame.buffer_owned().unwrap()]);
        sample = pull();
    }
    let _ = input.emit_by_name::<gst::FlowReturn>("end-of-stream", &[]);
    ours.wait().succeeds();
    let found = frames.lock().unwrap().iter().map(|buffer| objects(buffer)).collect();
    (found, ours.element(name).property("stats"))
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_of_a_decoders_own_context_give_the_same_and_are_neither_copied_nor_waited_for() {
    let pipeline = format!(
        "fusedpreproc name=p ! trtinfer model={} provider=cuda ! gpunms",
        fetched("models/nanodet.onnx")
    );
    // In a pipeline of its own, the decoder finds nobody to share a context with.
    let (found, stats) = found_in_two_pipelines(&decoded(60), &pipeline, "p");
    let same = self::found(&format!("{} ! {pipeline} ! fakesink name=out", decoded(60)));
    assert!(found.iter().map(Vec::len).sum::<usize>() > 200);
    assert_eq!(found.len(), same.len());
    for (frame, (found, same)) in found.iter().zip(&same).enumerate() {
        assert_eq!(found.len(), same.len(), "frame {frame}");
        for (found, same) in found.iter().zip(same) {
            assert_eq!(found.detection, same.detection, "frame {frame}");
        }
    }
    for name in ["host-waits", "fallbacks", "peer-copies", "device-to-device-bytes"] {
        assert_eq!(stats.get::<u64>(name), Ok(0), "{name}");
    }
}
