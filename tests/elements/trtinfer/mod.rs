//! The element trtinfer: how it reads and loads a model, and the tensors that it makes.

mod cache;
mod clips;
mod constants;
mod declared;
mod earlier;
mod exit;
mod float16;
mod fused;
mod gst_tensors;
mod inspect_model;
mod live;
mod modelinfo;
mod openvino;
mod prebuild;
mod recurrent;
mod shared_runtime;
mod unwinder;
mod webgpu;
