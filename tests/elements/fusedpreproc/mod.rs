//! The element fusedpreproc: which pixels become the tensor, and what is said of those that are not as they are shown.

mod colours;
mod cropping;
mod orientation;
mod regions;
mod tensors;
mod tiles;
