//! Peaks that another output of the network refines.

use super::*;

/// Some of the offsets are not finite.
fn offsets(random: &mut Random, [c, h, w]: [usize; 3]) -> Vec<f32> {
    let mut data: Vec<f32> = (0..2 * c * h * w).map(|_| random.range(-1.5, 1.5)).collect();
    for value in &mut data {
        if random.below(30) == 0 {
            *value = f32::NAN;
        }
    }
    data
}

#[test]
#[ignore = "needs a CUDA device"]
fn offsets_of_every_layout_and_type_refine_as_on_the_cpu_in_batches_too() {
    let stream = stream();
    let mut random = Random::new(23);
    for dims @ [channels, height, width] in [[1, 1, 1], [3, 9, 17], [5, 33, 65], [17, 18, 24]] {
        let input = [8 * width, 8 * height];
        for layout in [Layout::Nchw, Layout::Nhwc] {
            for ty in [TensorType::Float32, TensorType::Float16] {
                let frames: Vec<_> = (0..3)
                    .map(|_| {
                        let map = Map::new(&blobs(&mut random, dims), dims, layout, ty);
                        let twice = [2 * channels, height, width];
                        (map, Map::new(&offsets(&mut random, dims), twice, layout, ty))
                    })
                    .collect();
                let all = |of: fn(&(Map, Map)) -> &Map| {
                    let bytes: Vec<u8> = frames.iter().flat_map(|frame| of(frame).bytes.clone()).collect();
                    let mut dims = of(&frames[0]).dims.clone();
                    dims[0] = frames.len();
                    (upload(&stream, &bytes), dims)
                };
                let ((maps, map_dims), (others, other_dims)) = (all(|frame| &frame.0), all(|frame| &frame.1));
                let maps = DeviceTensor::new("maps", ty, &map_dims, maps.slice()).unwrap();
                let others = DeviceTensor::new("locref", ty, &other_dims, others.slice()).unwrap();
                for mode in [Mode::Local, Mode::Global] {
                    let params = PeakParams {
                        mode,
                        refinement: Refinement::Offsets,
                        offset_scale: 7.2801,
                        grid: Some(Grid::StridedHalf),
                        layout: Some(layout),
                        ..PeakParams::default()
                    };
                    let (map, offsets) = (frames[0].0.desc(), frames[0].1.desc());
                    let mut finder =
                        CudaPeaks::with_offsets(&map, Some(&offsets), input, params, &stream).unwrap();
                    finder.start_with(&stream, &maps, Some(&others), &[LETTERBOX; 3]).unwrap();
                    let mut found = Vec::new();
                    let outcomes = finder.finish(&stream, &mut found).unwrap();
                    for (number, (map, offsets)) in frames.iter().enumerate() {
                        let mut peaks = Vec::new();
                        let [maps, others] = [("maps", map), ("locref", offsets)]
                            .map(|(name, map)| TensorView::new(name, map.ty, &map.dims, &map.bytes).unwrap());
                        let mut on_cpu =
                            PeakFinder::with_offsets(&map.desc(), Some(&offsets.desc()), input, params)
                                .unwrap();
                        let outcome = on_cpu.run_with(&maps, Some(&others), &LETTERBOX, &mut peaks).unwrap();
                        let got = (found[number].clone(), outcomes[number]);
                        assert_same(
                            &got,
                            &(peaks, outcome),
                            &params,
                            &format!("frame {number} of {dims:?} {ty}"),
                        );
                    }
                }
            }
        }
    }
}
