//! The order of work on frames: who waits, who does not, and that nothing is ever read too early or written too soon.

use std::sync::atomic::{AtomicBool, Ordering};

use cudainfer_kernels::device::{Choice, Counters, DeviceSlice, Memory};
use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};
use gstcudainfer::memory::{ChosenDevice, GpuSession, HeldBuffers, caps, order};

use super::*;

const CUDA: &str = "video/x-raw(memory:CUDAMemory)";

#[test]
#[ignore = "needs a CUDA device"]
fn behind_a_promise_the_uploader_never_waits_and_nothing_is_allocated_after_the_start() {
    init();
    let context = Context::new(&device()).unwrap();
    // Where a queue is, a frame more may be under way at times, and has to be made once.
    for (path, later) in [
        ("cudainferupload name=up ! cudainferdownload name=down", 0),
        ("cudainferupload name=up ! queue max-size-buffers=3 ! cudainferdownload name=down", 3),
        (
            "cudainferupload name=up ! tee name=t ! queue max-size-buffers=3 ! cudainferdownload ! fakesink \
             t. ! queue max-size-buffers=3 ! cudainferdownload name=down",
            3,
        ),
    ] {
        let description = format!(
            "videotestsrc num-buffers=1200 pattern=ball ! video/x-raw,format=NV12,width=1920,height=1080 ! {path} \
             ! fakesink name=end"
        );
        let pipeline = launch(&description);
        let marks = Arc::new(std::sync::Mutex::new(Vec::new()));
        let allocations = {
            let pipeline = pipeline.downgrade();
            move || {
                let pipeline = pipeline.upgrade()?;
                Some(count(&pipeline, "up", "allocations") + count(&pipeline, "down", "allocations"))
            }
        };
        let seen = Arc::clone(&marks);
        let device = Arc::clone(&context);
        let frames = std::sync::atomic::AtomicUsize::new(0);
        let pad = pipeline.by_name("end").unwrap().static_pad("sink").unwrap();
        pad.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
            if let 200 | 1200 = frames.fetch_add(1, Ordering::Relaxed) + 1 {
                seen.lock().unwrap().push((allocations().unwrap(), free(&device)));
            }
            gst::PadProbeReturn::Ok
        });
        let bus = pipeline.bus().unwrap();
        pipeline.set_state(gst::State::Playing).unwrap();
        let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
        let message = bus.timed_pop_filtered(gst::ClockTime::from_seconds(60), &kinds).unwrap();
        assert_eq!(message.type_(), gst::MessageType::Eos, "{path}: {message:?}");
        let marks = marks.lock().unwrap().clone();
        let [(first, free), (last, free_then)] = marks[..] else { panic!("{path}: {marks:?}") };
        assert!(last - first <= later, "{path}: {} allocations", last - first);
        assert!(free - free_then <= later as usize * (2 << 20), "{path}: {} bytes", free - free_then);
        assert_eq!(count(&pipeline, "up", "frames"), 1200, "{path}");
        assert_eq!(count(&pipeline, "up", "host-waits"), 0, "{path}");
        assert_eq!(count(&pipeline, "down", "host-waits"), 1200, "{path}");
        assert_eq!(count(&pipeline, "up", "fallbacks"), 0, "{path}");
        assert_eq!(count(&pipeline, "up", "host-to-device-bytes"), 1200 * 1920 * 1080 * 3 / 2, "{path}");
        let each = |name| count(&pipeline, "up", name) as f64 / 1e3;
        eprintln!(
            "{path}: {:.1} us a frame in the uploader's thread, {:.1} us on the GPU",
            each("host-ns") / 1200.0,
            each("gpu-ns") / count(&pipeline, "up", "gpu-samples") as f64
        );
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn before_foreign_elements_the_uploader_waits_unless_memory_has_a_stream() {
    init();
    let streams = gst::version() >= (1, 24, 0, 0);
    let waits = |path: &str| {
        let pipeline = play(&format!("{} ! {path} ! fakesink", source(VideoFormat::Nv12, (1920, 1080), 100)));
        assert_eq!(count(&pipeline, "up", "frames"), 100, "{path}");
        let waits = count(&pipeline, "up", "host-waits");
        // Not always: a copy may be done before the question is asked.
        if streams { waits == 0 } else { waits > 50 }
    };
    assert!(waits(&format!("cudainferupload name=up ! {CUDA}")));
    assert!(waits("cudainferupload name=up ! cudadownload ! video/x-raw"));
    assert!(waits(&format!(
        "cudainferupload name=up ! tee name=t ! queue ! cudainferdownload ! fakesink  t. ! {CUDA}"
    )));
    if gst::ElementFactory::find("cudaconvert").is_some() {
        let path = format!("cudainferupload name=up ! cudaconvert ! {CUDA},format=RGBA ! cudainferdownload");
        assert!(waits(&path), "cudaconvert passed on a promise that it does not keep");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_of_pageable_memory_go_through_pinned_memory_and_are_not_waited_for_either() {
    let description = format!(
        "{} ! identity drop-allocation=true ! cudainferupload name=up ! cudainferdownload ! fakesink",
        source(VideoFormat::Nv12, (640, 480), 300)
    );
    let pipeline = play(&description);
    assert_eq!((count(&pipeline, "up", "frames"), count(&pipeline, "up", "fallbacks")), (300, 300));
    assert_eq!(count(&pipeline, "up", "host-waits"), 0);
    assert!(count(&pipeline, "up", "allocations") <= 4);
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_stay_whole_while_the_device_is_busy_with_other_things() {
    /// Also when a comparison fails.
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    init();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| {
            let stream = stream();
            let memory = stream.allocate(1 << 30).unwrap();
            let host = stream.pin(1 << 26).unwrap();
            while !stop.load(Ordering::Relaxed) {
                (0..20).for_each(|byte| stream.fill(memory.slice(), byte).unwrap());
                stream.upload(&host, memory.slice()).unwrap();
            }
        });
        for path in [
            "cudainferupload ! cudainferdownload",
            "cudainferupload ! queue ! cudainferdownload",
            "identity drop-allocation=true ! cudainferupload ! queue ! cudainferdownload",
            "cudainferupload ! queue ! cudadownload",
            "cudaupload ! queue ! cudainferdownload",
        ] {
            let path = &format!("{path} ! video/x-raw");
            run(&source(VideoFormat::I420, (961, 541), 30), path, |sample, original| {
                let [got, wanted] = [sample, original].map(|s| pixels(s.buffer().unwrap(), &info_of(s)));
                assert!(got == wanted, "{path} {:?}", sample.buffer().unwrap().pts());
            });
        }
    });
}

