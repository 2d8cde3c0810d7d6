//! Whole lines on the GPU: what they find, what goes over the bus, what they wait for and what they keep.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

use std::sync::{Arc, Mutex};

use cudainfer_kernels::device::{Choice, Context, CudaStream, DeviceError, Memory, Resolved};
use cudainfer_tests::{Line, buffers, fetched, model, run, scratch, until};
use gst::prelude::*;
use gstcudainfer::memory::tensor::device_memory;
use gstcudainfer::meta::mask;
use gstcudainfer::meta::object::{Object, objects};
use gstcudainfer::meta::tensor::TensorSet;

fn context() -> Arc<Context> {
    let Ok(Resolved::Cuda(device)) = Choice::Cuda(0).resolve() else { panic!("needs a CUDA device") };
    Context::new(&device).unwrap()
}

/// From NVDEC, `frames` frames in CUDA memory.
fn decoded(frames: u32) -> String {
    format!(
        "filesrc location={} ! qtdemux ! h264parse ! nvh264dec ! identity eos-after={frames}",
        fetched("video/vtest-1080p.mp4")
    )
}

/// A count of `element` a frame.
fn per_frame(element: &gst::Element, name: &str) -> f64 {
    let stats = element.property::<gst::Structure>("stats");
    let count = |name| stats.get::<u64>(name).unwrap() as f64;
    count(name) / count("frames").max(1.0)
}

