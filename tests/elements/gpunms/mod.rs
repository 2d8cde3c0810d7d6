//! The element gpunms: objects of the outputs of every kind of detector.

mod coordinates;
mod coverage;
mod faces;
mod heads;
mod lists;
mod oriented;
mod queries;
mod raw_heads;
mod thresholds;