/// The GPU as an element has it, and streams to work in.
struct Bench {
    session: GpuSession,
    info: VideoInfo,
    /// Work in a stream that takes a while, longer or shorter.
    delay: Memory,
    random: u32,
}

impl Bench {
    fn new() -> Self {
        init();
        let element = gst::ElementFactory::make("identity").build().unwrap();
        let (chosen, _) = ChosenDevice::decide(Choice::Cuda(0), &element, None, &Arc::default()).unwrap();
        let ChosenDevice::Gpu(session) = chosen else { panic!("asked for a GPU") };
        let info = VideoInfo::builder(VideoFormat::Rgba, 512, 64).build().unwrap();
        let delay = session.stream().allocate(64 << 20).unwrap();
        Self { session, info, delay, random: 1 }
    }

    fn stream(&self) -> CudaStream {
        CudaStream::new(self.session.context(), &Arc::<Counters>::default()).unwrap()
    }

    fn delay(&mut self, stream: &CudaStream) {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        for _ in 0..(self.random >> 28) {
            stream.fill(self.delay.slice(), 0).unwrap();
        }
    }

    /// `buffers` frames at most, which come again as soon as they are dropped.
    fn pool(&self, buffers: u32) -> gst::BufferPool {
        let caps = caps::to_cuda(&self.info.to_caps().unwrap());
        let (pool, size) = self.session.pool(&caps, buffers).unwrap();
        let mut config = pool.config();
        config.set_params(Some(&caps), size, buffers, buffers);
        pool.set_config(config).unwrap();
        pool.set_active(true).unwrap();
        pool
    }

    /// Fills a frame with `value`, as one of our elements does.
    fn write(&self, buffer: &mut gst::BufferRef, stream: &CudaStream, value: u8) {
        let frame = MappedCudaFrame::write(buffer, &self.info, stream).unwrap();
        let plane = frame.plane(0).unwrap();
        // SAFETY: the map's bytes, in the stream that it was mapped for.
        let bytes =
            unsafe { cudainfer_kernels::device::DeviceSlice::from_raw(plane.pointer(), plane.bytes()) };
        stream.fill(bytes, value).unwrap();
    }

