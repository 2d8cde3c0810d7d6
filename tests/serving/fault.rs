//! A stream that fails harms no other stream, not even in the same batch.

use gst::prelude::*;
use gstcudainfer::meta::tensor::TensorSet;

use cudainfer_tests::stream::{Stream, together};

/// Three streams whose frames come together in batches.
fn three(model_name: &str, instance: &str) -> [Stream; 3] {
    [(); 3].map(|()| {
        let stream = Stream::new(
            model_name,
            &format!("instance={instance} batch-size=3 batch-timeout=10000000000 max-in-flight=4 workers=1"),
        );
        stream.begin();
        stream
    })
}

/// Pushes a frame into each stream, and waits for those of the streams in `live`.
fn round(streams: &[Stream], number: u64, live: &[usize]) {
    let before: Vec<_> = streams.iter().map(|stream| stream.frames().len()).collect();
    for stream in streams {
        let _ = stream.try_push(number);
    }
    for index in live {
        streams[*index].wait_for(before[*index] + 1);
    }
}

#[test]
fn a_frame_without_its_tensor_fails_alone() {
    let _together = together();
    let streams = three("detector-batch", "stripped");
    round(&streams, 0, &[0, 1, 2]);
    streams[1].pipeline.element("pre").static_pad("src").unwrap().add_probe(
        gst::PadProbeType::BUFFER,
        |_, info| {
            if let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data {
                TensorSet::take(buffer.make_mut());
            }
            gst::PadProbeReturn::Ok
        },
    );
    round(&streams, 1, &[0, 2]);
    streams[1].pipeline.wait().fails_with(&["infer: a frame came without a tensor", "3x64x64"]);
    streams[1].pipeline.stop();
    // Batches do not wait for frames of the stream that has left.
    (2..6).for_each(|number| {
        for stream in [&streams[0], &streams[2]] {
            stream.push(number);
        }
    });
    for stream in [&streams[0], &streams[2]] {
        stream.end();
        assert_eq!(stream.numbers(), (0..6).collect::<Vec<_>>());
        assert_eq!(stream.said(), [""; 0]);
    }
    assert_eq!(streams[1].numbers(), [0]);
}

#[test]
fn a_frame_on_which_the_model_fails_does_so_alone() {
    let _together = together();
    let streams = three("detector-fails-on-bright", "bright");
    round(&streams, 0, &[0, 1, 2]);
    let filled = |stream: &Stream| (stream.count("batches"), stream.count("batched-frames"));
    assert_eq!(filled(&streams[0]), (1, 3), "they come in one batch");
    let mut white = gst::Buffer::from_mut_slice([255u8; 8 * 8 * 3]);
    white.get_mut().unwrap().set_pts(gst::ClockTime::from_mseconds(10));
    streams[0].push(1);
    let _ = streams[1].pad.push(white);
    streams[2].push(1);
    streams[0].wait_for(2);
    streams[2].wait_for(2);
    streams[1].pipeline.wait().fails_with(&["infer: ", "failed to run the model", "Gather"]);
    // The stream that failed still exists and sends nothing more; it does not hold up the others, whose batches run at their ends
    // at the latest.
    for stream in [&streams[0], &streams[2]] {
        stream.push(2);
        stream.end();
        assert_eq!(stream.numbers(), [0, 1, 2]);
        assert_eq!(stream.said(), [""; 0]);
    }
}

#[test]
fn a_model_that_fails_in_batches_only_costs_no_frame() {
    let _together = together();
    // Frames of one stream: those before and after the bright one come through, up to the error.
    let stream = Stream::new(
        "detector-fails-on-bright",
        "batch-size=4 batch-timeout=10000000000 max-in-flight=8 workers=1",
    );
    stream.begin();
    (0..2).for_each(|number| stream.push(number));
    let mut white = gst::Buffer::from_mut_slice([255u8; 8 * 8 * 3]);
    white.get_mut().unwrap().set_pts(gst::ClockTime::from_mseconds(20));
    let _ = stream.pad.push(white);
    let _ = stream.try_push(3);
    stream.wait_for(2);
    stream.pipeline.wait().fails_with(&["Gather"]);
    assert_eq!(stream.numbers(), [0, 1]);
}
