//! The element tracker: tracks of objects and of poses.

mod appearance;
mod between;
mod individuals;
mod poses;
mod tracks;