    /// Copies the first bytes of a frame to `target`, as one of our elements does.
    fn read(&self, buffer: &gst::BufferRef, stream: &CudaStream, target: &Memory) {
        let frame = MappedCudaFrame::read(buffer, &self.info, stream).unwrap();
        let plane = frame.plane(0).unwrap();
        // SAFETY: as above.
        let bytes =
            unsafe { cudainfer_kernels::device::DeviceSlice::from_raw(plane.pointer(), plane.bytes()) };
        stream.copy_on_device(bytes, target.slice()).unwrap();
    }

    fn check(&self, stream: &CudaStream, results: &[Memory]) {
        for (number, result) in results.iter().enumerate() {
            let mut host = stream.pin(result.bytes()).unwrap();
            stream.download(result.slice(), &mut host).unwrap();
            let wanted = u8::try_from(number % 256).unwrap();
            assert!(host.as_slice().iter().all(|byte| *byte == wanted), "result {number}");
        }
    }
}

const ROUNDS: usize = 400;
const RESULT: usize = 100_000;

#[test]
#[ignore = "needs a CUDA device"]
fn writers_and_readers_in_streams_of_their_own_never_overtake_each_other() {
    let mut bench = Bench::new();
    let pool = bench.pool(2);
    let [producer, first, second] = [(); 3].map(|()| bench.stream());
    let results: Vec<_> = (0..2 * ROUNDS).map(|_| producer.allocate(RESULT).unwrap()).collect();
    let (even, odd) = results.split_at(ROUNDS);
    for round in 0..ROUNDS {
        let value = u8::try_from(round % 256).unwrap();
        let mut buffer = pool.acquire_buffer(None).unwrap();
        bench.delay(&producer);
        bench.write(buffer.get_mut().unwrap(), &producer, value);
        // A copy of the buffer shares the memory, and with it the order.
        let copy = buffer.copy();
        bench.delay(&first);
        bench.read(&buffer, &first, &even[round]);
        bench.delay(&second);
        bench.read(&copy, &second, &odd[round]);
    }
    bench.check(&first, even);
    bench.check(&second, odd);
    assert_eq!(producer.counters().host_waits.get(), 0, "everything was ordered on the device");
    pool.set_active(false).unwrap();
}

