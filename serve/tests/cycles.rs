//! Streams that are added and removed a thousand times leave no memory, threads or file descriptors. The test is alone in its
//! process, which it measures.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Instant;

use cudainfer_serve::config::{Config, SourceConfig};
use cudainfer_serve::fleet::Fleet;
use cudainfer_tests::resources::entries;
use cudainfer_tests::{model, scratch, until};

/// Cycles until everything that is made only once exists: pools, threads' arenas, the types of all elements.
const WARM_UP: usize = 200;

/// By how much memory may grow in a thousand cycles: what the allocator keeps varies by about one MB; a pipeline that stayed in
/// each cycle would take several hundred KB each time.
const GROWTH_KB: u64 = 8 * 1024;

/// The same with a decoder, whose threads fill the allocator's arenas over some thousand cycles; with MALLOC_ARENA_MAX=1 nothing
/// grows.
const GROWTH_WITH_A_DECODER_KB: u64 = 32 * 1024;

/// The process's memory, descriptors and threads are printed after this many cycles.
const REPORTED: usize = 500;

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A test picture, which needs no decoder.
const TEST: &str = "test://ball?width=64&height=48&rate=100";

/// H.264 as a camera sends it, which is demuxed, parsed and decoded.
fn video(folder: &Path) -> String {
    let file = folder.join("video.ts");
    cudainfer_tests::run(&format!(
        "videotestsrc num-buffers=100 pattern=ball ! video/x-raw,format=I420,width=64,height=48,framerate=20/1 \
         ! x264enc speed-preset=ultrafast key-int-max=10 threads=1 ! mpegtsmux ! filesink location={}",
        file.display()
    ))
    .succeeds();
    format!("file://{}", file.display())
}

/// Prints the process's memory, descriptors and threads.
fn report(kind: &str, cycles: usize, since: Instant) {
    let (files, threads) = (entries("/proc/self/fd"), entries("/proc/self/task"));
    println!("{kind},{cycles},{},{files},{threads},{}", resident_kb(), since.elapsed().as_secs());
}

fn cycle(fleet: &Fleet, uri: &str, number: usize) {
    let name = format!("test{}", number % 3);
    let source = SourceConfig {
        name: name.clone(),
        uri: uri.into(),
        // Not paced, so that removing the stream need not wait for frames that were read already.
        live: Some(!uri.starts_with("file:")),
        ..SourceConfig::default()
    };
    fleet.add(source).unwrap();
    until("a frame", || fleet.stream(&name).unwrap().frames > 0);
    fleet.remove(&name).unwrap();
}

/// Runs cycles with this source, and compares the process's memory, descriptors and threads with those before.
fn run(folder: &Path, cycles: usize, uri: &str, growth_kb: u64) {
    let kind = uri.split(':').next().unwrap();
    let text = format!(
        "[server]\nstate = \"{}\"\nfiles = \"{}\"\n[pipeline.detect]\n\
         line = \"fusedpreproc ! trtinfer model={} ! gpunms ! tracker\"\n\
         [[source]]\nname = \"stays\"\nuri = \"test://red?width=64&height=48&rate=5\"\n",
        folder.join("state").display(),
        folder.display(),
        model("detector-batch")
    );
    let config = Config::read(&text, Path::new("serve.toml")).unwrap();
    let fleet = Fleet::start(config, channel().0).unwrap();
    until("the stream plays", || fleet.stream("stays").unwrap().frames > 0);
    (0..WARM_UP).for_each(|number| cycle(&fleet, uri, number));
    let (memory, files, threads) = (resident_kb(), entries("/proc/self/fd"), entries("/proc/self/task"));
    let begin = Instant::now();
    report(kind, 0, begin);
    for number in 1..=cycles {
        cycle(&fleet, uri, number);
        if number % REPORTED == 0 {
            report(kind, number, begin);
        }
    }
    let grown = resident_kb().saturating_sub(memory);
    assert!(grown < growth_kb, "the process has grown by {grown} KB in {cycles} cycles");
    until("no descriptor is left", || entries("/proc/self/fd") <= files);
    until("no thread is left", || entries("/proc/self/task") <= threads);
    let stays = fleet.stream("stays").unwrap();
    assert!(stays.restarts.is_empty(), "{stays:?}");
    assert_eq!(fleet.drain(), [""; 0]);
}

#[test]
fn a_thousand_streams_that_come_and_go_leave_no_memory_and_no_descriptor() {
    cudainfer_tests::init();
    run(&scratch("cycles"), 1000, TEST, GROWTH_KB);
}

#[test]
#[ignore = "takes a quarter of an hour: cargo test -p cudainfer-serve --test cycles -- --ignored --nocapture"]
fn ten_thousand_do_not_either_with_and_without_a_decoder() {
    cudainfer_tests::init();
    let folder = scratch("cycles");
    println!("source,cycles,resident_kb,descriptors,threads,seconds");
    run(&folder, 10_000, TEST, GROWTH_KB);
    run(&folder, 10_000, &video(&folder), GROWTH_WITH_A_DECODER_KB);
}
