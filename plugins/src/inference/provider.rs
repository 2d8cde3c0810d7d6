//! Providers and precisions, as the properties name them.

use crate::property::Words;

/// Where a model runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferProvider")]
pub enum Provider {
    /// The first of the others that works.
    #[default]
    #[enum_value(
        name = "The first of tensorrt, tensorrt-rtx, cuda and cpu that works; instead of cuda fused, and instead of cpu openvino, where that is \
                faster",
        nick = "auto"
    )]
    Auto,
    /// NVIDIA TensorRT.
    #[enum_value(name = "NVIDIA TensorRT", nick = "tensorrt")]
    TensorRt,
    /// NVIDIA TensorRT for RTX.
    #[enum_value(name = "NVIDIA TensorRT for RTX", nick = "tensorrt-rtx")]
    TensorRtRtx,
    /// cudainfer's own engine for convolutional networks.
    #[enum_value(name = "cudainfer's own engine for convolutional networks on NVIDIA GPUs", nick = "fused")]
    Fused,
    /// CUDA and cuDNN.
    #[enum_value(name = "NVIDIA CUDA and cuDNN", nick = "cuda")]
    Cuda,
    /// ONNX Runtime on the CPU.
    #[enum_value(name = "ONNX Runtime on the CPU", nick = "cpu")]
    Cpu,
    /// OpenVINO.
    #[enum_value(
        name = "Intel's OpenVINO, on any maker's CPU or on Intel's GPUs and NPUs",
        nick = "openvino"
    )]
    OpenVino,
    /// A plugin of ONNX Runtime.
    #[enum_value(name = "A plugin of ONNX Runtime 1.23 or newer: provider-library", nick = "plugin")]
    Plugin,
}

impl Words for Provider {}

impl Provider {
    /// Whether frames' tensors are on the host where it runs models, so that workers with a session each use it best. A plugin takes
    /// them to its device itself.
    pub fn is_on_host(self) -> bool {
        matches!(self, Self::Cpu | Self::OpenVino | Self::Plugin)
    }
}

/// The numbers in which a model is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferPrecision")]
pub enum Precision {
    /// The model's own.
    #[default]
    #[enum_value(name = "Those of the model", nick = "model")]
    Model,
    /// float32 models on the tensor cores, which read float32 with 10 bits instead of 23.
    #[enum_value(
        name = "CUDA: float32 models round what convolutions and products read to TF32",
        nick = "tf32"
    )]
    Tf32,
    /// float16: converted, or where that is faster.
    #[enum_value(
        name = "CUDA and the CPU: float32 models are converted to float16; TensorRT: float16 where that is faster",
        nick = "float16"
    )]
    Float16,
    /// bfloat16, which has float32's range and 8 bits.
    #[enum_value(
        name = "OpenVINO: float32 models are computed in bfloat16, on processors that have it",
        nick = "bfloat16"
    )]
    Bfloat16,
    /// int8 where that is faster, float16 otherwise.
    #[enum_value(
        name = "TensorRT: int8 where the model is quantised or calibrated, else float16",
        nick = "int8"
    )]
    Int8,
}

impl Words for Precision {}

/// Where OpenVINO runs a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpenVinoDevice {
    /// The CPU.
    #[default]
    Cpu,
    /// Intel's GPU, or the one of this number.
    Gpu(Option<u32>),
    /// Intel's NPU.
    Npu,
}

impl OpenVinoDevice {
    /// The device that `GPU`, `GPU.1`, `NPU` or `CPU` names, in letters of either case.
    pub fn named(text: &str) -> Option<Self> {
        let text = text.to_ascii_uppercase();
        match text.as_str() {
            "CPU" => Some(Self::Cpu),
            "GPU" => Some(Self::Gpu(None)),
            "NPU" => Some(Self::Npu),
            _ => {
                let number = text.strip_prefix("GPU.")?;
                // u32's own parser accepts "+1", too.
                let digits = number.bytes().all(|byte| byte.is_ascii_digit());
                number.parse().ok().filter(|_| digits).map(|number| Self::Gpu(Some(number)))
            }
        }
    }

    /// OpenVINO's name for it.
    pub fn name(self) -> String {
        match self {
            Self::Cpu => "CPU".into(),
            Self::Gpu(None) => "GPU".into(),
            Self::Gpu(Some(number)) => format!("GPU.{number}"),
            Self::Npu => "NPU".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openvinos_devices_are_named_as_it_names_them_in_either_case() {
        for name in ["CPU", "GPU", "GPU.0", "GPU.12", "NPU"] {
            assert_eq!(OpenVinoDevice::named(name).unwrap().name(), name);
            assert_eq!(OpenVinoDevice::named(&name.to_lowercase()), OpenVinoDevice::named(name));
        }
        for wrong in ["", "GPU.", "GPU.+1", "GPU:1", "AUTO", "CPU.0"] {
            assert_eq!(OpenVinoDevice::named(wrong), None, "{wrong}");
        }
    }
}
