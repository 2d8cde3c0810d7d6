//! Frames of one GPU on another: copied there, once each, without the host.

use cudainfer_kernels::device::probe;
use gst::prelude::*;
use gst_video::VideoFormat;

use super::*;

/// Whether there are two GPUs; prints a line if there are not, for the summary of scripts/test --gpu.
fn two() -> bool {
    let count = probe().map_or(0, <[Device]>::len);
    if count < 2 {
        eprintln!("skipped: it needs two GPUs, and there are {count}");
    }
    count >= 2
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_of_another_gpu_are_copied_over_counted_and_warned_about_once() {
    init();
    if !two() {
        return;
    }
    let source = source(VideoFormat::Nv12, (640, 480), 20);
    for [from, to] in [[0, 1], [1, 0]] {
        let path =
            format!("cudainferupload device=cuda:{from} ! cudainferdownload name=down device=cuda:{to}");
        let mut frames = 0;
        let (pipeline, said) = run_and_hear(&source, &path, |got, wanted| {
            let [got, wanted] = [got, wanted].map(|s| pixels(s.buffer().unwrap(), &info_of(s)));
            assert!(got == wanted, "{path}: frame {frames}");
            frames += 1;
        });
        assert_eq!(frames, 20, "{path}");
        assert_eq!(count(&pipeline, "down", "peer-copies"), 20);
        assert_eq!(count(&pipeline, "down", "fallbacks"), 20);
        assert_eq!(count(&pipeline, "down", "host-to-device-bytes"), 0);
        assert_eq!(count(&pipeline, "down", "host-waits"), 20, "for what was downloaded, and nothing else");
        let [warning] = said.as_slice() else { panic!("one warning, not {said:?}") };
        let gst::MessageView::Warning(warning) = warning.view() else { panic!("{warning:?}") };
        let text = warning.error().to_string();
        assert!(text.contains(&format!("on GPU {from}, but this element works on GPU {to}")), "{text}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn memory_goes_from_gpu_to_gpu_in_order_without_the_host() {
    if !two() {
        return;
    }
    let [first, second] = [0, 1].map(|ordinal| {
        let Resolved::Cuda(device) = Choice::Cuda(ordinal).resolve().unwrap() else { panic!("no GPU") };
        CudaStream::new(&Context::new(&device).unwrap(), &Arc::default()).unwrap()
    });
    const BYTES: usize = 1 << 24;
    let pool = gstcudainfer::memory::tensor::TensorAllocator::new(&first).unwrap().pool(BYTES).unwrap();
    let there = second.allocate(BYTES).unwrap();
    for byte in 0..50 {
        let tensor = pool.acquire_buffer(None).unwrap();
        let memory = gstcudainfer::memory::tensor::device_memory(&tensor).unwrap();
        memory.begin_write(&first).unwrap();
        first.fill(memory.slice(), byte).unwrap();
        memory.end_write(&first).unwrap();
        memory.copy_over(&second, there.slice()).unwrap();
        assert_eq!(second.counters().host_waits.get(), u64::from(byte));
        let mut host = second.pin(BYTES).unwrap();
        second.download(there.slice(), &mut host).unwrap();
        assert!(host.as_slice().iter().all(|b| *b == byte), "{byte}");
    }
    assert_eq!((first.counters().host_waits.get(), second.counters().peer_copies.get()), (0, 50));
    pool.set_active(false).unwrap();
}
