//! Models whose runs have no end.

use cudainfer_tests::within;

use super::*;

#[test]
#[ignore = "needs a CUDA device"]
fn a_model_whose_runs_have_no_end_can_be_stopped() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc ! video/x-raw,format=RGB,width=24,height=16 ! cudainferupload ! fusedpreproc \
         ! trtinfer provider=cuda model={} ! fakesink",
        model("run-without-end")
    ));
    let _ = pipeline.set_state(gst::State::Playing);
    let bus = pipeline.bus().unwrap();
    until("it runs", || {
        let message = bus.pop_filtered(&[gst::MessageType::Progress]);
        let text = message.map(|message| format!("{message:?}")).unwrap_or_default();
        text.contains("warming up") || text.contains("timing ways")
    });
    let pipeline = pipeline.clone();
    within(move || pipeline.set_state(gst::State::Null).unwrap());
}
