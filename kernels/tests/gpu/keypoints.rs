//! The operation `keypoints`.

use cudainfer_kernels::detect::AxisOrder;
use cudainfer_kernels::device::{CudaStream, DeviceTensor, Memory};
use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::keypoints::{
    CoordinateParams, CudaReader, CudaSimcc, InstanceReader, KeypointsError, PointFormat, PointOutputs,
    PointReader, PoseOutputs, PoseReader, RowReader, SimccParams, SimccReader,
};
use cudainfer_kernels::peaks::{Activation, Peak};
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};
use half::f16;

use super::{Random, stream, upload};

/// Another map to the frame for each row.
fn to_frame(i: usize) -> Affine {
    let k = i as f64;
    Affine::upright([1.0 + 0.03125 * k, 1.5 - 0.03125 * k], [-3.0 * k, 10.5 + k])
}

/// An output of several rows, on both sides.
struct Output {
    name: &'static str,
    ty: TensorType,
    dims: Vec<usize>,
    bytes: Vec<u8>,
    memory: Memory,
}

impl Output {
    fn new(stream: &CudaStream, name: &'static str, ty: TensorType, dims: &[usize], values: &[f32]) -> Self {
        let bytes: Vec<u8> = match ty {
            TensorType::Float16 => values.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect(),
            _ => bytemuck::cast_slice(values).to_vec(),
        };
        let memory = upload(stream, &bytes);
        Self { name, ty, dims: dims.to_vec(), bytes, memory }
    }

    /// One row's.
    fn desc(&self) -> TensorDesc {
        let mut dims = self.dims.clone();
        dims[0] = 1;
        TensorDesc::fixed(self.name, self.ty, &dims)
    }

    fn row(&self, row: usize) -> TensorView<'_> {
        TensorView::new(self.name, self.ty, &self.dims, &self.bytes).unwrap().row(row).unwrap()
    }

    fn on_device(&self) -> DeviceTensor<'_> {
        DeviceTensor::new(self.name, self.ty, &self.dims, self.memory.slice()).unwrap()
    }
}

/// Few levels, so that equal values abound, zeros of both signs and now and then a value that is not finite.
fn values(random: &mut Random, count: usize) -> Vec<f32> {
    let value = |random: &mut Random| match random.below(50) {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => f32::NEG_INFINITY,
        n => [-0.5, -0.0, 0.0, 0.25, 0.5, 0.625, 0.75][n % 7],
    };
    (0..count).map(|_| value(random)).collect()
}

const TYPES: [TensorType; 2] = [TensorType::Float32, TensorType::Float16];

