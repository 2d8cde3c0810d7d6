//! The ways to run a model.

use cudainfer_kernels::tensor::{TensorType, TensorView};
use gstcudainfer::inference::{Config, Engine, EngineSearch, FrameTensors, Provider, RunShape, Stop};
use gstcudainfer::memory::tensor::{TensorAllocator, part};
use gstcudainfer::meta::tensor::Tensor;

use super::*;

/// The objects of each frame, the INFO messages, and the variant that the model ran as.
fn run_as(options: &str) -> (Vec<Vec<Object>>, Vec<String>, String) {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=8 pattern=ball ! video/x-raw,format=NV12,width=640,height=480 ! cudainferupload \
         ! fusedpreproc device=cuda ! trtinfer name=t provider=cuda model={} {options} ! gpunms confidence=0.2 \
         ! fakesink name=out",
        fetched("models/nanodet.onnx")
    ));
    let infos = Arc::new(Mutex::new(Vec::new()));
    let said = Arc::clone(&infos);
    pipeline.bus().unwrap().set_sync_handler(move |_, message| {
        if let gst::MessageView::Info(info) = message.view() {
            said.lock().unwrap().push(info.error().to_string());
        }
        gst::BusSyncReply::Pass
    });
    let seen = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    let variant = pipeline.element("t").property::<Option<String>>("active-variant").unwrap();
    pipeline.stop();
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
    let options = format!("{options} engine-search=quick");
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

#[test]
#[ignore = "needs a CUDA device"]
fn the_default_serves_until_the_fastest_variant_is_warm_and_going_to_null_does_not_wait_for_that() {
    let cache = scratch("upgrade");
    let options = format!("engine-cache={}", cache.display());
    // The first start measures the variants; its result does not matter here.
    let (first, _, fastest) = run_as(&options);
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc is-live=true ! video/x-raw,format=NV12,width=640,height=480,framerate=30/1 ! cudainferupload \
         ! fusedpreproc device=cuda ! trtinfer name=t provider=cuda model={} {options} ! gpunms confidence=0.2 \
         ! fakesink name=out",
        fetched("models/nanodet.onnx")
    ));
    let seen = pipeline.collect("out");
    pipeline.play();
    until("frames come through", || seen.lock().unwrap().len() > 3);
    let variant = || pipeline.element("t").property::<Option<String>>("active-variant").unwrap();
    until("the fastest variant serves", || variant() == fastest);
    let count = seen.lock().unwrap().len();
    until("frames go on", || seen.lock().unwrap().len() > count + 3);
    pipeline.stop();
    // The pipeline was stopped at an arbitrary step of its start.
    let (again, infos, _) = run_as(&options);
    assert_eq!(again.len(), first.len());
    assert!(!infos.iter().any(|info| info.contains("the model runs as ")), "{infos:?}");
}

/// An engine on the GPU that runs as the default variant, and the shape of its runs, for frames of this type and size.
fn engine(
    model: &str,
    graphs: bool,
    given: TensorType,
    size: [usize; 2],
    batch: Option<usize>,
) -> (Engine, Arc<RunShape>) {
    cudainfer_tests::init();
    let (provider, device, search) = (Provider::Cuda, Choice::Cuda(0), EngineSearch::Off);
    let cache = Some("none".into());
    let config = Config { provider, device, search, cache, graphs, batch, ..Config::new(model) };
    let engine = Engine::open(&config, &Arc::default(), &|_| ()).unwrap();
    let tensors =
        FrameTensors::of(&engine.input, &engine.outputs, given, size, Vec::new(), Vec::new(), Vec::new())
            .unwrap();
    let (shape, _) =
        engine.warm_up(RunShape::new(tensors, engine.batch).unwrap(), &|_| (), &Stop::default()).unwrap();
    (engine, shape)
}

/// The bytes of pictures of noise, no two of them alike.
fn pictures(shape: &RunShape, count: usize) -> Vec<Vec<u8>> {
    let mut state = 1u64;
    let mut unit = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    let mut element = |ty| match ty {
        TensorType::Float16 => half::f16::from_f32(unit()).to_ne_bytes().to_vec(),
        _ => unit().to_ne_bytes().to_vec(),
    };
    let values = shape.given_bytes() / shape.given.size();
    (0..count).map(|_| (0..values).flat_map(|_| element(shape.given)).collect()).collect()
}

