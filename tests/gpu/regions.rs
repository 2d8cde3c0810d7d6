//! Second models, poses and masks on the GPU: their results, and copies over the bus.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

use cudainfer_tests::{TestPipeline, buffers, fetched, model};
use gst::prelude::*;
use gstcudainfer::meta::object::{KeypointsParam, Object, objects};

/// From NVDEC, `frames` frames in CUDA memory.
fn decoded(frames: u32) -> String {
    format!(
        "filesrc location={} ! qtdemux ! h264parse ! nvh264dec ! identity eos-after={frames}",
        fetched("video/vtest-1080p.mp4")
    )
}

fn found(pipeline: &str) -> Vec<Vec<Object>> {
    buffers(pipeline).iter().map(|buffer| objects(buffer)).collect()
}

fn count(pipeline: &TestPipeline, element: &str, name: &str) -> f64 {
    let stats = pipeline.element(element).property::<gst::Structure>("stats");
    stats.get::<u64>(name).unwrap() as f64
}

fn distance(a: &KeypointsParam, b: &KeypointsParam) -> f64 {
    let far = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    far(&a.x, &b.x).max(far(&a.y, &b.y))
}

/// NanoDet's people, and the joints of each in a region of its own.
fn top_down(path: &str, device: &str, frames: u32) -> String {
    format!(
        "{} {path} ! fusedpreproc device={device} ! trtinfer model={} provider=cuda ! gpunms classes=person confidence=0.5 \
         ! fusedpreproc name=crops device={device} roi=objects roi-padding=1.25 resize=letterbox \
         ! trtinfer name=pose model={} provider=cuda ! peakfind name=peaks grouping=frame mode=global device={device} \
         ! fakesink name=out",
        decoded(frames),
        fetched("models/nanodet.onnx"),
        fetched("models/posenet.onnx")
    )
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_points_of_each_person_in_a_region_of_its_own_are_those_of_the_cpu() {
    let gpu = found(&top_down("", "cuda", 20));
    let cpu = found(&top_down("! cudainferdownload", "cpu", 20));
    assert!(gpu.len() >= 20 && gpu.len() == cpu.len());
    let (mut compared, mut points) = (0, 0);
    for (gpu, cpu) in gpu.iter().flatten().zip(cpu.iter().flatten()) {
        let boxes = [gpu, cpu].map(|object| object.detection.as_ref().unwrap().rect);
        // The region follows the box, whose last digits differ; so do the points' places in it.
        if (boxes[0].x - boxes[1].x).abs() > 0.01 || (boxes[0].w - boxes[1].w).abs() > 0.01 {
            continue;
        }
        compared += 1;
        let (Some(a), Some(b)) = (&gpu.keypoints, &cpu.keypoints) else {
            assert_eq!(gpu.keypoints, cpu.keypoints);
            continue;
        };
        if a.names == b.names {
            points += a.names.len();
            assert!(distance(a, b) < 0.5, "{a:?} is not {b:?}");
        }
    }
    assert!(compared > 50 && points > 200, "people are in the picture: {compared}, {points} points");
}

/// NanoDet's people in tiles of 640 pixels: four columns and two rows. They are cut as `crop` says.
fn tiled(path: &str, device: &str, crop: &str, frames: u32) -> String {
    format!(
        "{} {path} ! fusedpreproc name=tiles device={device} roi=tiles tile-size=640 whole=true roi-crop={crop} \
         ! trtinfer name=infer model={} provider=cuda ! gpunms name=nms device={device} classes=person confidence=0.5 \
         ! fakesink name=out",
        decoded(frames),
        fetched("models/nanodet.onnx")
    )
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_is_found_in_tiles_is_what_the_cpu_finds() {
    for crop in ["box", "pixels"] {
        same_people_in_tiles(crop);
    }
}

fn same_people_in_tiles(crop: &str) {
    let gpu = found(&tiled("", "cuda", crop, 20));
    let cpu = found(&tiled("! cudainferdownload", "cpu", crop, 20));
    assert!(gpu.len() >= 20 && gpu.len() == cpu.len());
    let people: usize = cpu.iter().map(Vec::len).sum();
    assert!(people > 60, "people are in the picture: {people}");
    let mut compared = 0;
    for (frame, (gpu, cpu)) in gpu.iter().zip(&cpu).enumerate() {
        // An object whose confidence or overlap is at a threshold may be found on one side only.
        assert!(gpu.len().abs_diff(cpu.len()) <= 1, "frame {frame}: {} and {}", gpu.len(), cpu.len());
        for a in gpu {
            let near = |b: &Object| {
                let [a, b] = [a, b].map(|object| object.detection.as_ref().unwrap());
                let [a, b] = [a.rect, b.rect];
                [a.x - b.x, a.y - b.y, a.w - b.w, a.h - b.h].iter().all(|far| far.abs() < 0.1)
            };
            compared += usize::from(cpu.iter().any(near));
        }
    }
    assert!(compared * 20 >= people * 19, "{compared} of {people} people are the CPU's");
}

#[test]
#[ignore = "needs a CUDA device"]
fn all_tiles_of_a_frame_are_cut_out_in_one_launch_and_stay_on_the_gpu() {
    let pipeline = TestPipeline::new(&tiled("", "cuda", "box", 50));
    pipeline.play();
    pipeline.wait().succeeds();
    let frames = count(&pipeline, "tiles", "frames");
    // 1920 = 0, 512, 1024, 1280 + 640; 1080 = 0, 440 + 640; and the whole frame.
    assert_eq!(count(&pipeline, "tiles", "tensors"), 9.0 * frames);
    assert!(count(&pipeline, "tiles", "launches") <= frames, "one launch a frame, whatever the tiles");
    for element in ["tiles", "infer", "nms"] {
        assert_eq!(count(&pipeline, element, "fallbacks"), 0.0, "{element}");
        // The one class that gpunms keeps, once.
        let most = if element == "nms" { 8.0 } else { 0.0 };
        assert!(count(&pipeline, element, "host-to-device-bytes") <= most, "{element}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn all_regions_of_a_frame_are_cut_out_in_one_launch_and_stay_on_the_gpu() {
    let pipeline = TestPipeline::new(&top_down("", "cuda", 100));
    pipeline.play();
    pipeline.wait().succeeds();
    let frames = count(&pipeline, "crops", "frames");
    let regions = count(&pipeline, "crops", "tensors") / frames;
    assert!(regions > 2.0, "{regions} regions a frame");
    assert!(count(&pipeline, "crops", "launches") <= frames, "one launch a frame, whatever the regions");
    for element in ["crops", "pose", "peaks"] {
        assert_eq!(count(&pipeline, element, "fallbacks"), 0.0, "{element}");
        assert_eq!(count(&pipeline, element, "host-to-device-bytes"), 0.0, "{element}");
    }
    let back = count(&pipeline, "peaks", "device-to-host-bytes") / frames;
    assert!(back < 8192.0, "{back} bytes a frame");
}

#[test]
#[ignore = "needs a CUDA device"]
fn people_grouped_by_displacements_are_those_of_the_cpu_with_one_wait_a_frame() {
    let pipeline_of = |path: &str, device: &str| {
        format!(
            "{} {path} ! fusedpreproc device={device} ! trtinfer model={} provider=cuda \
             ! peakfind name=peaks device={device} threshold=0.3 min-score=0.1 ! fakesink name=out",
            decoded(30),
            fetched("models/posenet.onnx")
        )
    };
    let (gpu, cpu) = (found(&pipeline_of("", "cuda")), found(&pipeline_of("! cudainferdownload", "cpu")));
    assert!(gpu.len() >= 30 && gpu.len() == cpu.len());
    let people = |frames: &[Vec<Object>]| frames.iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(people(&gpu), people(&cpu));
    assert!(people(&gpu).iter().sum::<usize>() > 0, "somebody is in the picture");
    for (gpu, cpu) in gpu.iter().flatten().zip(cpu.iter().flatten()) {
        let (a, b) = (gpu.keypoints.as_ref().unwrap(), cpu.keypoints.as_ref().unwrap());
        assert!(a.names == b.names && a.edges == b.edges && distance(a, b) < 0.2, "{a:?} is not {b:?}");
    }
    let pipeline = TestPipeline::new(&pipeline_of("", "cuda"));
    pipeline.play();
    pipeline.wait().succeeds();
    let frames = count(&pipeline, "peaks", "frames");
    assert_eq!(count(&pipeline, "peaks", "host-waits"), frames);
    assert!(count(&pipeline, "peaks", "launches") <= 2.0 * frames);
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_mask_is_that_of_the_cpu_and_nothing_waits_for_it() {
    use gstcudainfer::meta::mask::masks;
    let pipeline_of = |path: &str, device: &str| {
        format!(
            "{} {path} ! fusedpreproc device={device} ! trtinfer model={} provider=cuda \
             ! segmask name=mask device={device} mode=soft smoothing=0.5 ! fakesink name=out",
            decoded(30),
            fetched("models/selfie.onnx")
        )
    };
    let bytes = |description: &str| -> Vec<Vec<u8>> {
        let mask = |frame: &gst::Buffer| masks(frame)[0].data.map_readable().unwrap().to_vec();
        buffers(description).iter().map(mask).collect()
    };
    let (gpu, cpu) = (bytes(&pipeline_of("", "cuda")), bytes(&pipeline_of("! cudainferdownload", "cpu")));
    assert!(gpu.len() >= 30 && gpu.len() == cpu.len());
    // The network runs on the GPU on both sides, so the comparison is of how the masks are made.
    for (frame, (gpu, cpu)) in gpu.iter().zip(&cpu).enumerate() {
        let worst = gpu.iter().zip(cpu).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
        assert!(worst <= 1, "frame {frame}: {worst} of 255 apart");
    }
    let pipeline = TestPipeline::new(&pipeline_of("", "cuda"));
    pipeline.play();
    pipeline.wait().succeeds();
    assert_eq!(count(&pipeline, "mask", "host-waits"), 0.0);
    assert_eq!(count(&pipeline, "mask", "fallbacks"), 0.0);
}

#[test]
#[ignore = "needs a CUDA device"]
fn edges_are_improved_and_masks_are_laid_into_corners_in_cuda_memory_as_on_the_cpu() {
    use gstcudainfer::meta::mask::masks;
    let improved = "mode=soft refine=guided feather-in=2 feather-out=3 floor=0.1";
    let pipeline_of = |path: &str, device: &str, output: &str, end: &str| {
        format!(
            "{} {path} ! fusedpreproc device={device} ! trtinfer model={} provider=cuda \
             ! segmask name=mask device={device} {improved} {output} {end} ! fakesink name=out",
            decoded(30),
            fetched("models/selfie.onnx")
        )
    };
    let mask = |frame: &gst::Buffer| masks(frame)[0].data.map_readable().unwrap().to_vec();
    let picture = |frame: &gst::Buffer| frame.map_readable().unwrap().to_vec();
    for (output, end, far) in [("", "", false), ("output=deovr", "! cudainferdownload ! video/x-raw", true)] {
        let bytes = |path: &str, device: &str, end: &str| -> Vec<Vec<u8>> {
            let frames = buffers(&pipeline_of(path, device, output, end));
            frames.iter().map(|frame| if far { picture(frame) } else { mask(frame) }).collect()
        };
        let (gpu, cpu) = (bytes("", "cuda", end), bytes("! cudainferdownload ! video/x-raw", "cpu", ""));
        assert!(gpu.len() >= 30 && gpu.len() == cpu.len());
        for (frame, (gpu, cpu)) in gpu.iter().zip(&cpu).enumerate() {
            assert_eq!(gpu.len(), cpu.len());
            // The soft mask may be off by one before, and the filter adds up several of them; around the floor all is lost or nothing.
            let far = gpu.iter().zip(cpu).filter(|(a, b)| a.abs_diff(**b) > 3).count();
            assert!(far * 1000 <= gpu.len(), "frame {frame} {output}: {far} of {} are apart", gpu.len());
            assert!(gpu.iter().any(|v| *v > 0));
        }
        let pipeline = TestPipeline::new(&pipeline_of("", "cuda", output, end));
        pipeline.play();
        pipeline.wait().succeeds();
        assert_eq!(count(&pipeline, "mask", "fallbacks"), 0.0, "{output}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn masks_and_skeletons_are_drawn_in_cuda_memory() {
    for (model, finds) in
        [("selfie", "segmask mode=threshold threshold=0.2"), ("posenet", "peakfind threshold=0.3")]
    {
        let picture = |draws: &str| {
            let frames = buffers(&format!(
                "{} ! fusedpreproc ! trtinfer model={} provider=cuda ! {finds} ! {draws} ! cudainferdownload \
                 ! video/x-raw ! fakesink name=out",
                decoded(10),
                fetched(&format!("models/{model}.onnx"))
            ));
            frames.last().unwrap().map_readable().unwrap().to_vec()
        };
        assert!(
            picture("inferoverlay") != picture("inferoverlay masks=false points=false skeleton=false"),
            "{model}"
        );
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn classes_of_regions_are_those_of_the_cpu() {
    let pipeline_of = |path: &str, device: &str| {
        format!(
            "{} {path} ! fusedpreproc device={device} ! trtinfer model={} provider=cuda ! gpunms classes=person \
             ! fusedpreproc device={device} roi=objects ! trtinfer model={} provider=cuda ! classify device={device} top-k=3 \
             ! fakesink name=out",
            decoded(20),
            fetched("models/nanodet.onnx"),
            model("colours")
        )
    };
    let (gpu, cpu) = (found(&pipeline_of("", "cuda")), found(&pipeline_of("! cudainferdownload", "cpu")));
    let mut compared = 0;
    for (gpu, cpu) in gpu.iter().flatten().zip(cpu.iter().flatten()) {
        let (a, b) = (&gpu.classifications[0], &cpu.classifications[0]);
        compared += 1;
        // Of grey pictures the three may be equal to the last digit.
        assert!(
            a.confidence.iter().zip(&b.confidence).all(|(a, b)| (a - b).abs() < 0.01),
            "{a:?} is not {b:?}"
        );
    }
    assert!(compared > 50, "{compared}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn masks_that_prompts_ask_for_are_those_of_the_cpu_and_features_stay_on_the_gpu() {
    use gstcudainfer::meta::mask::masks;
    use gstcudainfer::meta::tensor::TensorSet;
    let pipeline_of = |path: &str, device: &str, [encoder, decoder]: [&str; 2], properties: &str| {
        format!(
            "videotestsrc num-buffers=30 pattern=ball foreground-color=0xffff0000 ! video/x-raw,format=NV12,width=256,height=256 {path} \
             ! fusedpreproc device={device} ! trtinfer model={} device={device} ! gpunms ! fusedpreproc device={device} \
             ! trtinfer model={} device={device} ! trtinfer name=decoder model={} device={device} {properties} \
             ! segmask name=mask channel=0 device={device} ! fakesink name=out",
            model("lists-torchvision"),
            model(encoder),
            model(decoder)
        )
    };
    let bytes = |description: &str| -> Vec<Vec<u8>> {
        let of_frame = |frame: &gst::Buffer| {
            let masks = masks(frame);
            assert_eq!(masks.len(), 2);
            masks.iter().flat_map(|mask| mask.data.map_readable().unwrap().to_vec()).collect()
        };
        buffers(description).iter().map(of_frame).collect()
    };
    // The logits of the first mask of each object. Near 0, rounding decides: at the ball's edge, which is red but for it, and where the
    // centres of cells lie on a box's edge.
    let logits = |description: &str, output: &str| -> Vec<Vec<f32>> {
        let of_set = |set: TensorSet| -> Vec<f32> {
            let logits = set.tensor(output).unwrap().map().unwrap();
            logits.view().unwrap().to_f32().iter().take(256).copied().collect()
        };
        let of_frame =
            |frame: &gst::Buffer| TensorSet::of(frame).unwrap().into_iter().flat_map(of_set).collect();
        let description = description.replace("segmask name=mask channel=0 device=cpu ! ", "");
        let description = description.replace("segmask name=mask channel=0 device=cuda ! ", "");
        buffers(&description).iter().map(of_frame).collect()
    };
    for (models, properties, output) in [
        (["prompt-encoder", "prompt-decoder"], "", "low_res_masks"),
        (["prompt-encoder-2", "prompt-decoder-2"], "", "masks"),
        (["prompt-encoder", "prompt-decoder-efficient"], "batch-size=4", "output_masks"),
    ] {
        let (on_gpu, on_cpu) = (
            pipeline_of("! cudainferupload", "cuda", models, properties),
            pipeline_of("", "cpu", models, properties),
        );
        let (gpu, cpu) = (bytes(&on_gpu), bytes(&on_cpu));
        assert!(gpu.len() == 30 && cpu.len() == 30);
        assert!(cpu.iter().any(|masks| masks.contains(&1)), "the ball is in a box");
        let (gpu_logits, cpu_logits) = (logits(&on_gpu, output), logits(&on_cpu, output));
        for (frame, (gpu, cpu)) in gpu.iter().zip(&cpu).enumerate() {
            let of_cell = |cell: usize| (gpu_logits[frame][cell], cpu_logits[frame][cell]);
            assert_eq!((gpu.len(), cpu.len(), cpu_logits[frame].len()), (512, 512, 512));
            let certain: Vec<usize> = (0..512).filter(|cell| of_cell(*cell).1.abs() > 0.01).collect();
            let apart = certain.iter().filter(|cell| gpu[**cell] != cpu[**cell]);
            let apart: Vec<_> = apart.map(|cell| (*cell, of_cell(*cell), gpu[*cell], cpu[*cell])).collect();
            assert!(
                certain.len() > 400 && apart.is_empty(),
                "{models:?}, frame {frame}, of {} cells: (cell, logits of GPU and CPU, masks of both) {apart:?}",
                certain.len()
            );
        }
        let pipeline = TestPipeline::new(&pipeline_of("! cudainferupload", "cuda", models, properties));
        pipeline.play();
        pipeline.wait().succeeds();
        for element in ["decoder", "mask"] {
            assert_eq!(count(&pipeline, element, "fallbacks"), 0.0, "{models:?} {element}");
        }
        // Two points and what they are for each object, and which of the masks is whose.
        let most = 64.0 * 2.0 * 30.0;
        let up = count(&pipeline, "decoder", "host-to-device-bytes");
        assert!(up > 0.0 && up <= most, "{models:?}: {up} bytes");
    }
}
