//! Pipelines as users write them: the files of pipelines/ with their keys, the elements in them, the values of properties, and
//! what an element's error says. The programs `cudainfer-serve` and `cudainfer-batch` share it.
//!
//! It uses GStreamer and the installed plugin `cudainfer`, and links neither the plugin nor its kernels.

pub mod elements;
pub mod error;
pub mod file;
pub mod gstreamer;
pub mod properties;
