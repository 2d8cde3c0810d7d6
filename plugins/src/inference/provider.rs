//! Providers and precisions, as the properties name them.

use crate::property::Words;

/// Where a model runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferProvider")]
pub enum Provider {
    /// The first of the others that works.
    #[default]
    #[enum_value(name = "The first of tensorrt, tensorrt-rtx, cuda and cpu that works", nick = "auto")]
    Auto,
    /// NVIDIA TensorRT.
    #[enum_value(name = "NVIDIA TensorRT", nick = "tensorrt")]
    TensorRt,
    /// NVIDIA TensorRT for RTX.
    #[enum_value(name = "NVIDIA TensorRT for RTX", nick = "tensorrt-rtx")]
    TensorRtRtx,
    /// CUDA and cuDNN.
    #[enum_value(name = "NVIDIA CUDA and cuDNN", nick = "cuda")]
    Cuda,
    /// The CPU.
    #[enum_value(name = "The CPU", nick = "cpu")]
    Cpu,
}

impl Words for Provider {}

/// The numbers in which a GPU computes.
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
    /// int8 where that is faster, float16 otherwise.
    #[enum_value(
        name = "TensorRT: int8 where the model is quantised or calibrated, else float16",
        nick = "int8"
    )]
    Int8,
}

impl Words for Precision {}
