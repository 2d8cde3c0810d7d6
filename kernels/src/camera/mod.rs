//! The camera's motion from one frame to the next, so that objects can move along before they are compared.
//!
//! As in BoT-SORT (Aharon et al., arXiv:2206.14651, section 3.2): corners of the background are tracked from the previous
//! frame to this one, and the similarity transform that most of them agree on is the camera's motion.
//!
//! # What is computed
//!
//! 1. **Picture.** The frame becomes gray and shrinks to at most 512x288 pixels ([`Shrink`], or [`CudaShrink`] with the same
//!    bits): each pixel is the mean of what it covers, summed up in whole numbers (`sums/`). All lengths below are in pixels of
//!    this picture.
//! 2. **Corners.** The best of each cell of 32x32 pixels by the smaller eigenvalue of the gradients' covariance (Shi and
//!    Tomasi, "Good Features to Track", CVPR 1994), so that they are spread over the picture. None inside boxes, because
//!    objects move by themselves.
//! 3. **Flow.** Pyramidal Lucas-Kanade (Bouguet, "Pyramidal Implementation of the Lucas Kanade Feature Tracker", Intel 2000)
//!    over windows of 12x12 on three levels, blind to brightness and contrast. A corner counts if following it back leads to
//!    where it came from (Kalal et al., "Forward-Backward Error", ICPR 2010), and if it did not end in a box.
//! 4. **Agreement.** RANSAC (Fischler and Bolles, 1981) with samples of two, then least squares over those that agree.
//!
//! Nothing is random, and nothing depends on threads: the same pictures and boxes give the same bits.
//!
//! # When there is an answer
//!
//! There is no answer for the first picture and the first of another size; where fewer than 10 corners agree, or less than
//! two in five of those that could be followed; where their scatter implies an error of more than half a pixel in a corner
//! of the picture (corners are few, or all in one place); and where the picture would turn by more than 15 degrees, grow or
//! shrink by more than a fifth, or its middle move by more than a quarter of it: further than flow reaches.
//! Motion of up to some 25 pixels a frame is found: 100 pixels in 1080p.
//!
//! A camera that moves no corner of the picture by more than a twentieth of a pixel stands still: the answer is
//! [`Affine::IDENTITY`], so that noise does not shake tracks. The previous picture then stays the one to compare with, for at
//! most 30 frames, so that very slow motion adds up until it is found.
//!
//! # What to expect
//!
//! For OpenCV's `vtest.avi`, a standing camera that films people, without boxes, all of 300 frames give the identity. Scaled
//! to 1080p and shaken by known transforms (some 6 pixels and 0.3 degrees a frame), its motion is found to 0.09 pixels (median
//! of 59 frames, in the corner of the frame that is worst; 0.22 at most). BoT-SORT's way, OpenCV's `goodFeaturesToTrack`,
//! `calcOpticalFlowPyrLK` and `estimateAffinePartial2D` on half of the size, errs by 0.18 and 0.43 there.

mod corners;
mod error;
mod estimator;
mod flow;
mod mask;
mod picture;
mod pyramid;
mod ransac;
mod shrink;
mod sums;
#[cfg(test)]
mod tests;

pub(crate) use flow::way_of;
pub(crate) use pyramid::{LEVELS, Pyramid};

pub use error::CameraError;
pub use estimator::Estimator;
pub use picture::{LONGEST, Picture, SHORTEST, picture_size};
pub use shrink::{CudaShrink, Shrink};

#[cfg(doc)]
use crate::geometry::Affine;
