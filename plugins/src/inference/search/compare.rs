//! Whether two variants of a session give the same, but for rounding.

use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use half::f16;

use super::groups::Channels;
use crate::inference::{Config, Precision};
use crate::meta::tensor::Tensor;
use crate::model::onnx::{has_float16_weights, is_quantised};

/// How far apart outputs may be: shares of the measure of each group of channels ([`super::groups`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::inference) enum Tolerance {
    /// For float32 throughout: a thousandth, a tenth of that on average. Sums in another order differ by 1e-5 and less; a wrong
    /// layout or a missing bias by the whole measure.
    Float32,
    /// For float32 in another runtime: as [`Tolerance::Float32`], or a few of the last digits of 1. What is near 0 may be 1 minus
    /// another number: of noise without a person, selfie's sigmoid makes 3e-5, of which OpenVINO and ONNX Runtime differ by 5e-8.
    OtherRuntime,
    /// For models that compute in float16 or TF32, which keep 10 bits of each number: a quarter, 2 % on average. On an H200 a YOLOv8n
    /// with random weights as nhwc+fused differs by 3.6 % of its boxes' range at most, and by 14 % of its scores', which are steep
    /// where they are uncertain; on average by 0.4 %. DeepLabV3 differs by 0.2 %.
    Rounded,
    /// For quantised models: half, 5 % on average. A sum whose last bit differs may give the neighbouring integer, and each layer about doubles
    /// what becomes of that. Computed with other sums, but in the same 8 bits, noise makes outputs of PoseNet's MobileNet that differ
    /// by 12 % of the largest at most, and of NanoDet by 4 %, while 40 layers of it are the same to the bit.
    Quantised,
}

impl Tolerance {
    /// For the model and the numbers that it computes in.
    pub fn of(config: &Config) -> Self {
        let is_rounded = config.precision != Precision::Model || has_float16_weights(&config.model);
        if is_quantised(&config.model) {
            Self::Quantised
        } else if is_rounded {
            Self::Rounded
        } else {
            Self::Float32
        }
    }

    /// How far a value may be off, and the root of the mean square of all.
    fn shares(self) -> [f64; 2] {
        match self {
            Self::Float32 | Self::OtherRuntime => [1e-3, 1e-4],
            Self::Rounded => [0.25, 2e-2],
            Self::Quantised => [0.5, 5e-2],
        }
    }

    /// What is no difference, whatever the values are.
    fn least(self) -> f64 {
        match self {
            Self::Float32 | Self::Rounded | Self::Quantised => 0.0,
            Self::OtherRuntime => 1e-6,
        }
    }
}

/// Share of an output's integers that may differ: classes of pixels where two are equally probable.
const INTEGERS: f64 = 0.01;

/// Whether the outputs are the expected ones within the tolerance; values that are not finite must be so in both.
///
/// # Errors
/// The first output that differs, in words.
pub(in crate::inference) fn agree(
    expected: &[Tensor],
    found: &[Tensor],
    tolerance: Tolerance,
) -> Result<(), String> {
    if expected.len() != found.len() {
        return Err(format!("it gives {} outputs instead of {}", found.len(), expected.len()));
    }
    expected.iter().zip(found).try_for_each(|(expected, found)| {
        if expected.desc != found.desc {
            return Err(format!("it gives {} instead of {}", found.desc, expected.desc));
        }
        let read =
            |tensor: &Tensor| tensor.data.map_readable().map(|map| map.to_vec()).map_err(|e| e.to_string());
        let (a, b) = (read(expected)?, read(found)?);
        match expected.desc.ty {
            TensorType::Float32 => {
                floats(&expected.desc, [a.as_chunks(), b.as_chunks()], f32::from_ne_bytes, tolerance)
            }
            TensorType::Float16 => {
                let number = |bytes| f16::from_ne_bytes(bytes).to_f32();
                floats(&expected.desc, [a.as_chunks(), b.as_chunks()], number, tolerance)
            }
            ty => integers(&a, &b, ty.size()),
        }
        .map_err(|why| format!("{}: {why}", expected.desc))
    })
}

/// Elements of `N` bytes, and the bytes after the last one.
type Elements<'a, const N: usize> = (&'a [[u8; N]], &'a [u8]);

