//! The computation of cudainfer's GStreamer elements: plain structs in, plain structs out, no GStreamer.
//!
//! One module per operation. Each has the parameters, their validation and an entry that runs it on the CPU; all but [`track`],
//! [`boxflow`], [`motion`](mod@motion), [`zones`], [`ground`], [`identify`], [`sanity`] and [`matte::Foreground`] have a second entry,
//! whose name begins with `Cuda`, that runs it on the GPU with the same results ([`device`]); [`copies`] are for the GPU alone.
//!
//! | module | input | output |
//! |---|---|---|
//! | [`preproc`] | a video frame | the network's input tensor and the [`geometry::Affine`] back to the frame |
//! | [`detect`] | a detector's output tensors | boxes in frame pixels, after NMS |
//! | [`peaks`] | confidence maps | sub-pixel points in frame pixels |
//! | [`keypoints`] | outputs with coordinates, or with scores along each axis | points in frame pixels |
//! | [`group`] | confidence maps, and outputs that connect points | instances: the points of each person or animal |
//! | [`classify`] | a classifier's scores | the best classes of each row |
//! | [`text`] | a recogniser's scores, step by step | the symbols of each line |
//! | [`segment`] | logits, or prototypes and coefficients | masks, at the network's size or the frame's |
//! | [`matte`] | a soft mask of the frame's size | the same with better or softer edges, or in the corners of fisheye pictures |
//! | [`maps`] | a map of numbers, or a picture | statistics of its numbers, and video of them |
//! | [`associate`] | two sets of boxes | cost matrices and the optimal assignment |
//! | [`appearance`] | boxes of a frame | their appearance: vectors to compare them by |
//! | [`camera`] | successive frames | how the camera has moved in between |
//! | [`boxflow`] | successive pictures, and boxes in the first | where what the boxes show is in the second |
//! | [`motion`](mod@motion) | successive pictures of a camera that stands still | where something moves |
//! | [`track`] | a frame's detections | stable identities over time |
//! | [`identify`] | an embedding, and a gallery of names | whose it is, and numbers for those who are nobody's |
//! | [`zones`] | a frame's objects with identities | who entered, left, stays or crossed a line, and counts; where everybody is in the world, and how fast |
//! | [`ground`] | four points with metres, places over time | a camera's map to the ground, and speeds there |
//! | [`sanity`] | statistics of a model's first outputs | what cannot be right about them |
//! | [`convert`] | a tensor | the same values in the other float type |
//! | [`channels_last`](mod@channels_last) | images with their channels first | the same with their channels last |
//! | [`copies`] | pieces of device memory | the same in other places, in one launch |
//! | [`draw`] | boxes, text, lines, points | the same, on a frame's pixels |
//!
//! [`words`](mod@words) has the words that users write for the values of the parameters' enums.

pub mod appearance;
pub mod associate;
pub mod boxflow;
pub mod camera;
pub mod channels_last;
pub mod classify;
pub mod convert;
pub mod copies;
pub mod detect;
pub mod device;
pub mod draw;
pub mod frame;
pub mod geometry;
pub mod ground;
pub mod group;
pub mod homography;
pub mod identify;
pub mod keypoints;
pub mod maps;
pub mod matte;
pub mod motion;
pub mod peaks;
pub mod preproc;
pub mod sanity;
pub mod segment;
pub mod tensor;
pub mod text;
pub mod track;
pub mod words;
pub mod zones;
