//! The element tracker: tracks of objects and of poses.

mod between;
mod individuals;
mod poses;
mod tracks;
