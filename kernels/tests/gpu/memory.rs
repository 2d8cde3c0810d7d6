//! Streams, events and memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cudainfer_kernels::device::{CudaStream, DeviceError, Graph, SharedMemory};

use super::{download, stream, upload};

/// Other tests of this program record as well.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
#[ignore = "needs a CUDA device"]
fn what_is_written_in_one_stream_is_read_in_another_without_the_host() {
    let (writer, reader) = (stream(), stream());
    let shared = SharedMemory::new(&writer, 1 << 24).unwrap();
    for byte in 0..100u8 {
        shared.begin_write(&writer).unwrap();
        writer.fill(shared.slice(), byte).unwrap();
        shared.end_write(&writer).unwrap();
        let copy = reader.allocate(1 << 24).unwrap();
        let waits = reader.counters().host_waits.get();
        shared.begin_read(&reader).unwrap();
        reader.copy_on_device(shared.slice(), copy.slice()).unwrap();
        shared.end_read(&reader).unwrap();
        assert_eq!(reader.counters().host_waits.get(), waits);
        assert!(download(&reader, copy.slice()).iter().all(|b| *b == byte), "{byte}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_host_copy_is_made_once_for_each_time_of_writing() {
    let stream = stream();
    let shared = SharedMemory::new(&stream, 100).unwrap();
    for byte in [1u8, 2] {
        shared.begin_write(&stream).unwrap();
        stream.fill(shared.slice(), byte).unwrap();
        shared.end_write(&stream).unwrap();
        let before = stream.counters().device_to_host.get();
        for _ in 0..3 {
            assert!(shared.to_host(&stream).unwrap().as_slice().iter().all(|b| *b == byte));
        }
        assert_eq!(stream.counters().device_to_host.get(), before + 100);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_recorded_graph_does_the_work_again() {
    let stream: CudaStream = stream();
    let (source, target) = (upload(&stream, &[7; 1000]), upload(&stream, &[0; 1000]));
    let copy = || stream.copy_on_device(source.slice(), target.slice());
    let mut graph = Graph::record(&stream, PATIENCE, copy).unwrap().unwrap();
    assert_eq!(download(&stream, target.slice()), [0; 1000], "recording runs nothing");
    // SAFETY: both live until the download below has waited, and only this stream uses them.
    unsafe { stream.launch_graph(&mut graph) }.unwrap();
    assert_eq!(download(&stream, target.slice()), [7; 1000]);
}

#[test]
#[ignore = "needs a CUDA device"]
fn nothing_is_recorded_beside_work_that_may_wait_for_the_device() {
    let stream = stream();
    let memory = upload(&stream, &[7; 8]);
    let record = |patience| Graph::record(&stream, patience, || stream.fill(memory.slice(), 1)).unwrap();
    let two = [(); 2].map(|()| stream.context().unrecorded());
    for unrecorded in two {
        assert!(record(Duration::ZERO).is_none());
        drop(unrecorded);
    }
    assert!(record(PATIENCE).is_some());
    // Who comes while a graph is recorded waits until it is.
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let record = || {
            scope.spawn(|| {
                let _unrecorded = stream.context().unrecorded();
                assert!(ended.load(Ordering::Acquire));
            });
            thread::sleep(Duration::from_millis(50));
            ended.store(true, Ordering::Release);
            Ok::<_, DeviceError>(())
        };
        assert!(Graph::record(&stream, PATIENCE, record).unwrap().is_some());
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn more_memory_than_there_is_gives_a_sentence() {
    let error = stream().allocate(1 << 50).unwrap_err().to_string();
    assert!(error.contains("the GPU has no 1125899906842624 bytes left"), "{error}");
}
