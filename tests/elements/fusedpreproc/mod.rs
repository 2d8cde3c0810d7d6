//! The element fusedpreproc: which pixels become the tensor, and the warnings about frames that are shown in another form.

mod colours;
mod cropping;
mod follow;
mod orientation;
mod regions;
mod tensors;
mod tiles;
mod warp;