#[test]
#[ignore = "needs a CUDA device"]
fn simcc_finds_what_the_cpu_finds_in_every_row_and_type() {
    let (stream, mut random) = (stream(), Random::new(3));
    for (points, [width, height], split, rows) in
        [(1, [1, 1], 1, 1), (17, [192, 256], 2, 5), (133, [9, 17], 3, 8), (3, [40, 20], 1, 1)]
    {
        for of_x in TYPES {
            for of_y in TYPES {
                let [wx, wy] = [width * split, height * split];
                let mut output = |name, ty, cells| {
                    // Two rows more than are asked for.
                    let dims = [rows + 2, points, cells];
                    Output::new(&stream, name, ty, &dims, &values(&mut random, dims.iter().product()))
                };
                let (x, y) = (output("x", of_x, wx), output("y", of_y, wy));
                for activation in [Activation::None, Activation::Sigmoid] {
                    let params = SimccParams { activation, ..SimccParams::default() };
                    let input = [width, height];
                    let mut gpu = CudaSimcc::new(&x.desc(), &y.desc(), input, params, &stream).unwrap();
                    let mut cpu = SimccReader::new(&x.desc(), &y.desc(), input, params).unwrap();
                    for rows in [rows, 1, rows] {
                        let to_frame: Vec<_> = (0..rows).map(self::to_frame).collect();
                        let mut found = vec![vec![Peak { channel: 9, x: 0.0, y: 0.0, score: 0.0 }]];
                        gpu.start(&stream, &x.on_device(), &y.on_device(), &to_frame).unwrap();
                        let outcomes = gpu.finish(&stream, &mut found).unwrap();
                        assert_eq!((found.len(), outcomes.len()), (rows, rows));
                        for (row, (found, outcome)) in found.iter().zip(&outcomes).enumerate() {
                            let mut wanted = Vec::new();
                            let wanted_outcome =
                                cpu.run(&x.row(row), &y.row(row), &to_frame[row], &mut wanted).unwrap();
                            assert_eq!((found, *outcome), (&wanted, wanted_outcome), "{points} {row}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn simcc_costs_one_launch_one_wait_and_no_allocation() {
    let stream = stream();
    let values = values(&mut Random::new(5), 4 * 17 * 512);
    let x = Output::new(&stream, "x", TensorType::Float32, &[4, 17, 384], &values[..4 * 17 * 384]);
    let y = Output::new(&stream, "y", TensorType::Float32, &[4, 17, 512], &values);
    let params = SimccParams::default();
    let mut gpu = CudaSimcc::new(&x.desc(), &y.desc(), [192, 256], params, &stream).unwrap();
    let to_frame: Vec<_> = (0..4).map(self::to_frame).collect();
    let mut found = Vec::new();
    let mut once = || {
        let counters = stream.counters();
        let before = [&counters.launches, &counters.host_waits, &counters.allocations].map(|c| c.get());
        gpu.start(&stream, &x.on_device(), &y.on_device(), &to_frame).unwrap();
        gpu.finish(&stream, &mut found).unwrap();
        let after = [&counters.launches, &counters.host_waits, &counters.allocations].map(|c| c.get());
        [0, 1, 2].map(|i| after[i] - before[i])
    };
    once();
    assert_eq!(once(), [1, 1, 0]);
    // Nothing is under way any more, and too many rows are refused.
    assert_eq!(gpu.finish(&stream, &mut found).unwrap(), []);
    let five: Vec<_> = (0..5).map(self::to_frame).collect();
    let error = gpu.start(&stream, &x.on_device(), &y.on_device(), &five).unwrap_err();
    assert!(matches!(error, KeypointsError::Rows { wanted: 5, .. }), "{error}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn coordinates_are_read_as_on_the_cpu_in_every_row_and_type() {
    let (stream, mut random) = (stream(), Random::new(4));
    for ty in TYPES {
        for order in [AxisOrder::Xy, AxisOrder::Yx] {
            let params = CoordinateParams { order, ..CoordinateParams::default() };
            let cases = [
                (&[5, 17, 2][..], None),
                (&[5, 17, 3], None),
                (&[5, 1, 17, 3], None),
                (&[5, 63], Some(PointFormat::Xyz)),
                (&[5, 195], Some(PointFormat::XyzVisibilityPresence)),
            ];
            for (dims, format) in cases {
                let params = CoordinateParams { format, ..params };
                let output = Output::new(&stream, "o", ty, dims, &values(&mut random, dims.iter().product()));
                let reader =
                    || PointReader::new(&PointOutputs::of(&output.desc()), [192, 256], params).unwrap();
                let (mut gpu, mut cpu) = (CudaReader::new(reader(), &stream).unwrap(), reader());
                for rows in [3, 5, 1, 0] {
                    let to_frame: Vec<_> = (0..rows).map(self::to_frame).collect();
                    gpu.start(&stream, &[output.on_device()], &to_frame).unwrap();
                    let wanted: Vec<_> =
                        (0..rows).map(|row| cpu.run(&[output.row(row)], &to_frame[row]).unwrap()).collect();
                    assert_eq!(gpu.finish(&stream).unwrap(), wanted);
                }
            }
            let output = Output::new(&stream, "o", ty, &[4, 6, 56], &values(&mut random, 4 * 6 * 56));
            let reader = || InstanceReader::new(&output.desc(), [192, 256], params).unwrap();
            let (mut gpu, mut cpu) = (CudaReader::new(reader(), &stream).unwrap(), reader());
            let to_frame: Vec<_> = (0..4).map(self::to_frame).collect();
            gpu.start(&stream, &[output.on_device()], &to_frame).unwrap();
            let wanted: Vec<_> =
                (0..4).map(|row| cpu.run(&[output.row(row)], &to_frame[row]).unwrap()).collect();
            assert_eq!(gpu.finish(&stream).unwrap(), wanted);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn outputs_that_are_read_together_are_copied_together_with_one_wait() {
    let (stream, mut random) = (stream(), Random::new(5));
    let points =
        Output::new(&stream, "p", TensorType::Float32, &[4, 6, 3, 2], &values(&mut random, 4 * 6 * 3 * 2));
    let scores = Output::new(&stream, "s", TensorType::Float16, &[4, 6, 3], &values(&mut random, 4 * 6 * 3));
    let (of_points, of_scores) = (points.desc(), scores.desc());
    let outputs = PoseOutputs {
        points: &of_points,
        scores: Some(&of_scores),
        poses: None,
        identities: None,
        valid: None,
    };
    let params = CoordinateParams { min_score: 0.0, ..CoordinateParams::default() };
    let reader = || PoseReader::new(&outputs, [192, 256], params).unwrap();
    let (mut gpu, mut cpu) = (CudaReader::new(reader(), &stream).unwrap(), reader());
    for rows in [2, 4] {
        let to_frame: Vec<_> = (0..rows).map(self::to_frame).collect();
        let waits = stream.counters().host_waits.get();
        gpu.start(&stream, &[points.on_device(), scores.on_device()], &to_frame).unwrap();
        let found = gpu.finish(&stream).unwrap();
        assert_eq!(stream.counters().host_waits.get() - waits, 1);
        let wanted: Vec<_> = (0..rows)
            .map(|row| cpu.run(&[points.row(row), scores.row(row)], &to_frame[row]).unwrap())
            .collect();
        assert!(wanted.iter().any(|(poses, _)| !poses.is_empty()));
        assert_eq!(found, wanted);
    }
    let error = gpu.start(&stream, &[points.on_device()], &[to_frame(0)]).unwrap_err();
    assert_eq!(error, KeypointsError::Count { got: 1, wanted: 2 });
}
