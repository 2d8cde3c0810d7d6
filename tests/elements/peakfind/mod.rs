//! The element peakfind: points, and the objects to which they belong.

mod grouping;
mod keypoints;
mod sleap_nn;