/// A producer that knows nothing of our order: it writes into memory as soon as its pool gives it out, and waits for its
/// own work, as GStreamer 1.22's elements do.
fn foreign_write(bench: &Bench, buffer: &gst::BufferRef, stream: &CudaStream, value: u8) {
    // A raw map, so that no mark is left.
    let memory = buffer.peek_memory(0);
    let address = {
        let frame = MappedCudaFrame::read(buffer, &bench.info, stream).unwrap();
        frame.plane(0).unwrap().pointer()
    };
    let other = bench.stream();
    // SAFETY: the buffer holds these bytes until the work has been waited for.
    let bytes = unsafe { cudainfer_kernels::device::DeviceSlice::from_raw(address, memory.size()) };
    other.fill(bytes, value).unwrap();
    other.synchronize().unwrap();
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_guarded_frame_is_not_given_out_again_while_it_is_read() {
    let mut bench = Bench::new();
    let pool = bench.pool(1);
    let [quick, reader] = [(); 2].map(|()| bench.stream());
    let results: Vec<_> = (0..ROUNDS).map(|_| reader.allocate(RESULT).unwrap()).collect();
    for (round, result) in results.iter().enumerate() {
        let mut buffer = pool.acquire_buffer(None).unwrap();
        foreign_write(&bench, &buffer, &quick, u8::try_from(round % 256).unwrap());
        bench.delay(&reader);
        bench.read(&buffer, &reader, result);
        order::guard(buffer.get_mut().unwrap());
    }
    bench.check(&reader, &results);
    pool.set_active(false).unwrap();
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_held_frame_is_not_given_out_again_while_it_is_read() {
    let mut bench = Bench::new();
    let pool = bench.pool(12);
    let [quick, reader] = [(); 2].map(|()| bench.stream());
    let results: Vec<_> = (0..ROUNDS).map(|_| reader.allocate(RESULT).unwrap()).collect();
    let mut held = HeldBuffers::default();
    for (round, result) in results.iter().enumerate() {
        let buffer = pool.acquire_buffer(None).unwrap();
        foreign_write(&bench, &buffer, &quick, u8::try_from(round % 256).unwrap());
        bench.delay(&reader);
        bench.read(&buffer, &reader, result);
        held.keep(&reader, buffer).unwrap();
    }
    held.drain(&reader).unwrap();
    bench.check(&reader, &results);
    pool.set_active(false).unwrap();
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_of_another_context_are_read_where_they_lie_and_that_is_said_once() {
    init();
    let size = (321, 241);
    // Nobody to share a context with: GStreamer's uploader makes one of its own.
    let description = format!(
        "{} ! cudaupload ! {CUDA} ! appsink name=theirs sync=false",
        source(VideoFormat::Nv12, size, 20)
    );
    let theirs = launch(&description);
    let description =
        "appsrc name=in format=time ! cudainferdownload name=down ! appsink name=out sync=false";
    let ours = launch(description);
    let [sink, out] = [(&theirs, "theirs"), (&ours, "out")].map(|(pipeline, name)| {
        let sink = pipeline.by_name(name).unwrap();
        move || sink.emit_by_name::<Option<gst::Sample>>("pull-sample", &[])
    });
    let bus = ours.bus().unwrap();
    theirs.set_state(gst::State::Playing).unwrap();
    let mut frames = Vec::new();
    let first = sink().unwrap();
    let appsrc = ours.by_name("in").unwrap();
    appsrc.set_property("caps", first.caps_owned().unwrap());
    ours.set_state(gst::State::Playing).unwrap();
    let mut sample = Some(first);
    while let Some(theirs) = sample {
        let buffer = theirs.buffer_owned().unwrap();
        // Downloaded by GStreamer itself, in the memory's own context.
        frames.push(pixels(&buffer, &info_of(&theirs)));
        let _ = appsrc.emit_by_name::<gst::FlowReturn>("push-buffer", &[&buffer]);
        sample = sink();
    }
    let _ = appsrc.emit_by_name::<gst::FlowReturn>("end-of-stream", &[]);
    let mut received = 0;
    while let Some(sample) = out() {
        assert!(pixels(sample.buffer().unwrap(), &info_of(&sample)) == frames[received], "frame {received}");
        received += 1;
    }
    assert_eq!((received, frames.len()), (20, 20));
    for name in ["fallbacks", "device-to-device-bytes", "peer-copies"] {
        assert_eq!(count(&ours, "down", name), 0, "{name}");
    }
    assert_eq!(count(&ours, "down", "host-waits"), 20, "for what was downloaded, and nothing else");
    let kinds = [gst::MessageType::Info, gst::MessageType::Warning, gst::MessageType::Error];
    let said: Vec<_> = std::iter::from_fn(|| bus.pop_filtered(&kinds)).collect();
    let [info] = said.as_slice() else { panic!("one message, not {said:?}") };
    let gst::MessageView::Info(info) = info.view() else { panic!("{info:?}") };
    assert!(info.error().to_string().contains("another CUDA context"), "{info:?}");
    [theirs, ours].iter().for_each(|pipeline| assert!(pipeline.set_state(gst::State::Null).is_ok()));
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_is_written_to_a_frame_of_another_context_is_written_there() {
    let bench = Bench::new();
    let description = "videotestsrc num-buffers=1 pattern=black ! video/x-raw,format=RGBA,width=512,height=64 \
                ! cudaupload ! video/x-raw(memory:CUDAMemory) ! fakesink name=out";
    let theirs = launch(description);
    let (take, taken) = std::sync::mpsc::channel();
    // Taken before the sink gets it, because it may be written only by the one who has it.
    let pad = theirs.by_name("out").unwrap().static_pad("sink").unwrap();
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        if let Some(gst::PadProbeData::Buffer(buffer)) = info.data.take() {
            take.send(buffer).unwrap();
        }
        gst::PadProbeReturn::Handled
    });
    theirs.set_state(gst::State::Playing).unwrap();
    let mut buffer = taken.recv_timeout(std::time::Duration::from_secs(120)).unwrap();
    let stream = bench.stream();
    bench.write(buffer.make_mut(), &stream, 77);
    order::hand_over(buffer.make_mut(), &stream).unwrap();
    assert_eq!((stream.counters().fallbacks.get(), stream.counters().peer_copies.get()), (0, 0));
    assert!(pixels(&buffer, &bench.info).iter().flatten().all(|byte| *byte == 77));
    theirs.set_state(gst::State::Null).unwrap();
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_tensor_that_is_mapped_keeps_its_bytes_while_a_sibling_is_written_and_mapped() {
    use gstcudainfer::memory::tensor::{TensorAllocator, part};
    const CUDA_WRITE: gst::ffi::GstMapFlags = gst::ffi::GST_MAP_WRITE | gst::ffi::GST_MAP_FLAG_LAST << 1;
    init();
    let stream = stream();
    let pool = TensorAllocator::new(&stream).unwrap().pool(64).unwrap();
    let batch = pool.acquire_buffer(None).unwrap();
    let [row, sibling] = [0, 32].map(|offset| part(&batch, offset, 32).unwrap());
    let write = |byte| {
        let memory = sibling.peek_memory(0).as_ptr().cast_mut();
        let mut info = std::mem::MaybeUninit::zeroed();
        // SAFETY: the buffer holds its memory; a map that succeeds fills the info, and it is unmapped once.
        let mut info = unsafe {
            assert_ne!(gst::ffi::gst_memory_map(memory, info.as_mut_ptr(), CUDA_WRITE), 0);
            info.assume_init()
        };
        // SAFETY: mapped, and waited for; the row before it is of the same memory.
        let bytes = unsafe { DeviceSlice::from_raw(info.data as u64 - 32, 64) };
        stream.fill(bytes, byte).unwrap();
        stream.synchronize().unwrap();
        // SAFETY: as above.
        unsafe { gst::ffi::gst_memory_unmap(memory, &raw mut info) };
    };
    write(1);
    let first = row.map_readable().unwrap();
    write(2);
    let second = row.map_readable().unwrap();
    // What the first map's memory would be overwritten with, if it had been given back.
    let third = stream.pin(64).unwrap();
    assert_eq!((first.as_slice(), second.as_slice()), (&[1; 32][..], &[2; 32][..]));
    drop(second);
    assert_eq!(first.as_slice(), [1; 32]);
    drop((first, third));
    drop((row, sibling, batch));
    pool.set_active(false).unwrap();
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_is_written_through_a_cuda_map_of_a_tensor_is_what_the_cpu_maps_next() {
    use gstcudainfer::memory::tensor::TensorAllocator;
    const CUDA_MAP: gst::ffi::GstMapFlags = gst::ffi::GST_MAP_FLAG_LAST << 1;
    init();
    let stream = stream();
    let pool = TensorAllocator::new(&stream).unwrap().pool(64).unwrap();
    let tensor = pool.acquire_buffer(None).unwrap();
    let memory = tensor.peek_memory(0).as_ptr().cast_mut();
    let map = |flags| {
        let mut info = std::mem::MaybeUninit::zeroed();
        // SAFETY: the buffer holds its memory.
        assert_ne!(unsafe { gst::ffi::gst_memory_map(memory, info.as_mut_ptr(), flags) }, 0);
        // SAFETY: a map that succeeds fills it.
        unsafe { info.assume_init() }
    };
    // SAFETY: each is unmapped once.
    let unmap = |mut info| unsafe { gst::ffi::gst_memory_unmap(memory, &raw mut info) };
    let write = |byte| {
        let info = map(gst::ffi::GST_MAP_WRITE | CUDA_MAP);
        // SAFETY: mapped, and waited for.
        let bytes = unsafe { DeviceSlice::from_raw(info.data as u64, info.size) };
        stream.fill(bytes, byte).unwrap();
        stream.synchronize().unwrap();
        unmap(info);
    };
    let read = || tensor.map_readable().unwrap().as_slice().to_vec();
    write(1);
    assert_eq!(read(), [1; 64]);
    write(2);
    assert_eq!(read(), [2; 64]);
    // A map on the device takes nothing from one on the host.
    let host = tensor.map_readable().unwrap();
    unmap(map(gst::ffi::GST_MAP_READ | CUDA_MAP));
    assert_eq!(host.as_slice(), [2; 64]);
    drop(host);
    drop(tensor);
    pool.set_active(false).unwrap();
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_process_has_one_context_a_device_and_streams_that_count_for_themselves() {
    let contexts = [(); 3].map(|()| Context::new(&device()).unwrap());
    assert!(contexts.iter().all(|context| Arc::ptr_eq(context, &contexts[0])));
    let [one, two] = [(); 2].map(|()| Arc::<Counters>::default());
    let first = CudaStream::new(&contexts[0], &one).unwrap();
    let _second = CudaStream::new(&contexts[1], &two).unwrap();
    let _memory = first.allocate(1).unwrap();
    assert_eq!((one.allocations.get(), two.allocations.get()), (1, 0));
}
