//! Against DeepLabCut's formula, cell by cell in f64: `HeatmapPredictor.get_pose_prediction` of DeepLabCut 3.0.2.

use proptest::prelude::*;

use super::*;

/// Of DeepLabCut's trainings.
const STDEV: f32 = 7.2801;

fn params(mode: Mode, layout: Layout) -> PeakParams {
    PeakParams {
        mode,
        refinement: Refinement::Offsets,
        offset_scale: STDEV,
        grid: Some(Grid::StridedHalf),
        layout: Some(layout),
        threshold: 0.0,
        ..PeakParams::default()
    }
}

fn with_offsets(
    map: &Map,
    offsets: &Map,
    input: [usize; 2],
    params: PeakParams,
) -> Result<Vec<Peak>, PeaksError> {
    let layout = params.layout.unwrap_or(Layout::Nchw);
    let [(dims, data), (offset_dims, offset_data)] = [laid_out(map, layout), laid_out(offsets, layout)];
    let desc = |name, dims: &[usize]| TensorDesc::fixed(name, TensorType::Float32, dims);
    let (map, offsets) = (desc("heatmap", &dims), desc("locref", &offset_dims));
    let mut finder = PeakFinder::with_offsets(&map, Some(&offsets), input, params)?;
    let maps = TensorView::new("heatmap", TensorType::Float32, &dims, bytemuck::cast_slice(&data)).unwrap();
    let offsets =
        TensorView::new("locref", TensorType::Float32, &offset_dims, bytemuck::cast_slice(&offset_data))
            .unwrap();
    let mut peaks = Vec::new();
    finder.run_with(&maps, Some(&offsets), &Affine::IDENTITY, &mut peaks)?;
    Ok(peaks)
}

proptest! {
    #[test]
    fn a_point_is_where_deeplabcut_puts_it(
        size in [1usize..4, 1usize..9, 1usize..9], stride in [4usize..17, 4usize..17], seed in 0u32..1000, last in any::<bool>(),
    ) {
        let [channels, h, w] = size;
        let value = |c: usize, y: usize, x: usize, salt: usize| {
            let mixed = (c * 7919 + y * 104_729 + x * 1_299_709 + salt + seed as usize * 15_485_863) % 1009;
            mixed as f32 / 1009.0
        };
        let map = map_of(channels, h, w, |c, y, x| value(c, y, x, 1));
        let offsets = map_of(2 * channels, h, w, |c, y, x| value(c, y, x, 500) - 0.5);
        let layout = if last { Layout::Nhwc } else { Layout::Nchw };
        let input = [w * stride[0], h * stride[1]];
        let found = with_offsets(&map, &offsets, input, params(Mode::Global, layout)).unwrap();
        prop_assert_eq!(found.len(), channels);
        for (c, peak) in found.iter().enumerate() {
            let cells = (0..h).flat_map(|y| (0..w).map(move |x| (x, y)));
            // numpy's argmax: the first of equals.
            let (x, y) = cells.rev().max_by(|a, b| map[c][a.1][a.0].total_cmp(&map[c][b.1][b.0])).unwrap();
            let along = |cell: usize, stride: usize, offset: f32| {
                cell as f64 * stride as f64 + 0.5 * stride as f64 + f64::from(offset) * f64::from(STDEV)
            };
            // Its first pixel's centre is 0.
            let wanted = [along(x, stride[0], offsets[2 * c][y][x]), along(y, stride[1], offsets[2 * c + 1][y][x])];
            let off = [f64::from(peak.x) - 0.5 - wanted[0], f64::from(peak.y) - 0.5 - wanted[1]].map(f64::abs);
            // Float32 of up to 160 pixels.
            prop_assert!(off[0] < 1e-4 && off[1] < 1e-4, "{:?}, not {:?}", peak, wanted);
            prop_assert_eq!(peak.score, map[c][y][x]);
        }
    }
}

#[test]
fn every_maximum_has_its_own_offset_and_one_that_is_not_finite_is_none() {
    let map = map_of(1, 5, 7, |_, y, x| if (x, y) == (1, 1) || (x, y) == (5, 3) { 0.9 } else { 0.1 });
    let offsets = map_of(2, 5, 7, |c, _, x| if x == 5 { f32::NAN } else { [0.25, -0.5][c] });
    let params = PeakParams { threshold: 0.5, ..params(Mode::Local, Layout::Nchw) };
    let found = with_offsets(&map, &offsets, [56, 40], params).unwrap();
    let at: Vec<_> = found.iter().map(|peak| (peak.x, peak.y)).collect();
    assert_eq!(at, [(12.5 + 0.25 * STDEV, 12.5 - 0.5 * STDEV), (44.5, 28.5)]);
}

#[test]
fn offsets_that_are_missing_or_of_another_map_are_refused() {
    let params = params(Mode::Global, Layout::Nchw);
    let map = map_of(2, 4, 4, |_, _, _| 0.5);
    let refused = |offsets: &Map| with_offsets(&map, offsets, [32, 32], params).unwrap_err().to_string();
    for wrong in
        [map_of(2, 4, 4, |_, _, _| 0.0), map_of(4, 4, 8, |_, _, _| 0.0), map_of(5, 4, 4, |_, _, _| 0.0)]
    {
        let error = refused(&wrong);
        assert!(
            error.contains("'locref") && error.contains("no offsets of confidence map 'heatmap"),
            "{error}"
        );
    }
    let desc = TensorDesc::fixed("heatmap", TensorType::Float32, &[1, 2, 4, 4]);
    let error = PeakFinder::new(&desc, [32, 32], params).unwrap_err();
    assert!(error.to_string().contains("name it with offsets"), "{error}");
    let half = TensorDesc::fixed("locref", TensorType::Float16, &[1, 4, 4, 4]);
    let error = PeakFinder::with_offsets(&desc, Some(&half), [32, 32], params).unwrap_err();
    assert!(matches!(error, PeaksError::Offsets { .. }), "{error}");
    for scale in [f32::NAN, f32::INFINITY, 1e4] {
        let params = PeakParams { offset_scale: scale, ..params };
        assert!(
            matches!(PeakFinder::new(&desc, [32, 32], params), Err(PeaksError::OffsetScale(_))),
            "{scale}"
        );
    }
}