/// Pictures side by side in device memory.
fn on_device(stream: &Arc<CudaStream>, pictures: &[Vec<u8>]) -> Vec<gst::Buffer> {
    let all = pictures.concat();
    let mut pinned = stream.pin(all.len()).unwrap();
    pinned.as_mut_slice().copy_from_slice(&all);
    let pool = TensorAllocator::new(stream).unwrap().pool(all.len()).unwrap();
    let batch = pool.acquire_buffer(None).unwrap();
    let memory = device_memory(&batch).unwrap();
    memory.begin_write(stream).unwrap();
    stream.upload(&pinned, memory.slice()).unwrap();
    memory.end_write(stream).unwrap();
    let size = pictures[0].len();
    (0..pictures.len()).map(|row| part(&batch, row * size, size).unwrap()).collect()
}

fn values(outputs: &[Tensor]) -> Vec<Vec<f32>> {
    let of = |output: &Tensor| {
        let map = output.data.map_readable().unwrap();
        let dims: Vec<usize> = output.desc.dims.iter().map(|dim| dim.unwrap()).collect();
        TensorView::new(&output.desc.name, output.desc.ty, &dims, &map).unwrap().to_f32().into_owned()
    };
    outputs.iter().map(of).collect()
}

/// The engine's present outputs: for frames on the device and on the host, in batches of all sizes, twice, so that captured runs
/// are repeated with other frames; and for one frame through the host.
fn everything(engine: &Engine, shape: &Arc<RunShape>) -> Vec<Vec<Vec<f32>>> {
    let mut session = engine.sessions[0].lock().unwrap();
    let stream = Arc::clone(session.stream().unwrap());
    let pictures = pictures(shape, engine.batch + 1);
    let near = on_device(&stream, &pictures);
    let host: Vec<_> = pictures.into_iter().map(gst::Buffer::from_slice).collect();
    let mut all = Vec::new();
    for frames in [&near, &host] {
        for size in 1..=engine.batch {
            for first in [0, 1, 0] {
                let images: Vec<&gst::BufferRef> =
                    frames[first..first + size].iter().map(AsRef::as_ref).collect();
                let mut outputs = values(&session.run(shape, &images, &[]).unwrap());
                // Rows of padding may have any values.
                let rows = session.rows(shape, size);
                outputs.iter_mut().for_each(|values| values.truncate(values.len() / rows * size));
                all.push(outputs);
            }
        }
    }
    all.push(values(&session.run_on_host(shape, &[&host[0]], &[]).unwrap()));
    all
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_variant_gives_the_defaults_outputs_whatever_type_frames_have_and_wherever_they_lie() {
    let models = [
        (fetched("models/nanodet.onnx"), [416, 416], None),
        // Of several frames; of a size that no vector divides; in float16.
        (model("heat-maps-batch"), [128, 96], Some(4)),
        (model("identity-dynamic"), [17, 9], None),
        (model("identity-f16-nchw"), [24, 16], None),
    ];
    for (model, size, batch) in &models {
        for (graphs, given) in
            [(true, TensorType::Float32), (true, TensorType::Float16), (false, TensorType::Float32)]
        {
            let (engine, shape) = engine(model, graphs, given, *size, *batch);
            assert_eq!((engine.variant(), engine.variants()[0]), ("plain", "plain"));
            let inputs = engine.sessions[0].lock().unwrap().inputs().to_vec();
            let wanted = everything(&engine, &shape);
            for variant in ["nhwc", "nhwc+fused", "nhwc+fused+input"] {
                engine.run_as(variant).unwrap().expect("device memory for two sessions");
                assert_eq!(engine.variant(), variant);
                assert_eq!(engine.sessions[0].lock().unwrap().inputs(), inputs, "as the model has them");
                let got = everything(&engine, &shape);
                assert_eq!(got.len(), wanted.len());
                for (run, (got, wanted)) in got.iter().flatten().zip(wanted.iter().flatten()).enumerate() {
                    assert_eq!(got.len(), wanted.len());
                    let (least, most) =
                        wanted.iter().fold((f32::MAX, f32::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
                    // Sums in another order; a channel or a row in another's place is off by more than a tenth.
                    let limit = 1e-3 * (most - least);
                    assert!(
                        got.iter().zip(wanted).all(|(got, wanted)| (got - wanted).abs() <= limit),
                        "{model} as {variant}, frames of {given}, graphs {graphs}: output {run} is off by more than {limit}"
                    );
                }
            }
            assert!(engine.run_as("nchw").unwrap_err().to_string().contains("nhwc+fused+input"));
        }
    }
}
