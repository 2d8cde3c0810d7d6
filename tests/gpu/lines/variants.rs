//! The ways to run a model.

use super::*;

/// The objects of each frame, the INFO messages, and the variant that the model ran as.
fn run_as(options: &str) -> (Vec<Vec<Object>>, Vec<String>, String) {
    let line = Line::new(&format!(
        "videotestsrc num-buffers=8 pattern=ball ! video/x-raw,format=NV12,width=640,height=480 ! cudainferupload \
         ! fusedpreproc device=cuda ! trtinfer name=t provider=cuda model={} {options} ! gpunms confidence=0.2 \
         ! fakesink name=out",
        fetched("models/nanodet.onnx")
    ));
    let infos = Arc::new(Mutex::new(Vec::new()));
    let said = Arc::clone(&infos);
    line.pipeline.bus().unwrap().set_sync_handler(move |_, message| {
        if let gst::MessageView::Info(info) = message.view() {
            said.lock().unwrap().push(info.error().to_string());
        }
        gst::BusSyncReply::Pass
    });
    let seen = line.collect("out");
    line.play();
    line.wait().succeeds();
    let variant = line.element("t").property::<Option<String>>("active-variant").unwrap();
    line.stop();
    let found = seen.lock().unwrap().iter().map(|buffer| objects(buffer)).collect();
    (found, std::mem::take(&mut *infos.lock().unwrap()), variant)
}

#[test]
#[ignore = "needs a CUDA device"]
fn ways_to_run_a_model_are_timed_at_the_first_start_only_and_give_the_defaults_results() {
    let cache = scratch("engine-search");
    let options = format!("warm-up=complete engine-cache={}", cache.display());
    let timed =
        |infos: &[String]| infos.iter().filter(|info| info.starts_with("t: the model runs as ")).count();
    let (default, infos, variant) = run_as(&format!("{options} engine-search=off"));
    assert_eq!((timed(&infos), variant.as_str()), (0, "plain"), "{infos:?}");
    for search in ["quick", "full"] {
        let options = format!("{options} engine-search={search}");
        let (found, infos, variant) = run_as(&options);
        assert_eq!(timed(&infos), 1, "{infos:?}");
        assert!(infos.iter().any(|info| info.contains(&format!("the model runs as {variant}"))), "{infos:?}");
        assert_eq!(found.len(), default.len());
        for (found, default) in found.iter().zip(&default) {
            assert_eq!(found.len(), default.len());
            for (found, default) in found.iter().zip(default) {
                let (a, b) = (found.detection.as_ref().unwrap(), default.detection.as_ref().unwrap());
                // Sums in another order, as between the GPU and the CPU.
                assert!((a.rect.x - b.rect.x).abs() < 0.1 && (a.confidence - b.confidence).abs() < 1e-3);
            }
        }
        let (again, infos, same) = run_as(&options);
        assert_eq!((timed(&infos), same), (0, variant), "{infos:?}");
        assert_eq!(again, found, "the same variant gives the same to the bit");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_default_serves_until_the_fastest_variant_is_warm_and_going_to_null_does_not_wait_for_that() {
    let cache = scratch("upgrade");
    let options = format!("engine-cache={}", cache.display());
    // The first start measures; what it finds does not matter here.
    let (first, _, fastest) = run_as(&options);
    let line = Line::new(&format!(
        "videotestsrc is-live=true ! video/x-raw,format=NV12,width=640,height=480,framerate=30/1 ! cudainferupload \
         ! fusedpreproc device=cuda ! trtinfer name=t provider=cuda model={} {options} ! gpunms confidence=0.2 \
         ! fakesink name=out",
        fetched("models/nanodet.onnx")
    ));
    let seen = line.collect("out");
    line.play();
    until("frames come through", || seen.lock().unwrap().len() > 3);
    let variant = || line.element("t").property::<Option<String>>("active-variant").unwrap();
    until("the fastest variant serves", || variant() == fastest);
    let count = seen.lock().unwrap().len();
    until("frames go on", || seen.lock().unwrap().len() > count + 3);
    line.stop();
    // Whatever it is at when it is stopped.
    let (again, infos, _) = run_as(&options);
    assert_eq!(again.len(), first.len());
    assert!(!infos.iter().any(|info| info.contains("the model runs as ")), "{infos:?}");
}