fn floats<const N: usize>(
    desc: &TensorDesc,
    [(expected, _), (found, _)]: [Elements<'_, N>; 2],
    number: impl Fn([u8; N]) -> f32,
    tolerance: Tolerance,
) -> Result<(), String> {
    let mut channels = Channels::of(desc);
    channels.add(expected, found, |bytes| f64::from(number(*bytes)))?;
    channels.groups().try_for_each(|(measure, group)| {
        let [most, usual] = tolerance.shares().map(|share| (share * measure).max(tolerance.least()));
        let (far, mean) = (group.far(), group.mean());
        if far <= most && mean <= usual {
            return Ok(());
        }
        Err(format!(
            "it differs by {far:.3e} and by {mean:.3e} on average, but may by {most:.3e} and {usual:.3e} where values are up to {:.3e}",
            group.size()
        ))
    })
}

fn integers(expected: &[u8], found: &[u8], size: usize) -> Result<(), String> {
    let (expected, found) = (expected.chunks_exact(size), found.chunks_exact(size));
    let count = expected.len();
    let different = expected.zip(found).filter(|(a, b)| a != b).count();
    if different as f64 <= INTEGERS * count as f64 {
        return Ok(());
    }
    Err(format!("{different} of {count} elements differ"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(name: &str, ty: TensorType, bytes: Vec<u8>) -> Tensor {
        gst::init().unwrap();
        let count = bytes.len() / ty.size();
        Tensor { desc: TensorDesc::fixed(name, ty, &[1, count]), data: gst::Buffer::from_slice(bytes) }
    }

    fn float32(values: &[f32]) -> Tensor {
        tensor("scores", TensorType::Float32, values.iter().flat_map(|v| v.to_ne_bytes()).collect())
    }

    fn float16(values: &[f32]) -> Tensor {
        let bytes = values.iter().flat_map(|v| f16::from_f32(*v).to_ne_bytes()).collect();
        tensor("scores", TensorType::Float16, bytes)
    }

    fn one(expected: Tensor, found: Tensor, tolerance: Tolerance) -> Result<(), String> {
        agree(&[expected], &[found], tolerance)
    }

    /// A thousand values from -100 to 100, of which `count` are off by `by`.
    fn off(count: usize, by: f32) -> [Vec<f32>; 2] {
        let expected: Vec<f32> = (0..=1000).map(|n| n as f32 / 5.0 - 100.0).collect();
        let found = expected.iter().enumerate().map(|(n, value)| if n < count { value + by } else { *value });
        [found.collect(), expected]
    }

    #[test]
    fn floats_may_differ_by_the_tolerances_shares_of_the_range() {
        use Tolerance::{Float32, Quantised, Rounded};
        let differs = |[found, expected]: [Vec<f32>; 2], tolerance| {
            one(float32(&expected), float32(&found), tolerance).err()
        };
        assert_eq!(differs(off(1, 0.19), Float32), None);
        let difference = differs(off(1, 0.21), Float32).unwrap();
        assert!(
            difference.contains("scores")
                && difference.contains("2.100e-1")
                && difference.contains("2.000e-1"),
            "{difference}"
        );
        assert!(differs(off(1000, 0.03), Float32).is_some(), "on average 0.02 is allowed");
        assert_eq!(differs(off(1000, 0.01), Float32), None);
        assert_eq!(differs(off(3, 49.0), Rounded), None);
        assert!(differs(off(3, 51.0), Rounded).is_some());
        assert!(differs(off(100, 19.0), Rounded).is_some(), "on average 4 is allowed");
        assert_eq!(differs(off(100, 30.0), Quantised), None);
        assert!(differs(off(3, 101.0), Quantised).is_some());
        assert!(differs(off(300, 30.0), Quantised).is_some(), "on average 10 is allowed");
        let halves = |[found, expected]: [Vec<f32>; 2]| one(float16(&expected), float16(&found), Rounded);
        assert_eq!(halves(off(3, 49.0)), Ok(()));
        assert!(halves(off(3, 51.0)).is_err());
    }

    /// A detector's output for two frames: boxes of up to 640 pixels, and scores of `score(class)`; `[2, 4 + 3, 50]`, or with the
    /// channels last.
    fn detector(channels_last: bool, score: impl Fn(usize) -> f32) -> Tensor {
        let channel = |channel: usize, at: usize| match channel {
            0..4 => (at * 13 % 641) as f32,
            class => score(class - 4) * (at % 10) as f32 / 10.0,
        };
        let values: Vec<f32> = (0..2 * 7 * 50)
            .map(|n| match channels_last {
                true => channel(n % 7, n / 7),
                false => channel(n / 50 % 7, n / 350 * 50 + n % 50),
            })
            .collect();
        let dims = if channels_last { [2, 50, 7] } else { [2, 7, 50] };
        Tensor { desc: TensorDesc::fixed("output0", TensorType::Float32, &dims), ..float32(&values) }
    }

    #[test]
    fn wrong_scores_do_not_hide_beside_boxes_in_pixels() {
        for channels_last in [false, true] {
            let expected = || detector(channels_last, |_| 0.9);
            for tolerance in [Tolerance::Float32, Tolerance::Rounded] {
                let found = |score: f32| {
                    let wrong = detector(channels_last, |class| if class == 1 { score } else { 0.9 });
                    one(expected(), wrong, tolerance)
                };
                assert_eq!(found(0.9001), Ok(()));
                assert!(found(0.7).unwrap_err().contains("up to 8.1"), "{:?}", found(0.7));
            }
        }
    }

    #[test]
    fn scores_of_classes_that_nothing_has_may_differ_by_rounding() {
        let scores = |rare: f32| detector(false, move |class| if class == 2 { rare } else { 0.9 });
        assert_eq!(one(scores(1e-4), scores(1.05e-4), Tolerance::Rounded), Ok(()));
        assert!(one(scores(1e-4), scores(0.1), Tolerance::Rounded).is_err());
    }

    #[test]
    fn an_output_of_one_value_is_measured_by_that_value() {
        assert_eq!(one(float32(&[5.0; 4]), float32(&[5.00004; 4]), Tolerance::Float32), Ok(()));
        assert!(one(float32(&[5.0; 4]), float32(&[5.001; 4]), Tolerance::Float32).is_err());
        assert_eq!(one(float32(&[0.0]), float32(&[0.0]), Tolerance::Float32), Ok(()));
        assert!(one(float32(&[0.0]), float32(&[1e-9]), Tolerance::Float32).is_err());
    }

    #[test]
    fn another_runtimes_last_digits_of_1_are_no_difference_and_larger_ones_are() {
        let sigmoid = |off: f32| float32(&[1e-5, 3e-5 + off]);
        assert_eq!(one(sigmoid(0.0), sigmoid(1e-7), Tolerance::OtherRuntime), Ok(()));
        assert!(one(sigmoid(0.0), sigmoid(1e-7), Tolerance::Float32).is_err());
        assert!(one(sigmoid(0.0), sigmoid(1e-5), Tolerance::OtherRuntime).is_err());
        let [expected, found] = off(1, 0.5);
        assert!(one(float32(&expected), float32(&found), Tolerance::OtherRuntime).is_err());
    }

    #[test]
    fn what_is_not_finite_is_so_in_both() {
        let (nan, infinite) = (f32::NAN, f32::INFINITY);
        let expected = || float32(&[nan, infinite, 0.0, 1.0]);
        assert_eq!(one(expected(), expected(), Tolerance::Rounded), Ok(()));
        for wrong in [[0.5, infinite, 0.0, 1.0], [nan, -infinite, 0.0, 1.0], [nan, infinite, nan, 1.0]] {
            assert!(one(expected(), float32(&wrong), Tolerance::Rounded).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn few_integers_may_differ_and_dimensions_may_not() {
        let classes = |changed: usize| {
            let bytes = (0..200).map(|i| if i < changed { 9 } else { 1 }).collect();
            tensor("classes", TensorType::UInt8, bytes)
        };
        assert_eq!(one(classes(0), classes(2), Tolerance::Rounded), Ok(()));
        assert!(one(classes(0), classes(3), Tolerance::Rounded).unwrap_err().contains("3 of 200"));
        assert!(one(float32(&[1.0]), float32(&[1.0, 1.0]), Tolerance::Rounded).is_err());
        assert!(one(float32(&[1.0]), float16(&[1.0]), Tolerance::Rounded).is_err());
        assert!(agree(&[float32(&[1.0])], &[], Tolerance::Rounded).is_err());
    }
}
