//! Finds the local peaks of a confidence map in a file and measures how long that takes: `scripts/bench --peaks`.
//!
//! ```text
//! cargo run --release -p cudainfer-kernels --example peaks -- maps.f32 13 96 96 300
//! ```
//!
//! The file holds float32 values, channels first; its channels, rows and columns follow, and the number of runs. Prints a line of
//! JSON: the microseconds of each run, and the peaks as `[channel, x, y]`, in cells.

use std::error::Error;
use std::time::Instant;

use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::peaks::{Grid, Mode, PeakFinder, PeakParams, Refinement};
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, sizes @ ..] = words.as_slice() else {
        return Err("usage: peaks FILE CHANNELS HEIGHT WIDTH RUNS".into());
    };
    let sizes: Vec<usize> = sizes.iter().map(|size| size.parse()).collect::<Result<_, _>>()?;
    let [c, h, w, runs] = sizes[..] else {
        return Err("usage: peaks FILE CHANNELS HEIGHT WIDTH RUNS".into());
    };
    let bytes = std::fs::read(path)?;
    let dims = [1, c, h, w];
    let params = PeakParams {
        mode: Mode::Local,
        refinement: Refinement::Integral,
        layout: Some(Layout::Nchw),
        grid: Some(Grid::Strided),
        ..PeakParams::default()
    };
    let mut finder = PeakFinder::new(&TensorDesc::fixed("maps", TensorType::Float32, &dims), [w, h], params)?;
    let view = TensorView::new("maps", TensorType::Float32, &dims, &bytes)?;
    let mut found = Vec::new();
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = Instant::now();
        finder.run(&view, &Affine::IDENTITY, &mut found)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    // A cell's centre is half a cell beyond its index.
    let peaks: Vec<_> =
        found.iter().map(|p| format!("[{},{},{}]", p.channel, p.x - 0.5, p.y - 0.5)).collect();
    println!("{{\"us\":{times:.2?},\"peaks\":[{}]}}", peaks.join(","));
    Ok(())
}
