//! How a region is cut out of a frame, whatever chose it.

use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::homography::Homography;
use cudainfer_kernels::preproc::{Fit, Part, Resize, as_deeplabcut, as_mmpose, as_sleap, part, region};

use crate::model::RoiCrop;

/// The part of a frame that one tensor is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cutout {
    /// Where the tensor's pixels lie in the frame.
    Map(Affine),
    /// Where the tensor's pixels are taken from, and where what is found in it is said to be.
    Moved { from: Affine, to_frame: Affine },
    /// Where the tensor's pixels are taken from, in perspective.
    Warped(Homography),
    /// Whole pixels, resized like a frame of their own.
    Part(Part),
}

/// What all cutouts of a stream are, because another conversion makes the tensors of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutoutKind {
    /// [`Cutout::Map`] and [`Cutout::Moved`].
    Regions,
    /// [`Cutout::Warped`].
    Warped,
    /// [`Cutout::Part`].
    Parts,
}

/// How regions are cut out of frames of one size, for tensors of one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crop {
    pub resize: Resize,
    /// For [`Resize::CenterCrop`]: how much of a region's middle is shown, from 0 to 1.
    pub ratio: f32,
    pub kind: RoiCrop,
    /// Width and height of the tensor.
    pub tensor: [usize; 2],
    /// Width and height of the frame.
    pub frame: [usize; 2],
}

/// How much of a frame a box asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Factor on the box's width and height.
    pub padding: f32,
    /// Frame pixels of the tensor's longer side, whatever the box's size; 0 goes by the box.
    pub size: u32,
}

impl Extent {
    /// The box itself.
    pub const BOX: Self = Self { padding: 1.0, size: 0 };
}

impl Crop {
    /// Which cutouts these are.
    pub fn kind(&self) -> CutoutKind {
        match self.kind {
            RoiCrop::Pixels => CutoutKind::Parts,
            RoiCrop::Warp => CutoutKind::Warped,
            _ => CutoutKind::Regions,
        }
    }

    /// The cutout for a box that is turned by `angle`, if there is one.
    pub fn cut(&self, rect: Rect, angle: f32, extent: Extent) -> Option<Cutout> {
        if self.kind() == CutoutKind::Parts {
            return self.part(rect, angle, extent).map(Cutout::Part);
        }
        let upright = matches!(self.kind, RoiCrop::Sleap | RoiCrop::DeepLabCut);
        let angle = if upright { 0.0 } else { angle };
        let map = self.map(rect, angle, extent)?;
        Some(match self.kind {
            RoiCrop::Mmpose => Cutout::Map(as_mmpose(&map, false, self.tensor)),
            RoiCrop::MmposeUdp => Cutout::Map(as_mmpose(&map, true, self.tensor)),
            RoiCrop::Sleap => Cutout::Moved { from: as_sleap(&map, self.tensor), to_frame: map },
            RoiCrop::DeepLabCut => {
                let (from, to_frame) = as_deeplabcut(&map, self.tensor);
                Cutout::Moved { from, to_frame }
            }
            // What is aligned or warped is cut by points.
            RoiCrop::Box | RoiCrop::Pixels | RoiCrop::Align | RoiCrop::Warp => Cutout::Map(map),
        })
    }

    /// Whether some of a box is not shown.
    pub fn leaves_out(&self, rect: &Rect) -> bool {
        let [width, height] = self.tensor.map(|side| side as f32);
        // By more than half a pixel of the tensor.
        let other_shape = (rect.w * height - rect.h * width).abs() > width.max(height) / 2.0;
        self.resize == Resize::CenterCrop && (other_shape || self.ratio < 1.0)
    }

    fn map(&self, rect: Rect, angle: f32, Extent { padding, size }: Extent) -> Option<Affine> {
        let (rect, fit) = match self.resize {
            _ if size > 0 => (rect, Fit::Fixed(size as f32)),
            Resize::Letterbox => (rect, Fit::Letterbox),
            Resize::LetterboxTopLeft => (rect, Fit::LetterboxTopLeft),
            // Regions have no size of their own in the tensor's pixels.
            Resize::Stretch | Resize::Pad => (rect, Fit::Stretch),
            Resize::CenterCrop => (self.middle(rect), Fit::Letterbox),
        };
        region(rect, angle, padding, fit, self.tensor, self.frame)
    }

    /// The upright box around a turned one, in whole pixels.
    fn part(&self, Rect { x, y, w, h }: Rect, angle: f32, Extent { padding, size }: Extent) -> Option<Part> {
        let (sin, cos) = (angle.sin().abs(), angle.cos().abs());
        let (wide, high) = if size > 0 {
            let [width, height] = self.tensor.map(|side| side as f32);
            let scale = size as f32 / width.max(height);
            (width * scale, height * scale)
        } else if angle == 0.0 {
            (w * padding, h * padding)
        } else {
            ((cos * w + sin * h) * padding, (sin * w + cos * h) * padding)
        };
        let around = Rect { x: x + (w - wide) / 2.0, y: y + (h - high) / 2.0, w: wide, h: high };
        part(around, 1.0, self.frame)
    }

    /// The largest part of a box, around its centre, that has the tensor's aspect ratio.
    fn middle(&self, Rect { x, y, w, h }: Rect) -> Rect {
        let [width, height] = self.tensor.map(|side| side as f32);
        let scale = (w / width).min(h / height) * self.ratio;
        let (inner_w, inner_h) = (width * scale, height * scale);
        Rect { x: x + (w - inner_w) / 2.0, y: y + (h - inner_h) / 2.0, w: inner_w, h: inner_h }
    }
}
