//! The element tracker: tracks of objects and of poses.

mod individuals;
mod poses;
mod tracks;
