//! Batches fill, and a frame's results do not depend on who was in its batch.

use cudainfer_tests::{buffers, model, run, scratch};
use gstcudainfer::meta::tensor::TensorSet;

use cudainfer_tests::stream::{Busy, NEVER, Stream, together};

/// The records of 40 moving pictures.
fn records(model_name: &str, properties: &str) -> String {
    let path = scratch("records").join("records.jsonl");
    run(&format!(
        "videotestsrc num-buffers=40 pattern=smpte animation-mode=frames foreground-color=0xffff0000 \
         ! video/x-raw,format=RGB,width=40,height=30,framerate=25/1 ! videobalance name=b hue=0.2 \
         ! fusedpreproc ! trtinfer model={} {properties} ! gpunms confidence=0.2 ! tracker \
         ! inferpublish location={} ! fakesink",
        model(model_name),
        path.display()
    ))
    .succeeds();
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        // These fields differ between runs.
        ["id", "source", "time"].iter().for_each(|key| drop(record.as_object_mut().unwrap().remove(*key)));
        record.to_string() + "\n"
    });
    lines.collect()
}

#[test]
fn results_are_those_of_each_frame_alone_whatever_the_batches_are() {
    let _together = together();
    let alone = records("detector-batch", "batch-size=1 workers=1");
    assert_eq!(alone.lines().count(), 40);
    assert!(alone.contains("\"red\"") && alone.contains("\"blue\""), "{alone}");
    for properties in [
        "batch-size=2 batch-timeout=20000000",
        "batch-size=7 batch-timeout=20000000 max-in-flight=20 workers=1",
        "batch-size=8 workers=3",
    ] {
        assert_eq!(records("detector-batch", properties), alone, "{properties}");
    }
    // The batch always has four rows, of which the last are empty if frames are missing.
    for properties in ["", "batch-size=4 batch-timeout=20000000", "batch-size=3", "batch-size=1", "workers=1"]
    {
        assert_eq!(records("detector-fixed-batch", properties), alone, "{properties}");
    }
}

#[test]
fn a_batch_brings_each_frame_its_own_constants_and_shares_those_that_all_have() {
    let _together = together();
    for properties in ["batch-size=1", "batch-size=4 batch-timeout=20000000 max-in-flight=8"] {
        let frames = buffers(&format!(
            "videotestsrc num-buffers=9 pattern=red ! video/x-raw,format=RGB,width=24,height=16 ! fusedpreproc \
             ! trtinfer model={} {properties} ! fakesink name=out",
            model("constants-batch")
        ));
        assert_eq!(frames.len(), 9);
        for frame in &frames {
            let set = &TensorSet::of(frame).unwrap()[0];
            let values = |name: &str| {
                let tensor = set.tensors.iter().find(|t| t.desc.name == name).unwrap();
                assert_eq!(tensor.desc.dims[0], Some(1), "{name}: a frame's part has one row");
                tensor.map().unwrap().view().unwrap().to_f32().into_owned()
            };
            assert!(values("scaled").iter().zip([2.0, 0.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-5));
            let size = set.tensors.iter().find(|t| t.desc.name == "size_again").unwrap();
            let map = size.data.map_readable().unwrap();
            let numbers: Vec<i64> =
                map.as_slice().chunks_exact(8).map(|b| i64::from_ne_bytes(b.try_into().unwrap())).collect();
            assert_eq!(numbers, [16, 24]);
        }
    }
}

/// Runs with a frame of any of these streams, and frames of those runs.
fn filled(streams: &[Stream]) -> f64 {
    let sum = |field: &str| streams.iter().map(|stream| stream.count(field)).sum::<u64>() as f64;
    sum("batched-frames") / sum("batches")
}

#[test]
fn one_stream_fills_batches_by_itself_and_counts_them() {
    let _together = together();
    for (model_name, properties) in
        [("detector-batch", "batch-size=4 max-in-flight=16"), ("detector-fixed-batch", "max-in-flight=16")]
    {
        let stream = Stream::new(model_name, &format!("{properties} batch-timeout={NEVER}"));
        stream.begin();
        (0..42).for_each(|number| stream.push(number));
        stream.end();
        // Ten full batches, and the rest at the end.
        assert_eq!((stream.count("batches"), stream.count("batched-frames")), (11, 42), "{model_name}");
        assert_eq!(stream.count("batch-limit"), 4);
        assert_eq!(stream.count("step-downs"), 0);
    }
}

#[test]
fn four_streams_fill_the_batches_of_the_model_that_they_share() {
    let _together = together();
    const FRAMES: u64 = 48;
    for properties in ["workers=1", "workers=2 max-in-flight=2"] {
        let properties = format!("instance=files batch-size=4 batch-timeout={NEVER} {properties}");
        let streams: Vec<_> = (0..4).map(|_| Stream::new("detector-batch", &properties)).collect();
        streams.iter().for_each(Stream::begin);
        for number in 0..FRAMES {
            streams.iter().for_each(|stream| stream.push(number));
        }
        for stream in &streams {
            stream.end();
            assert_eq!(stream.numbers(), (0..FRAMES).collect::<Vec<_>>(), "{properties}");
        }
        assert_eq!(filled(&streams), 4.0, "{properties}");
    }
}

#[test]
fn frames_gather_while_the_model_is_busy() {
    let _together = together();
    let properties = "instance=gather batch-size=4 workers=1 max-in-flight=2";
    let streams: Vec<_> = (0..4).map(|_| Stream::new("detector-batch", properties)).collect();
    let busy = Busy::new("detector-batch", properties);
    streams.iter().for_each(Stream::begin);
    busy.send();
    busy.wait();
    for number in 0..2 {
        streams.iter().for_each(|stream| stream.push(number));
    }
    busy.release();
    for stream in &streams {
        stream.end();
        assert_eq!((stream.count("batches"), stream.count("batched-frames")), (2, 8));
    }
}

#[test]
fn a_partial_batch_goes_at_the_deadline() {
    let _together = together();
    let stream = Stream::new("detector-batch", "batch-size=8 batch-timeout=50000000 max-in-flight=16");
    stream.begin();
    for round in 0..3 {
        // No frame follows, so only the deadline makes the batch run.
        stream.push(round);
        stream.wait_for(usize::try_from(round + 1).unwrap());
    }
    assert_eq!((stream.count("batches"), stream.count("batched-frames")), (3, 3));
}

#[test]
fn enough_frames_go_before_the_deadline() {
    let _together = together();
    let stream = Stream::new(
        "detector-batch",
        "batch-size=8 min-batch-size=3 batch-timeout=30000000000 max-in-flight=16 workers=1",
    );
    stream.begin();
    for round in 0..3u64 {
        (3 * round..3 * round + 3).for_each(|number| stream.push(number));
        stream.wait_for(usize::try_from(3 * round + 3).unwrap());
    }
    assert_eq!((stream.count("batches"), stream.count("batched-frames")), (3, 9));
}
