//! One command, many videos: runs a pipeline over each, several at a time in one process, with one model for all.
//!
//! It uses GStreamer and the installed plugin `cudainfer`, and links neither the plugin nor its kernels. What schedules many such
//! processes are Slurm and Kubernetes: this program takes its share of the videos, says by its exit code what to do next, and goes
//! on where an earlier one was stopped.

#![forbid(unsafe_code)]

pub mod arguments;
pub mod batch;
pub mod content;
pub mod digest;
pub mod exit;
pub mod folder;
pub mod loaded;
pub mod pipeline;
pub mod plan;
pub mod prepare;
pub mod progress;
pub mod run;
pub mod share;
pub mod silent;
pub mod stall;
pub mod summary;
pub mod videos;
pub mod work;
