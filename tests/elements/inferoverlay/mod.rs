//! The element inferoverlay: what it draws, hides and leaves.

mod drawing;
mod lettering;
mod privacy;
