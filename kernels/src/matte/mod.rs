//! What becomes of a soft mask of a whole frame, a byte a pixel: 0 for none of it, 255 for all.
//!
//! [`Guided`] moves its edges to those of the picture, [`Feather`] makes them softer, [`Foreground`] takes the background's colours out of
//! them, and [`Corners`] lays it into the unused corners of a stereo pair of fisheye pictures. [`CudaGuided`], [`CudaFeather`] and
//! [`CudaCorners`] do the same on a GPU, to the byte; the background's colours are taken out on the CPU alone.

mod corners;
mod cuda;
mod feather;
mod foreground;
mod guided;
#[cfg(test)]
mod tests;

pub use corners::{Corners, Strip};
pub use cuda::{CudaCorners, CudaFeather, CudaGuided};
pub use feather::{Feather, MOST_FEATHER};
pub use foreground::Foreground;
pub use guided::Guided;

use crate::device::DeviceError;

/// What a soft mask is not worked on for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
    /// The GPU failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Refuses planes that have not `wanted` bytes.
fn check(wanted: usize, planes: &[&[u8]]) -> Result<(), MatteError> {
    check_bytes(wanted, planes.iter().map(|plane| plane.len()))
}

fn check_bytes(wanted: usize, mut planes: impl Iterator<Item = usize>) -> Result<(), MatteError> {
    match planes.find(|given| *given != wanted) {
        Some(given) => Err(MatteError::Room { wanted, given }),
        None => Ok(()),
    }
}
