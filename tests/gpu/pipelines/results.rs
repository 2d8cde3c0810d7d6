//! The results of each element, compared with those on the CPU.

use super::*;

#[test]
#[ignore = "needs a CUDA device"]
fn a_pipeline_from_nvdec_finds_what_the_cpu_finds() {
    let model = fetched("models/nanodet.onnx");
    let gpu = found(&format!(
        "{} ! fusedpreproc device=cuda ! trtinfer model={model} provider=cuda ! gpunms device=cuda ! tracker \
         ! fakesink name=out",
        decoded(60)
    ));
    let cpu = found(&format!(
        "{} ! cudainferdownload ! fusedpreproc device=cpu ! trtinfer model={model} provider=cpu ! gpunms ! tracker \
         ! fakesink name=out",
        decoded(60)
    ));
    assert_eq!(gpu.len(), cpu.len());
    let total: usize = cpu.iter().map(Vec::len).sum();
    assert!(total > 200, "people are in the picture: {total}");
    for (frame, (gpu, cpu)) in gpu.iter().zip(&cpu).enumerate() {
        assert_eq!(gpu.len(), cpu.len(), "frame {frame}");
        for (gpu, cpu) in gpu.iter().zip(cpu) {
            let (a, b) = (gpu.detection.as_ref().unwrap(), cpu.detection.as_ref().unwrap());
            // cuDNN and the CPU add up in other orders: a few units in the last place of float32, times strides of 32
            // pixels and frames that are five times as large as the tensor.
            let far = [a.rect.x - b.rect.x, a.rect.y - b.rect.y, a.rect.w - b.rect.w, a.rect.h - b.rect.h];
            assert!(far.iter().all(|d| d.abs() < 0.1), "frame {frame}: {a:?} is not {b:?}");
            assert!((a.confidence - b.confidence).abs() < 1e-3, "frame {frame}: {a:?} is not {b:?}");
            assert_eq!(gpu.label, cpu.label);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn peaks_are_those_of_the_cpu() {
    let model = fetched("models/posenet.onnx");
    let points = |path: &str, device: &str| {
        found(&format!(
            "{} {path} ! fusedpreproc device={device} ! trtinfer model={model} provider=cuda ! peakfind device={device} \
             ! fakesink name=out",
            decoded(20)
        ))
    };
    let (gpu, cpu) = (points("", "cuda"), points("! cudainferdownload", "cpu"));
    // Frames that are in flight at identity's end still pass, so there may be more than 20.
    assert!(gpu.len() >= 20 && gpu.len() == cpu.len());
    for (gpu, cpu) in gpu.iter().flatten().zip(cpu.iter().flatten()) {
        let (a, b) = (gpu.keypoints.as_ref().unwrap(), cpu.keypoints.as_ref().unwrap());
        assert_eq!(a.names, b.names);
        let far = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far(&a.x, &b.x) < 0.2 && far(&a.y, &b.y) < 0.2, "{a:?} is not {b:?}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn keypoints_without_maps_and_integer_inputs_are_those_of_the_cpu() {
    for name in [
        "simcc",
        "simcc-unnamed",
        "movenet",
        "movenet-uint8",
        "movenet-people",
        "regressed",
        "hand",
        "landmarks",
        "people-scored",
        "heat-maps-udp",
        "tags",
        "superpoint",
        "lanes-cells",
        "lanes-anchors",
        "lanes-lines",
    ] {
        let points = |upload: &str, device: &str| {
            found(&format!(
                "videotestsrc num-buffers=4 pattern=white ! video/x-raw,format=RGBA,width=320,height=240 {upload} \
                 ! fusedpreproc device={device} ! trtinfer model={} provider=cuda ! peakfind device={device} \
                 ! fakesink name=out",
                model(name)
            ))
        };
        let (gpu, cpu) = (points("! cudainferupload", "cuda"), points("", "cpu"));
        assert_eq!((gpu.len(), cpu.len()), (4, 4), "{name}");
        for (gpu, cpu) in gpu.iter().zip(&cpu) {
            assert!(!gpu.is_empty() && gpu.len() == cpu.len(), "{name}");
            for (gpu, cpu) in gpu.iter().zip(cpu) {
                assert_eq!(gpu.detection.is_some(), cpu.detection.is_some(), "{name}");
                let (a, b) = (gpu.keypoints.as_ref().unwrap(), cpu.keypoints.as_ref().unwrap());
                assert_eq!((&a.names, a.x.len()), (&b.names, b.x.len()), "{name}");
                let far =
                    |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                // float32's precision, of a score that is a mean, too.
                let near = far(&a.x, &b.x) < 1e-3 && far(&a.y, &b.y) < 1e-3 && far(&a.score, &b.score) < 1e-3;
                assert!(near, "{name}: {a:?} is not {b:?}");
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn masks_are_those_of_the_cpu_and_nothing_waits_until_they_are_read() {
    let run = |upload: &str, device: &str| {
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc num-buffers=20 pattern=chroma-zone-plate kx2=20 ky2=20 kt=1 \
             ! video/x-raw,format=RGBA,width=120,height=80 {upload} ! fusedpreproc device={device} \
             ! trtinfer model={} provider={device} ! segmask name=m device={device} size=frame closing=1 min-area=3 \
             ! fakesink name=out",
            model("masks-smooth")
        ));
        let seen = pipeline.collect("out");
        pipeline.play();
        pipeline.wait().succeeds();
        let waits = || {
            let stats = pipeline.element("m").property::<gst::Structure>("stats");
            stats.get::<u64>("host-waits").unwrap()
        };
        let before = waits();
        let read = |frame: &gst::Buffer| mask::masks(frame)[0].data.map_readable().unwrap().to_vec();
        let found: Vec<_> = seen.lock().unwrap().iter().map(read).collect();
        (found, before, waits())
    };
    let (gpu, before, after) = run("! cudainferupload", "cuda");
    assert_eq!((before, after), (0, 20));
    let (cpu, ..) = run("", "cpu");
    assert_eq!((gpu.len(), cpu.len()), (20, 20));
    let (gpu, cpu) = (gpu.concat(), cpu.concat());
    // Red and green are the same everywhere, the first of them counts.
    assert!([0, 2].iter().all(|class| cpu.contains(class)), "red and blue are in the picture");
    // Where red and blue are equal, the last bit of the tensor decides.
    let other = gpu.iter().zip(&cpu).filter(|(a, b)| a != b).count();
    assert!(gpu.len() == cpu.len() && other * 1000 <= cpu.len(), "{other} of {} differ", cpu.len());
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_in_gpu_memory_get_their_alpha_channel_there_and_become_gray_in_system_memory() {
    let pipeline_of = |output: &str, upload: &str, download: &str, device: &str| {
        buffers(&format!(
            "videotestsrc num-buffers=10 pattern=chroma-zone-plate kx2=20 ky2=20 kt=1 \
             ! video/x-raw,format=RGBA,width=120,height=80 {upload} ! fusedpreproc device={device} \
             ! trtinfer model={} provider={device} ! tee name=t t. ! queue ! fakesink \
             t. ! queue ! segmask output={output} {download} ! video/x-raw ! fakesink name=out",
            model("mask-red")
        ))
    };
    for (output, download) in [("alpha", "! cudainferdownload"), ("gray", "")] {
        let gpu = pipeline_of(output, "! cudainferupload", download, "cuda");
        let cpu = pipeline_of(output, "", "", "cpu");
        assert_eq!((gpu.len(), cpu.len()), (10, 10));
        for (gpu, cpu) in gpu.iter().zip(&cpu) {
            let (gpu, cpu) = (gpu.map_readable().unwrap(), cpu.map_readable().unwrap());
            assert_eq!(gpu.len(), cpu.len());
            // A last bit of the tensor may round the other way.
            assert!(gpu.iter().zip(cpu.iter()).all(|(a, b)| a.abs_diff(*b) <= 1), "{output}");
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn maps_and_pictures_are_those_of_the_cpu() {
    let pipeline_of = |name: &str, properties: &str, upload: &str, device: &str| {
        buffers(&format!(
            "videotestsrc num-buffers=10 pattern=chroma-zone-plate kx2=20 ky2=20 kt=1 \
             ! video/x-raw,format=RGBA,width=120,height=90 {upload} ! fusedpreproc device={device} \
             ! trtinfer model={} provider={device} ! tensormap device={device} {properties} ! fakesink name=out",
            model(name)
        ))
    };
    // A last bit of the tensor may move a sample of 16 bits by one, and of 8 bits across a half.
    for (name, properties, bytes) in [
        ("map-depth", "output=gray16", 2),
        ("map-bare", "output=gray16 size=model range=frame", 2),
        ("map-half", "output=gray16", 2),
        ("picture-twice", "output=rgb", 1),
        ("picture-bytes", "output=rgb size=frame", 1),
        ("map-density", "", 1),
        ("map-flow", "", 1),
    ] {
        let gpu = pipeline_of(name, properties, "! cudainferupload", "cuda");
        let cpu = pipeline_of(name, properties, "", "cpu");
        assert_eq!((gpu.len(), cpu.len()), (10, 10), "{name}");
        for (gpu, cpu) in gpu.iter().zip(&cpu) {
            let samples = |frame: &gst::Buffer| -> Vec<u16> {
                let sample = |b: &[u8]| b.iter().rev().fold(0, |all, b| all << 8 | u16::from(*b));
                frame.map_readable().unwrap().chunks(bytes).map(sample).collect()
            };
            // In half precision a step is up to 1/2048 of the value.
            let most = if name == "map-half" { 65535 / 1024 } else { 1 };
            // Without an output the frames are the source's, whose rows have padding on the GPU.
            let made = !properties.is_empty();
            let [a, b] = [gpu, cpu].map(|frame| if made { samples(frame) } else { Vec::new() });
            assert!(a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.abs_diff(*b) <= most), "{name}");
            let [on_gpu, on_cpu] = [gpu, cpu].map(|frame| gstcudainfer::meta::map::maps(frame));
            assert_eq!(on_gpu.len(), on_cpu.len(), "{name}");
            for (gpu, cpu) in on_gpu.iter().zip(&on_cpu) {
                assert_eq!((gpu.rect, gpu.width, gpu.non_finite), (cpu.rect, cpu.width, cpu.non_finite));
                // Halves add up exactly in any order.
                assert!(name != "map-density" || gpu.sum.is_some() && gpu.sum == cpu.sum, "{gpu:?}");
                let (gpu, cpu) = (gpu.min_mean_max.unwrap(), cpu.min_mean_max.unwrap());
                assert!(gpu.iter().zip(cpu).all(|(a, b)| (a - b).abs() < 1e-2), "{name}: {gpu:?} {cpu:?}");
            }
        }
    }
    // One wait a frame, for the map's numbers; no frame is made.
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=20 ! video/x-raw,format=RGBA,width=120,height=80 ! cudainferupload ! fusedpreproc \
         ! trtinfer model={} provider=cuda ! tensormap name=m ! fakesink",
        model("map-depth")
    ));
    pipeline.play();
    pipeline.wait().succeeds();
    let stats = pipeline.element("m").property::<gst::Structure>("stats");
    assert_eq!((stats.get::<u64>("host-waits"), stats.get::<u64>("launches")), (Ok(20), Ok(40)), "{stats}");
    assert_eq!(stats.get::<u64>("device-to-host-bytes"), Ok(20 * 40), "{stats}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn looks_and_the_camera_on_the_gpu_give_the_cpus_tracks() {
    let tracker = "tracker algorithm=botsort appearance=histogram camera-motion=true";
    let pipeline = TestPipeline::new(&format!(
        "{} ! fusedpreproc ! trtinfer model={} ! gpunms ! tee name=t \
         t. ! queue ! {tracker} name=gpu ! fakesink name=a async=false \
         t. ! queue ! cudainferdownload ! {tracker} name=cpu ! fakesink name=b async=false",
        decoded(60),
        fetched("models/nanodet.onnx")
    ));
    let seen = ["a", "b"].map(|name| pipeline.collect(name));
    pipeline.play();
    pipeline.wait().succeeds();
    let tracks = seen.map(|frames| -> Vec<_> {
        let frames = frames.lock().unwrap();
        frames.iter().flat_map(|buffer| objects(buffer)).map(|object| object.tracking).collect()
    });
    assert!(tracks[0].iter().flatten().count() > 100, "people are followed");
    assert_eq!(tracks[0], tracks[1]);
    assert_eq!(
        per_frame(&pipeline.element("gpu"), "host-waits"),
        2.0,
        "one for the looks, one for the camera"
    );
    assert_eq!(per_frame(&pipeline.element("cpu"), "launches"), 0.0);
    pipeline.stop();
}

/// The decoder of examples/decoder/c maps the tensor with GST_MAP_CUDA, and the one in Rust downloads it. The box is that of
/// tests/elements/plugin/tutorials: a person in red frames, at the centre of cell (1, 0) plus the sigmoids.
#[test]
#[ignore = "needs a CUDA device"]
fn decoders_of_ones_own_read_tensors_on_the_gpu_with_and_without_a_download() {
    cudainfer_tests::init();
    cudainfer_tests::load_c_decoder();
    yolov2::register(None).unwrap();
    for (decoder, downloads) in [("yolov2c", false), ("yolov2rs", true)] {
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc num-buffers=20 pattern=red ! video/x-raw,format=RGB,width=128,height=64 ! fusedpreproc device=cpu \
             ! trtinfer name=t provider=cuda batch-size=4 model={} ! {decoder} ! tracker ! fakesink name=out",
            model("yolov2")
        ));
        let frames = pipeline.collect("out");
        pipeline.play();
        pipeline.wait().succeeds();
        assert_eq!(frames.lock().unwrap().len(), 20, "{decoder}");
        for frame in frames.lock().unwrap().iter() {
            let [person] = &objects(frame)[..] else { panic!("{decoder}: {:?}", objects(frame)) };
            let found = person.detection.as_ref().unwrap();
            let edges = [found.rect.x, found.rect.y, found.rect.w, found.rect.h];
            // The GPU sums the picture's mean in another order.
            for (edge, wanted) in edges.into_iter().zip([82.8757, 7.1558, 41.9234, 25.5258]) {
                assert!((edge - wanted).abs() < 1e-3, "{decoder}: {edges:?}");
            }
            assert!((found.confidence - 0.937_845).abs() < 1e-4, "{decoder}: {found:?}");
            assert_eq!((person.label.as_str(), found.label_id), ("person", 14), "{decoder}");
            assert!(person.tracking.is_some(), "{decoder}");
        }
        let downloaded = per_frame(&pipeline.element("t"), "device-to-host-bytes") > 0.0;
        assert_eq!(downloaded, downloads, "{decoder}");
        pipeline.stop();
    }
}