fn found(line: &str) -> Vec<Vec<Object>> {
    buffers(line).iter().map(|buffer| objects(buffer)).collect()
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_line_from_nvdec_finds_what_the_cpu_finds() {
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

/// What gpunms puts on frames that `line` makes of those that `source` does, pushed into another pipeline; and what `name` counts
/// there.
fn found_in_two_pipelines(source: &str, line: &str, name: &str) -> (Vec<Vec<Object>>, gst::Structure) {
    let theirs = Line::new(&format!("{source} ! appsink name=theirs sync=false"));
    let ours = Line::new(&format!("appsrc name=in format=time ! {line} ! fakesink name=out"));
    let sink = theirs.element("theirs");
    let pull = || sink.emit_by_name::<Option<gst::Sample>>("pull-sample", &[]);
    let frames = ours.collect("out");
    theirs.pipeline.set_state(gst::State::Playing).unwrap();
    let input = ours.element("in");
    let mut sample = pull();
    input.set_property("caps", sample.as_ref().unwrap().caps_owned().unwrap());
    ours.pipeline.set_state(gst::State::Playing).unwrap();
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
    let line = format!(
        "fusedpreproc name=p ! trtinfer model={} provider=cuda ! gpunms",
        fetched("models/nanodet.onnx")
    );
    // In a pipeline of its own, the decoder finds nobody to share a context with.
    let (found, stats) = found_in_two_pipelines(&decoded(60), &line, "p");
    let same = self::found(&format!("{} ! {line} ! fakesink name=out", decoded(60)));
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

#[test]
#[ignore = "needs a CUDA device"]
fn frames_and_tensors_of_another_gpu_give_the_same_without_the_host() {
    let count = cudainfer_kernels::device::probe().map_or(0, |devices| devices.len());
    if count < 2 {
        eprintln!("skipped: it needs two GPUs, and there are {count}");
        return;
    }
    let on = |upload: u32, preproc: u32, infer: u32| {
        let line = Line::new(&format!(
            "{} ! cudainferdownload ! video/x-raw ! cudainferupload device=cuda:{upload} ! fusedpreproc name=p device=cuda:{preproc} \
             ! trtinfer name=t model={} provider=cuda device=cuda:{infer} ! gpunms ! fakesink name=out",
            decoded(60),
            fetched("models/nanodet.onnx")
        ));
        let frames = line.collect("out");
        line.pipeline.set_state(gst::State::Playing).unwrap();
        line.wait().succeeds();
        let found: Vec<_> = frames.lock().unwrap().iter().map(|buffer| objects(buffer)).collect();
        let count = |element, name| {
            line.element(element).property::<gst::Structure>("stats").get::<u64>(name).unwrap()
        };
        let copies = ["p", "t"].map(|element| count(element, "peer-copies"));
        assert_eq!(["p", "t"].map(|element| count(element, "host-to-device-bytes")), [0, 0]);
        (found, copies)
    };
    let (wanted, none) = on(0, 0, 0);
    assert_eq!(none, [0, 0]);
    let frames = wanted.len() as u64;
    for (places, copies) in [([1, 1, 1], [0, 0]), ([0, 1, 1], [frames, 0]), ([0, 0, 1], [0, frames])] {
        let [upload, preproc, infer] = places;
        let (found, counted) = on(upload, preproc, infer);
        assert_eq!(counted, copies, "{places:?}");
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!(found.len(), wanted.len(), "{places:?}");
            for (found, wanted) in found.iter().zip(wanted) {
                assert_eq!(found.detection, wanted.detection, "{places:?}");
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn where_the_device_is_left_open_instances_spread_over_the_gpus_and_their_streams_follow() {
    let count = cudainfer_kernels::device::probe().map_or(0, |devices| devices.len());
    if count < 2 {
        eprintln!("skipped: it needs two GPUs, and there are {count}");
        return;
    }
    let model = fetched("models/nanodet.onnx");
    // The GPUs of the outputs of two streams, and what was copied between GPUs.
    let on = |[first, second]: [&str; 2]| {
        let stream = |n: usize, instance: &str| {
            format!(
                "{} ! cudainferdownload ! video/x-raw ! cudainferupload name=u{n} ! fusedpreproc name=p{n} \
                 ! trtinfer name=t{n} model={model} provider=cuda {instance} ! fakesink name=out{n}",
                decoded(10)
            )
        };
        let line = Line::new(&format!("{}   {}", stream(0, first), stream(1, second)));
        let frames = [line.collect("out0"), line.collect("out1")];
        line.pipeline.set_state(gst::State::Playing).unwrap();
        line.wait().succeeds();
        let copies = |name: &str| {
            line.element(name).property::<gst::Structure>("stats").get::<u64>("peer-copies").unwrap()
        };
        assert!(["u0", "p0", "t0", "u1", "p1", "t1"].into_iter().all(|name| copies(name) == 0));
        frames.map(|frames| {
            let frames = frames.lock().unwrap();
            let sets = TensorSet::of(&frames[0]).unwrap();
            device_memory(&sets[0].tensors[0].data).unwrap().context().device().ordinal
        })
    };
    let mut spread = on(["instance=spread-a", "instance=spread-b"]);
    spread.sort();
    assert_eq!(spread, [0, 1]);
    let [first, second] = on(["", ""]);
    assert_eq!(first, second, "without names, a pipeline has one GPU");
    let [first, second] = on(["instance=spread-c", "instance=spread-c"]);
    assert_eq!(first, second, "one instance is on one GPU");
    assert_eq!(on(["device=cuda:1", "instance=spread-d"])[0], 1);
}

#[test]
#[ignore = "needs a CUDA device"]
fn pixels_and_raw_tensors_stay_on_the_gpu_and_only_results_are_waited_for() {
    let line = Line::start(&format!(
        "{} ! fusedpreproc name=p ! trtinfer name=t model={} provider=cuda ! gpunms name=n ! tracker ! fakesink",
        decoded(200),
        fetched("models/nanodet.onnx")
    ));
    line.wait().succeeds();
    let [preproc, infer, nms] = ["p", "t", "n"].map(|name| line.element(name));
    for element in [&preproc, &infer] {
        for count in ["host-to-device-bytes", "device-to-host-bytes", "fallbacks"] {
            assert_eq!(per_frame(element, count), 0.0, "{} {count}", element.name());
        }
    }
    assert_eq!(per_frame(&preproc, "device-to-device-bytes"), 0.0);
    // NanoDet's input and outputs, float32, to and from where it runs.
    let copied =
        4.0 * (3.0 * 416.0 * 416.0) + 4.0 * (52.0 * 52.0 + 26.0 * 26.0 + 13.0 * 13.0) * (80.0 + 44.0);
    assert_eq!(per_frame(&infer, "device-to-device-bytes"), copied);
    assert_eq!(per_frame(&preproc, "host-waits"), 0.0);
    assert_eq!(per_frame(&infer, "host-waits"), 0.0);
    assert_eq!(per_frame(&preproc, "launches"), 1.0);
    assert_eq!(per_frame(&nms, "host-waits"), 1.0);
    let back = per_frame(&nms, "device-to-host-bytes");
    assert!(back > 0.0 && back <= 8192.0, "{back} bytes a frame come back");
}

#[test]
#[ignore = "needs a CUDA device"]
fn only_outputs_that_cannot_be_right_are_downloaded_and_warned_about_once() {
    for (name, text) in [
        ("detector", None),
        ("detector-logits", Some("probabilities of 0 to 1 are expected")),
        ("detector-fractions", Some("set normalized = true")),
        ("detector-nan", Some("are NaN or infinite")),
    ] {
        let line = Line::start(&format!(
            "videotestsrc num-buffers=300 pattern=red ! video/x-raw,format=RGB,width=64,height=64 ! cudainferupload \
             ! fusedpreproc device=cuda ! trtinfer name=t model={} provider=cuda ! gpunms name=n device=cuda ! fakesink",
            model(name)
        ));
        let report = line.wait().succeeds();
        let said: Vec<_> = report.warnings.iter().filter(|warning| warning.starts_with("n: ")).collect();
        assert_eq!(said.len(), usize::from(text.is_some()), "{name}: {report:?}");
        assert!(said.iter().all(|warning| text.is_some_and(|text| warning.contains(text))), "{said:?}");
        // The outputs are downloaded by the memory that trtinfer allocates.
        let waits = line.element("t").property::<gst::Structure>("stats").get::<u64>("host-waits").unwrap();
        assert!(if text.is_some() { (1..=4).contains(&waits) } else { waits == 0 }, "{name}: {waits} waits");
        line.stop();
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_from_system_memory_are_uploaded_once_and_give_the_same() {
    let line = |path: &str, device: &str| {
        found(&format!(
            "videotestsrc num-buffers=30 pattern=ball ! video/x-raw,format=NV12,width=641,height=481 {path} \
             ! fusedpreproc device={device} ! trtinfer model={} ! gpunms ! fakesink name=out",
            model("detector")
        ))
    };
    assert_eq!(line("! cudainferupload", "cuda"), line("", "cpu"));
}

#[test]
#[ignore = "needs a CUDA device"]
fn streams_that_share_a_model_find_in_batches_what_each_finds_alone() {
    let streams = |together: &str| {
        let line = |n: usize| {
            format!(
                "videotestsrc num-buffers=60 pattern=blink \
                 ! video/x-raw,format=NV12,width={},height=480 ! cudainferupload ! fusedpreproc \
                 ! trtinfer name=t{n} model={} provider=cuda {together} ! gpunms ! fakesink name=out{n} sync=false",
                600 + 40 * n,
                model("detector-batch")
            )
        };
        let line = Line::new(&(0..4).map(line).collect::<Vec<_>>().join(" "));
        let found: Vec<_> = (0..4).map(|n| Arc::new(Mutex::new((n, Vec::new())))).collect();
        for found in &found {
            let kept = Arc::clone(found);
            let out = line.element(&format!("out{}", kept.lock().unwrap().0));
            out.static_pad("sink").unwrap().add_probe(gst::PadProbeType::BUFFER, move |_, info| {
                kept.lock().unwrap().1.push(objects(info.buffer().unwrap()));
                gst::PadProbeReturn::Ok
            });
        }
        line.pipeline.set_state(gst::State::Playing).unwrap();
        line.wait().succeeds();
        let stats = (0..4).map(|n| line.element(&format!("t{n}")).property::<gst::Structure>("stats"));
        let count = |stats: &gst::Structure, name: &str| stats.get::<u64>(name).unwrap();
        let (runs, frames) = stats.fold((0, 0), |(runs, frames), stats| {
            (runs + count(&stats, "launches"), frames + count(&stats, "frames"))
        });
        let found: Vec<_> = found.iter().map(|found| std::mem::take(&mut found.lock().unwrap().1)).collect();
        (found, frames as f64 / runs as f64)
    };
    let (alone, one) = streams("");
    let (together, several) = streams("instance=shared batch-size=8 batch-timeout=20000000");
    assert_eq!(alone.iter().map(Vec::len).collect::<Vec<_>>(), [60; 4]);
    assert!(alone.iter().flatten().any(|objects| !objects.is_empty()));
    assert_eq!(alone, together);
    assert!(one <= 1.0 && several > 2.0, "{one} and {several} frames a run");
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
    // identity lets what is on its way through.
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
    for name in
        ["simcc", "simcc-unnamed", "movenet", "movenet-uint8", "movenet-people", "regressed", "heat-maps-udp"]
    {
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
        let line = Line::new(&format!(
            "videotestsrc num-buffers=20 pattern=chroma-zone-plate kx2=20 ky2=20 kt=1 \
             ! video/x-raw,format=RGBA,width=120,height=80 {upload} ! fusedpreproc device={device} \
             ! trtinfer model={} provider={device} ! segmask name=m device={device} size=frame closing=1 min-area=3 \
             ! fakesink name=out",
            model("masks-smooth")
        ));
        let seen = line.collect("out");
        line.pipeline.set_state(gst::State::Playing).unwrap();
        line.wait().succeeds();
        let waits = || {
            let stats = line.element("m").property::<gst::Structure>("stats");
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
    let line = |output: &str, upload: &str, download: &str, device: &str| {
        buffers(&format!(
            "videotestsrc num-buffers=10 pattern=chroma-zone-plate kx2=20 ky2=20 kt=1 \
             ! video/x-raw,format=RGBA,width=120,height=80 {upload} ! fusedpreproc device={device} \
             ! trtinfer model={} provider={device} ! tee name=t t. ! queue ! fakesink \
             t. ! queue ! segmask output={output} {download} ! video/x-raw ! fakesink name=out",
            model("mask-red")
        ))
    };
    for (output, download) in [("alpha", "! cudainferdownload"), ("gray", "")] {
        let gpu = line(output, "! cudainferupload", download, "cuda");
        let cpu = line(output, "", "", "cpu");
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
    let line = |name: &str, properties: &str, upload: &str, device: &str| {
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
    ] {
        let gpu = line(name, properties, "! cudainferupload", "cuda");
        let cpu = line(name, properties, "", "cpu");
        assert_eq!((gpu.len(), cpu.len()), (10, 10), "{name}");
        for (gpu, cpu) in gpu.iter().zip(&cpu) {
            let samples = |frame: &gst::Buffer| -> Vec<u16> {
                let sample = |b: &[u8]| b.iter().rev().fold(0, |all, b| all << 8 | u16::from(*b));
                frame.map_readable().unwrap().chunks(bytes).map(sample).collect()
            };
            // In half precision a step is up to 1/2048 of the value.
            let most = if name == "map-half" { 65535 / 1024 } else { 1 };
            let (a, b) = (samples(gpu), samples(cpu));
            assert!(a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.abs_diff(*b) <= most), "{name}");
            let [on_gpu, on_cpu] = [gpu, cpu].map(|frame| gstcudainfer::meta::map::maps(frame));
            assert_eq!(on_gpu.len(), on_cpu.len(), "{name}");
            for (gpu, cpu) in on_gpu.iter().zip(&on_cpu) {
                assert_eq!((gpu.rect, gpu.width, gpu.non_finite), (cpu.rect, cpu.width, cpu.non_finite));
                let (gpu, cpu) = (gpu.min_mean_max.unwrap(), cpu.min_mean_max.unwrap());
                assert!(gpu.iter().zip(cpu).all(|(a, b)| (a - b).abs() < 1e-2), "{name}: {gpu:?} {cpu:?}");
            }
        }
    }
    // One wait a frame for the numbers, without a frame that is made.
    let pipeline = Line::new(&format!(
        "videotestsrc num-buffers=20 ! video/x-raw,format=RGBA,width=120,height=80 ! cudainferupload ! fusedpreproc \
         ! trtinfer model={} provider=cuda ! tensormap name=m ! fakesink",
        model("map-depth")
    ));
    pipeline.pipeline.set_state(gst::State::Playing).unwrap();
    pipeline.wait().succeeds();
    let stats = pipeline.element("m").property::<gst::Structure>("stats");
    assert_eq!((stats.get::<u64>("host-waits"), stats.get::<u64>("launches")), (Ok(20), Ok(40)), "{stats}");
    assert_eq!(stats.get::<u64>("device-to-host-bytes"), Ok(20 * 40), "{stats}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn without_gpu_memory_in_between_the_line_says_so_and_goes_on() {
    let report = run(&format!(
        "videotestsrc num-buffers=5 ! video/x-raw,format=NV12,width=64,height=64 ! fusedpreproc ! trtinfer model={} \
         provider=cuda ! gpunms ! fakesink",
        model("detector")
    ))
    .succeeds();
    assert!(report.warnings.iter().any(|w| w.contains("Put cudainferupload before")), "{report:?}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn overlay_and_download_end_a_line_in_system_memory() {
    let frames = buffers(&format!(
        "{} ! fusedpreproc ! trtinfer model={} provider=cuda ! gpunms ! tracker ! inferoverlay ! cudainferdownload \
         ! video/x-raw ! fakesink name=out",
        decoded(20),
        fetched("models/nanodet.onnx")
    ));
    assert!(frames.len() >= 20);
    assert!(frames.iter().any(|frame| !objects(frame).is_empty()), "the download keeps what was found");
}

#[test]
#[ignore = "needs a CUDA device"]
fn ten_thousand_frames_allocate_no_more_than_may_be_in_flight_at_once() {
    // How many frames are in flight depends on the machine: a source that is slower than the GPU needs one tensor, until
    // something holds the GPU up once. Then trtinfer has `max-in-flight`, fusedpreproc has made one more, and one that has been
    // inferred is not given back yet. cudainferupload holds eight frames that are copied, and one comes while the source fills
    // another. Buffers are kept, and gpunms' are of a batch, so nothing else may grow.
    const IN_FLIGHT: u64 = 3;
    const MOST: [(&str, u64); 4] = [("u", 10), ("p", IN_FLIGHT + 2), ("t", IN_FLIGHT + 2), ("n", 0)];
    let context = context();
    let line = Line::new(&format!(
        "videotestsrc num-buffers=10000 ! video/x-raw,format=NV12,width=320,height=240 ! cudainferupload name=u \
         ! fusedpreproc name=p ! trtinfer name=t model={} provider=cuda max-in-flight={IN_FLIGHT} ! gpunms name=n ! tracker ! fakesink name=out",
        model("detector")
    ));
    let elements = MOST.map(|(name, _)| line.element(name));
    let allocations = move || {
        elements.each_ref().map(|e| e.property::<gst::Structure>("stats").get::<u64>("allocations").unwrap())
    };
    type Sample = ([u64; 4], usize);
    let seen: Arc<Mutex<Vec<Sample>>> = Arc::default();
    let samples = seen.clone();
    let mut frames = 0u32;
    line.watch("out", move |_, _| {
        frames += 1;
        if frames.is_multiple_of(1000) {
            samples.lock().unwrap().push((allocations(), context.memory().unwrap().0));
        }
    });
    let _ = line.pipeline.set_state(gst::State::Playing);
    line.wait().succeeds();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 10);
    let grown = seen[9].0.iter().zip(&seen[0].0).map(|(last, first)| last - first);
    let bounded = grown.zip(MOST).all(|(grown, (_, most))| grown <= most);
    assert!(bounded, "allocations grow: {seen:?}");
    let leaks = |pair: &[Sample]| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1;
    assert!(!seen.windows(2).any(leaks), "free bytes shrink: {seen:?}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_gpu_without_memory_gives_an_error_and_then_works_again() {
    let stream = CudaStream::new(&context(), &Arc::default()).unwrap();
    let line = format!(
        "{} ! fusedpreproc ! trtinfer model={} provider=cuda ! gpunms ! fakesink",
        decoded(30),
        fetched("models/nanodet.onnx")
    );
    // GStreamer's nvcodec registers its decoders when it is loaded, and without memory it would find that there are none.
    run(&line).succeeds();
    let hog: Vec<Memory> = {
        let mut size = 1usize << 38;
        let mut hog = Vec::new();
        while size >= 1 << 20 {
            match stream.allocate(size) {
                Ok(memory) => hog.push(memory),
                Err(DeviceError::OutOfMemory { .. }) => size /= 2,
                Err(other) => panic!("{other}"),
            }
        }
        hog
    };
    let report = run(&line);
    assert!(!report.errors.is_empty(), "{report:?}");
    drop(hog);
    run(&line).succeeds();
}

#[test]
#[ignore = "needs a CUDA device"]
fn looks_and_the_camera_on_the_gpu_give_the_cpus_tracks() {
    let tracker = "tracker algorithm=botsort appearance=histogram camera-motion=true";
    let line = Line::new(&format!(
        "{} ! fusedpreproc ! trtinfer model={} ! gpunms ! tee name=t \
         t. ! queue ! {tracker} name=gpu ! fakesink name=a async=false \
         t. ! queue ! cudainferdownload ! {tracker} name=cpu ! fakesink name=b async=false",
        decoded(60),
        fetched("models/nanodet.onnx")
    ));
    let seen = ["a", "b"].map(|name| line.collect(name));
    line.pipeline.set_state(gst::State::Playing).unwrap();
    line.wait().succeeds();
    let tracks = seen.map(|frames| -> Vec<_> {
        let frames = frames.lock().unwrap();
        frames.iter().flat_map(|buffer| objects(buffer)).map(|object| object.tracking).collect()
    });
    assert!(tracks[0].iter().flatten().count() > 100, "people are followed");
    assert_eq!(tracks[0], tracks[1]);
    assert_eq!(per_frame(&line.element("gpu"), "host-waits"), 2.0, "one for the looks, one for the camera");
    assert_eq!(per_frame(&line.element("cpu"), "launches"), 0.0);
    line.stop();
}

/// The decoder of examples/decoder/c maps the tensor with GST_MAP_CUDA, and the one in Rust downloads it. The box is that of
/// tests/lines/tutorials: a person in red frames, at the centre of cell (1, 0) plus the sigmoids.
#[test]
#[ignore = "needs a CUDA device"]
fn decoders_of_ones_own_read_tensors_on_the_gpu_with_and_without_a_download() {
    cudainfer_tests::init();
    cudainfer_tests::load_c_decoder();
    yolov2::register(None).unwrap();
    for (decoder, downloads) in [("yolov2c", false), ("yolov2rs", true)] {
        let line = Line::new(&format!(
            "videotestsrc num-buffers=20 pattern=red ! video/x-raw,format=RGB,width=128,height=64 ! fusedpreproc device=cpu \
             ! trtinfer name=t provider=cuda batch-size=4 model={} ! {decoder} ! tracker ! fakesink name=out",
            model("yolov2")
        ));
        let frames = line.collect("out");
        line.pipeline.set_state(gst::State::Playing).unwrap();
        line.wait().succeeds();
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
        let downloaded = per_frame(&line.element("t"), "device-to-host-bytes") > 0.0;
        assert_eq!(downloaded, downloads, "{decoder}");
        line.stop();
    }
}

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
    line.pipeline.set_state(gst::State::Playing).unwrap();
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
    let options = format!("batch-size=4 warm-up=complete engine-cache={}", cache.display());
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
    let options = format!("batch-size=4 engine-cache={}", cache.display());
    // The first start measures; what it finds does not matter here.
    let (first, _, fastest) = run_as(&options);
    let line = Line::new(&format!(
        "videotestsrc is-live=true ! video/x-raw,format=NV12,width=640,height=480,framerate=30/1 ! cudainferupload \
         ! fusedpreproc device=cuda ! trtinfer name=t provider=cuda model={} {options} ! gpunms confidence=0.2 \
         ! fakesink name=out",
        fetched("models/nanodet.onnx")
    ));
    let seen = line.collect("out");
    line.pipeline.set_state(gst::State::Playing).unwrap();
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
