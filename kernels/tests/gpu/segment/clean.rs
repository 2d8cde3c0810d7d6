//! Clean-up.

use cudainfer_kernels::device::{CudaStream, DeviceTensor};
use cudainfer_kernels::segment::{CudaSegmenter, SegmentParams, Segmenter};
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};

use super::super::{Random, download, stream, upload};

/// The mask of `classes` cells, cleaned: as logits of 4 classes of which each cell's is 1; or as a soft mask, whose levels
/// are 64 times the classes.
fn same(stream: &CudaStream, classes: &[usize], [h, w]: [usize; 2], params: SegmentParams, what: &str) {
    let (dims, values): (_, Vec<f32>) = if params.soft {
        ([1, 1, h, w], classes.iter().map(|class| *class as f32 * 0.25).collect())
    } else {
        let of = |class: usize| classes.iter().map(move |of| if *of == class { 1.0 } else { 0.0 });
        ([1, 4, h, w], (0..4).flat_map(of).collect())
    };
    let desc = TensorDesc::fixed("logits", TensorType::Float32, &dims);
    let data: &[u8] = bytemuck::cast_slice(&values);
    let mut wanted = vec![0; h * w];
    let mut cpu = Segmenter::new(&desc, [w, h], params).unwrap();
    cpu.run(&TensorView::new("logits", desc.ty, &dims, data).unwrap(), &mut wanted).unwrap();
    let mut gpu = CudaSegmenter::new(&desc, [w, h], params, stream).unwrap();
    let (memory, mask) = (upload(stream, data), upload(stream, &vec![0xee; h * w + 1]));
    // A second frame: nothing is left of the first one.
    for _ in 0..2 {
        let logits = DeviceTensor::new("logits", desc.ty, &dims, memory.slice()).unwrap();
        gpu.run(stream, &logits, mask.slice().first(h * w)).unwrap();
    }
    let got = download(stream, mask.slice());
    assert!(got[..h * w] == wanted, "{what} {h}x{w} {params:?}");
    assert_eq!(got[h * w], 0xee);
}

/// Patterns that are hard in one way or another.
fn patterns(random: &mut Random, [h, w]: [usize; 2]) -> Vec<(&'static str, Vec<usize>)> {
    let drawn = |of: &dyn Fn(usize, usize) -> usize| (0..h * w).map(|i| of(i % w, i / w)).collect::<Vec<_>>();
    vec![
        ("one area", drawn(&|_, _| 2)),
        ("none", drawn(&|_, _| 0)),
        ("a board", drawn(&|x, y| (x + y) % 2)),
        // One line that winds through everything, and one that is cut.
        ("snake", drawn(&|x, y| usize::from(y % 2 == 0 || x == if y % 4 == 1 { w - 1 } else { 0 }))),
        ("columns", drawn(&|x, y| usize::from(x % 2 == 0 && y != h / 2))),
        ("comb", drawn(&|x, y| usize::from(x % 2 == 0 || y + 1 == h))),
        ("rings", drawn(&|x, y| x.abs_diff(w / 2).max(y.abs_diff(h / 2)) / 2 % 4)),
        ("noise", (0..h * w).map(|_| random.below(4)).collect()),
        ("sparse", (0..h * w).map(|_| random.below(20).saturating_sub(16)).collect()),
        ("dense", (0..h * w).map(|_| usize::from(random.below(10) > 0)).collect()),
    ]
}

#[test]
#[ignore = "needs a CUDA device"]
fn opening_and_closing_are_the_cpus() {
    let stream = stream();
    let mut random = Random::new(2);
    for size in [[1, 1], [9, 17], [65, 33], [70, 130]] {
        for (what, classes) in patterns(&mut random, size) {
            for (opening, closing) in [(1, 0), (0, 1), (2, 3), (32, 0), (0, 32)] {
                for soft in [false, true] {
                    let params = SegmentParams { opening, closing, soft, ..SegmentParams::default() };
                    same(&stream, &classes, size, params, what);
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn small_areas_are_the_cpus() {
    let stream = stream();
    let mut random = Random::new(3);
    for size in [[1, 1], [9, 17], [65, 33], [70, 130], [257, 300]] {
        for (what, classes) in patterns(&mut random, size) {
            for min_area in [2, 5, 60, 4000, u32::MAX] {
                for soft in [false, true] {
                    same(
                        &stream,
                        &classes,
                        size,
                        SegmentParams { min_area, soft, ..SegmentParams::default() },
                        what,
                    );
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn all_of_it_together_is_the_cpus() {
    let stream = stream();
    let mut random = Random::new(4);
    for (what, classes) in patterns(&mut random, [120, 97]) {
        for soft in [false, true] {
            let params =
                SegmentParams { opening: 1, closing: 2, min_area: 30, soft, ..SegmentParams::default() };
            same(&stream, &classes, [120, 97], params, what);
        }
    }
}
