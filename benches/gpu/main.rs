//! Times every operation on the GPU and prints one JSON object a row: `scripts/bench --gpu`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, dead_code)]

mod appearance;
mod associate;
mod blur;
mod channels_last;
mod detect;
mod draw;
mod floor;
mod group;
mod matte;
mod measure;
mod motion;
mod peaks;
mod preproc;
mod segment;
mod upload;

use std::sync::Arc;

use cudainfer_kernels::device::{Choice, Context, CudaStream, Resolved};

fn main() {
    let Ok(Resolved::Cuda(device)) = Choice::Cuda(0).resolve() else {
        // `cargo bench` and `cargo test --benches` run on machines without a GPU, too.
        eprintln!("benches/gpu: no CUDA device: nothing is measured");
        return;
    };
    let stream = CudaStream::new(&Context::new(&device).unwrap(), &Arc::default()).unwrap();
    let only: Option<String> = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    type Run = fn(&CudaStream);
    let operations: [(&str, Run); 14] = [
        ("floor", floor::run),
        ("preproc", preproc::run),
        ("detect", detect::run),
        ("peaks", peaks::run),
        ("group", group::run),
        ("segment", segment::run),
        ("matte", matte::run),
        ("motion", motion::run),
        ("associate", associate::run),
        ("appearance", appearance::run),
        ("draw", draw::run),
        ("blur", blur::run),
        ("channels_last", channels_last::run),
        ("upload", upload::run),
    ];
    for (name, run) in operations {
        if only.as_deref().is_none_or(|only| only == name) {
            run(&stream);
        }
    }
}
