//! The element tracker: tracks of objects and of poses.

mod poses;
mod tracks;
