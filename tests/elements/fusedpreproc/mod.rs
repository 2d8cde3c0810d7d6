//! The element fusedpreproc: which pixels become the tensor, and the warnings about frames that are shown in another form.

mod budget;
mod colours;
mod cropping;
mod follow;
mod motion;
mod orientation;
mod regions;
mod tensors;
mod tiles;
mod warp;
