//! The variants of a session on CUDA: options of ONNX Runtime, and the order in which it is given the image, that are faster for
//! some models, slower for others, and fail for a few.
//!
//! Frames per second of CUDA graphs on an H200 (ONNX Runtime 1.31), by the size of the batch:
//!
//! | model | plain | nhwc | nhwc+fused | nhwc+fused+input |
//! |---|---|---|---|---|
//! | YOLOv8n float16, 1 / 4 / 16 | 1081 / 2705 / 4220 | 1320 / – / 4653 | 1480 / 3872 / 5980 | – / 3880 / 6510 |
//! | DeepLabV3 float16, 1 / 8 | 458 / 657 | 531 / 707 | 636 / 910 | – |
//! | NanoDet float32, 1 | 809 to 850 | 758 | 774 | – |
//!
//! A dash was not measured, or was not the fastest when it was.
//!
//! What that costs is the first run of each size: 0.2 s as plain and nhwc, 2.2 to 3 s as nhwc+fused, for which cuDNN compiles
//! kernels (6 to 8 s once a process). Left out, because they were no faster than nhwc+fused alone: an exhaustive search of cuDNN's
//! algorithms, a small workspace, and cudnn_conv_algo_search=DEFAULT, which takes 35 s. ONNX Runtime fuses x * sigmoid(x) to
//! QuickGelu by itself.

use ort::ep::CUDA;

use crate::inference::backend;
use crate::inference::image::ImageOrder;
use crate::inference::{Config, EngineSearch, Provider};

/// Options of the CUDA provider, and the form of the model that it runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Variant {
    /// The name that users, the log and the cache have for it.
    pub name: &'static str,
    /// Convolutions work on channels-last tensors, which the tensor cores read as they are; ONNX Runtime transposes where others
    /// do not.
    nhwc: bool,
    /// A convolution itself adds its bias, and what is added after it. Without `nhwc` cuDNN fails for some models when they run
    /// (HEURISTIC_QUERY_FAILED), so it is not offered alone.
    fused: bool,
    /// The order of the image: with its channels last, the graph begins without the transposition that `nhwc` has there.
    pub image: ImageOrder,
}

/// How ONNX Runtime runs a model by default.
pub(super) const PLAIN: Variant =
    Variant { name: backend::PLAIN, nhwc: false, fused: false, image: ImageOrder::AsModel };
const NHWC: Variant = Variant { name: "nhwc", nhwc: true, ..PLAIN };
const FUSED: Variant = Variant { name: "nhwc+fused", fused: true, ..NHWC };
pub(super) const INPUT: Variant =
    Variant { name: "nhwc+fused+input", image: ImageOrder::ChannelsLast, ..FUSED };
static ALL: [Variant; 4] = [PLAIN, NHWC, FUSED, INPUT];

/// The names of the variants to time. With a limit of device memory there is only one: two sessions at a time would exceed the
/// limit.
pub(super) fn worth_timing(config: &Config, provider: Provider) -> Vec<&'static str> {
    let count = match config.search {
        _ if provider != Provider::Cuda || config.memory_limit > 0 => 1,
        EngineSearch::Off => 1,
        EngineSearch::Quick => ALL.len(),
    };
    ALL.iter().take(count).map(|variant| variant.name).collect()
}

/// The variant of this name.
pub(super) fn named(name: &str) -> Option<&'static Variant> {
    ALL.iter().find(|variant| variant.name == name)
}

impl Variant {
    /// Sets the options that differ from those of [`PLAIN`]: older versions of ONNX Runtime do not know all of them.
    pub fn set(&self, mut cuda: CUDA) -> CUDA {
        if self.nhwc {
            cuda = cuda.with_prefer_nhwc(true);
        }
        if self.fused {
            cuda = cuda.with_fuse_conv_bias(true);
        }
        cuda
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(search: EngineSearch, provider: Provider, memory_limit: usize) -> Vec<&'static str> {
        worth_timing(&Config { search, memory_limit, ..Config::new("a.onnx") }, provider)
    }

    #[test]
    fn the_default_comes_first_and_is_all_that_is_left_without_a_search() {
        use EngineSearch::{Off, Quick};
        assert_eq!(names(Off, Provider::Cuda, 0), ["plain"]);
        assert_eq!(names(Quick, Provider::Cuda, 0), ["plain", "nhwc", "nhwc+fused", "nhwc+fused+input"]);
        for (provider, limit) in [(Provider::Cpu, 0), (Provider::TensorRt, 0), (Provider::Cuda, 1 << 30)] {
            assert_eq!(names(Quick, provider, limit), ["plain"], "{provider:?} {limit}");
        }
    }

    #[test]
    fn every_name_is_that_of_one_variant() {
        for variant in &ALL {
            assert_eq!(named(variant.name), Some(variant));
            assert!(!variant.name.contains(' '), "the cache divides its lines there");
        }
        assert_eq!(named("nchw"), None);
    }
}
