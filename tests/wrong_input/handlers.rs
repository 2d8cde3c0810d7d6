//! An application may look at an element, and change it, while this posts a message: no element holds a lock that it needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, filled, model, push};
use gst::prelude::*;
use gstcudainfer::meta::object::{DetectionParam, Object};

/// Reads all properties of an element, and sets those that can be set now to their present values.
fn look_at(element: &gst::Element) {
    for property in element.list_properties().iter().filter(|p| p.owner_type() == element.type_()) {
        let value = element.property_value(property.name());
        let can_be_set = glib::ParamFlags::WRITABLE.union(gst::PARAM_FLAG_MUTABLE_PLAYING);
        if property.flags().contains(can_be_set) {
            element.set_property_from_value(property.name(), &value);
        }
    }
    if glib::subclass::SignalId::lookup("reset", element.type_()).is_some() {
        element.emit_by_name::<()>("reset", &[]);
    }
}

/// Calls `handle` with the element that is called `it` in the thread that posts one of its messages. Returns how many
/// there have been.
fn on_message(
    pipeline: &TestPipeline,
    handle: impl Fn(&gst::Element, &gst::Message) + Send + Sync + 'static,
) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    pipeline.bus().unwrap().set_sync_handler(move |_, message| {
        use gst::MessageView::{Element, Error, Info, Warning};
        let source = message.src().and_then(|source| source.downcast_ref::<gst::Element>());
        if let (Some(it), Error(_) | Warning(_) | Info(_) | Element(_)) = (source, message.view())
            && it.name() == "it"
        {
            handle(it, message);
            seen.fetch_add(1, Ordering::Relaxed);
        }
        gst::BusSyncReply::Pass
    });
    count
}

#[test]
fn a_handler_may_read_and_set_properties_of_the_element_whose_message_it_gets() {
    let detector = model("detector");
    let small = "videotestsrc num-buffers=40 ! video/x-raw,format=RGB,width=64,height=64";
    let prepared = format!("{small} ! fusedpreproc");
    for text in [
        format!("{small} ! inferpublish name=it location=/dev/full ! fakesink"),
        format!("{small} ! inferpublish name=it disk-full=stop location=/dev/full ! fakesink"),
        format!("{small} ! inferpublish name=it location=/nowhere/out ! fakesink"),
        format!(
            "{small} ! capssetter caps=video/x-raw,format=RGB,width=640,height=640 ! fusedpreproc name=it ! fakesink"
        ),
        // Without a GPU, or with a file that does not exist, or with frames that are no tensors.
        format!("{prepared} ! trtinfer name=it model={detector} ! fakesink"),
        format!("{prepared} ! trtinfer name=it model=/nowhere/model.onnx ! fakesink"),
        format!("{small} ! trtinfer name=it model={detector} ! fakesink"),
        format!("{small} ! gpunms name=it ! fakesink"),
        format!("{small} ! peakfind name=it ! fakesink"),
        format!("{small} ! classify name=it ! fakesink"),
        format!("{small} ! segmask name=it ! fakesink"),
        format!("{small} ! tensormap name=it ! fakesink"),
        format!("{small} ! cudainferupload name=it device=cuda:99 ! fakesink"),
        format!("{small} ! cudainferdownload name=it device=cuda:99 ! fakesink"),
        format!("{small} ! tracker name=it embedding-output=none ! fakesink"),
        format!("{small} ! tracker name=it sigmas=none ! fakesink"),
        format!("{small} ! zonecount name=it zones=a=line:900,9,999,9 ! fakesink"),
        format!("{small} ! zonecount name=it zones=a=lime ! fakesink"),
        format!("{small} ! identify name=it threshold=50 ! fakesink"),
        format!(
            "{prepared} ! trtinfer model={detector} ! gpunms ! tracker \
             ! zonecount name=it units=fraction zones=all=polygon:0,0,1,0,1,1,0,1 ! fakesink"
        ),
        format!(
            "{prepared} ! trtinfer model={detector} ! gpunms ! zonecount name=it zones=a=line:9,9,50,9 ! fakesink"
        ),
    ] {
        let pipeline = TestPipeline::new(&text);
        let count = on_message(&pipeline, |it, _| look_at(it));
        let _ = pipeline.set_state(gst::State::Playing);
        pipeline.wait();
        pipeline.stop();
        assert!(count.load(Ordering::Relaxed) > 0, "there was no message: {text}");
    }
}

#[test]
fn a_handler_may_stop_the_element_that_fails() {
    // A thread that posts while it holds the state would wait for itself here.
    let stop = |it: &gst::Element, message: &gst::Message| {
        if let gst::MessageView::Error(_) = message.view() {
            let _ = it.set_state(gst::State::Ready);
        }
    };
    for elements in [
        "inferoverlay name=it",
        "tracker name=it embedding-output=none",
        "inferpublish name=it disk-full=stop location=/dev/full",
    ] {
        // No preroll: an error keeps a bin from going on to PLAYING, and a sink that waits for that holds the frame, for which
        // every element above waits that is stopped by itself.
        let pipeline = TestPipeline::new(&format!(
            "appsrc name=in format=time caps=video/x-raw,format=RGB,width=8,height=4,framerate=10/1 \
             ! identity name=made ! {elements} ! fakesink async=false"
        ));
        pipeline.element("made").static_pad("src").unwrap().add_probe(
            gst::PadProbeType::BUFFER,
            |_, info| {
                if let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data {
                    let rect = Rect { x: 0.0, y: 0.0, w: 4.0, h: 3.0 };
                    let detection = Some(DetectionParam { rect, confidence: 1.0, label_id: 0 });
                    Object { detection, ..Object::default() }.put(buffer.make_mut(), &rect);
                }
                gst::PadProbeReturn::Ok
            },
        );
        let count = on_message(&pipeline, stop);
        pipeline.play();
        // Shorter than its caps say.
        push(&pipeline.element("in"), filled(20, 1, 0));
        assert!(!pipeline.wait().errors.is_empty(), "{elements}");
        pipeline.stop();
        assert!(count.load(Ordering::Relaxed) > 0, "{elements}");
    }
}
