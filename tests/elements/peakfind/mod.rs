//! The element peakfind: points, and to which object they belong.

mod grouping;
mod keypoints;
