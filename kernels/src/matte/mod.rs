//! What becomes of a soft mask of a whole frame, a byte a pixel: 0 for none of it, 255 for all.
//!
//! [`Guided`] moves its edges to those of the picture, [`Feather`] makes them softer, [`Foreground`] takes the background's colours out of
//! them, and [`Corners`] lays it into the unused corners of a stereo pair of fisheye pictures. All work on the CPU.

mod corners;
mod feather;
mod foreground;
mod guided;
#[cfg(test)]
mod tests;

pub use corners::{Corners, Strip};
pub use feather::{Feather, MOST_FEATHER};
pub use foreground::Foreground;
pub use guided::Guided;

/// A soft mask or a picture of another size than it was prepared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatteError {
    /// Sizes that do not fit.
    #[error("a plane of {wanted} bytes was expected, and {given} came; prepare anew for the other size")]
    Room {
        /// What fits.
        wanted: usize,
        /// What came.
        given: usize,
    },
    /// No side by side pair.
    #[error(
        "a frame of {0}x{1} pixels holds no two fisheye pictures side by side: they need 40 columns and 20 rows at least"
    )]
    Small(usize, usize),
}

/// Refuses planes that have not `wanted` bytes.
fn check(wanted: usize, planes: &[&[u8]]) -> Result<(), MatteError> {
    match planes.iter().map(|plane| plane.len()).find(|given| *given != wanted) {
        Some(given) => Err(MatteError::Room { wanted, given }),
        None => Ok(()),
    }
}
