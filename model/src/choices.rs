//! Choices of sidecars and properties that are no parameter of a kernel, but decide on one.

use cudainfer_kernels::words;

/// What a classifier's scores are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassMode {
    /// The classes of an object.
    Classes,
    /// The characters of a line of text, with blanks and repetitions.
    Text,
    /// The character of each place of a line of text.
    Slots,
    /// The characters of a line of text one by one, and its end.
    Sequence,
    /// Numbers that are no scores of one set of classes.
    Values,
}

/// What the numbers of a slice of an output are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceMode {
    /// Scores of classes.
    Class,
    /// Each a value.
    Value,
    /// Scores of bins.
    Expectation,
}

words! { SliceMode:
    Class = "class", "Scores of classes that exclude each other";
    Value = "value", "Each number is a value";
    Expectation = "expectation", "Scores of bins, of which the mean is the value";
}

words! { ClassMode:
    Classes = "classes", "[1,C]: the classes of an object";
    Text = "text", "[1,T,C] or [T,1,C]: the characters of a line of text, from the left to the right (CTC)";
    Slots = "slots", "The same, a character or none for each place of the line (fast-plate-ocr)";
    Sequence = "sequence", "The same, a character for each step until the end of the line (PARSeq)";
    Values = "values", "[1,C]: values and classes that the sidecar names, in [classify.NAME] with channels";
}

/// How overlapping boxes are suppressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NmsMode {
    /// Within a class.
    ClassWise,
    /// Across classes.
    Agnostic,
    /// Soft-NMS with linear decay.
    SoftLinear,
    /// Soft-NMS with Gaussian decay.
    SoftGaussian,
    /// Not at all.
    None,
}

words! { NmsMode:
    ClassWise = "class-wise", "Boxes suppress weaker boxes of the same class";
    Agnostic = "class-agnostic", "Boxes suppress weaker boxes of any class";
    SoftLinear = "soft-linear", "Soft-NMS: overlap reduces the confidence linearly";
    SoftGaussian = "soft-gaussian", "Soft-NMS: overlap reduces the confidence by a Gaussian";
    None = "none", "Nothing is suppressed";
}

/// How a region is cut from the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoiCrop {
    /// The box itself.
    Box,
    /// As mmpose does it.
    Mmpose,
    /// As mmpose does it for unbiased data processing.
    MmposeUdp,
    /// Whole pixels inside the frame.
    Pixels,
    /// As sleap-nn does it.
    Sleap,
    /// As DeepLabCut does it.
    DeepLabCut,
    /// By an object's points.
    Align,
    /// By an object's four corners.
    Warp,
}

words! { RoiCrop:
    Box = "box", "The box itself, between pixels and turned with it; padding outside the frame";
    Mmpose = "mmpose", "As mmpose's TopdownAffine: half a pixel from box";
    MmposeUdp = "mmpose-udp", "As mmpose's TopdownAffine with use_udp";
    Pixels = "pixels",
        "Whole pixels inside the frame, resized like a frame of their own, as BoxMOT and Pillow's crop";
    Sleap = "sleap",
        "Upright, from whole pixels on, as sleap-nn: points are placed as if the corner had not been rounded";
    DeepLabCut = "deeplabcut",
        "Upright, of whole pixels, as DeepLabCut: points are placed by the first pixel's centre, not by its edge";
    Align = "align",
        "Turned, scaled and moved so that the object's points come nearest to those of the sidecar's align, as insightface's norm_crop";
    Warp = "warp",
        "The quadrilateral of the object's four corner points, straightened, as OpenCV's getPerspectiveTransform and warpPerspective";
}

/// What the regions of objects are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RoiFrom {
    /// The objects that were found upstream.
    #[default]
    Objects,
    /// The points that the model found in the last frame.
    Track,
}

words! { RoiFrom:
    Objects = "objects", "The objects that elements upstream found in the frame";
    Track = "track",
        "The points that peakfind downstream found in the stream's last frame, and objects of upstream that are not followed yet";
}

/// Which numbers of a map become which samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapRange {
    /// Always the same.
    Fixed,
    /// Those of each frame.
    Frame,
}

words! { MapRange:
    Fixed = "fixed", "From range-min to range-max, the same in every frame";
    Frame = "frame",
        "From the least to the greatest value of each frame: samples of different frames cannot be compared";
}

/// Which values of a mask's channel become 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskRange {
    /// 0 and 1.
    Fixed,
    /// The least and the greatest of each frame.
    Frame,
}

words! { MaskRange:
    Fixed = "fixed", "0 and 1: the values are as they should be";
    Frame = "frame", "The least and the greatest value of each frame, as rembg does it";
}

/// What a mask is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskMode {
    /// Of the strongest class.
    Argmax,
    /// Of what reaches a threshold.
    Threshold,
    /// Of the values of a channel.
    Soft,
    /// Of each object's prototypes or maps.
    Instances,
}

words! { MaskMode:
    Argmax = "argmax", "The class with the greatest value";
    Threshold = "threshold", "1 where a channel reaches the threshold, else 0";
    Soft = "soft", "The channel's value, 0 to 1 as 0 to 255";
    Instances = "instances", "One mask for each detection, from the prototypes or maps that gpunms passes on, or for each object that queries with classes find";
}

/// What the outputs of a model for keypoints hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Confidence maps.
    Maps,
    /// Scores along each axis.
    Simcc,
    /// Coordinates of one object's points.
    Points,
    /// Coordinates of several objects' points.
    Instances,
    /// The same, with scores in outputs of their own.
    Poses,
    /// Peaks of several objects, and scores of the lines between them.
    Candidates,
    /// Scores of the pixels of cells.
    Cells,
    /// Where lanes of a road are.
    Lanes,
}

words! { Encoding:
    Maps = "maps", "Confidence maps";
    Simcc = "simcc", "Scores along x and along y of each point (SimCC: RTMPose, DWPose)";
    Points = "points", "Coordinates of the points of one object (MoveNet, regression)";
    Instances = "instances", "Coordinates of the points of several objects, with boxes (MoveNet MultiPose)";
    Poses = "poses", "Coordinates of the points of several objects, with scores in outputs of their own (sleap-nn's exports)";
    Candidates = "candidates", "Peaks, and scores of the lines between them (sleap-nn's bottom-up exports)";
    Cells = "cells", "Scores of the pixels of cells: points of interest (SuperPoint)";
    Lanes = "lanes", "Lanes of a road as polylines (Ultra-Fast-Lane-Detection, CLRNet)";
}

/// How keypoints are grouped into objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// All of a frame together.
    Frame,
    /// Each by itself.
    Each,
    /// By part affinity fields.
    Paf,
    /// By offsets and displacements.
    Displacements,
    /// By tags.
    Tags,
}

words! { Grouping:
    Frame = "frame", "All points of a frame or region are one object";
    Each = "each", "Each point is an object";
    Paf = "paf", "Part affinity fields (SLEAP bottom-up, OpenPose)";
    Displacements = "displacements", "Offsets and displacements (PoseNet)";
    Tags = "tags", "Tags of peaks: associative embedding (HigherHRNet)";
}
