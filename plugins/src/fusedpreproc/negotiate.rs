//! From the properties and the neighbours' caps to the tensor that is made.

use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::motion::MotionParams;
use cudainfer_kernels::preproc::{
    ChannelOrder, Interpolation, Layout, MAX_SIDE, Padding, PreprocParams, Resize,
};
use cudainfer_kernels::tensor::TensorType;
use cudainfer_kernels::words::Words as _;

use super::align::Template;
use super::crop::{Crop, Extent};
use super::fixed;
use super::follow::Follower;
use super::gate::{GateRules, Motion};
use super::maker::Cut;
use super::mask;
use super::points::Points;
use super::regions::Rules;
use super::roi::Roi;
use super::warp::Corners;
use crate::caps;
use crate::model::{PointRegion, RoiCrop, RoiFrom};
use crate::property::nick;
use crate::strings;

/// The properties; what is not set is left to the model.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub width: u32,
    pub height: u32,
    pub ty: Option<TensorType>,
    pub layout: Option<Layout>,
    pub order: Option<ChannelOrder>,
    pub resize: Option<Resize>,
    pub crop_ratio: Option<f64>,
    pub interpolation: Option<Interpolation>,
    pub scale: Option<f64>,
    pub mean: Vec<f64>,
    pub std: Vec<f64>,
    pub padding: Option<i32>,
    pub quant_scale: Option<f64>,
    pub zero_point: Option<i32>,
    pub roi: Roi,
    pub roi_padding: Option<f64>,
    pub roi_size: Option<u32>,
    pub roi_crop: Option<RoiCrop>,
    pub roi_from: Option<RoiFrom>,
    pub classes: String,
    pub min_size: u32,
    pub max_regions: u32,
    pub interval: u32,
    pub tile_size: u32,
    pub overlap: Option<f64>,
    pub whole: bool,
    pub regions: String,
    pub max_load: f64,
    pub motion: Motion,
    pub motion_threshold: Option<u32>,
    pub contour_area: Option<u32>,
    pub motion_mask: String,
    /// In nanoseconds.
    pub motion_hold: Option<u64>,
    /// In nanoseconds.
    pub max_idle: Option<u64>,
}

/// Open tensor dimensions that are set nowhere follow the frame, rounded up to a multiple of this, unless the model states another
/// number: the coarsest stride of the usual networks, which they need their input to be divisible by.
const STRIDE: i32 = 32;

/// Factor on an object's width and height, if neither the property nor the sidecar has one.
pub(super) const ROI_PADDING: f64 = 1.0;

/// Size of regions, if neither the property nor the sidecar has one: that of each object's box.
pub(super) const ROI_SIZE: u32 = 0;

/// Regions of a frame in which something moves, at most, if the property is not set.
const MOVING_REGIONS: usize = 8;

/// How long after the last motion the model sees frames, if the property is not set.
pub(super) const MOTION_HOLD: gst::ClockTime = gst::ClockTime::from_seconds(2);

/// The longest time without a frame that the model sees, if the property is not set.
pub(super) const MAX_IDLE: gst::ClockTime = gst::ClockTime::from_seconds(10);

/// Frames a second, where caps do not say it.
const USUAL_RATE: i32 = 25;

/// The share of a tile that the next one shows, too, if the property is not set: as in SAHI.
pub(super) const OVERLAP: f64 = 0.2;

/// What this element can make. How the frame fills the tensor is among it, and open, because BaseTransform asks for the model's
/// wishes only while a field is open.
pub(super) fn possible() -> gst::Structure {
    let size = || gst::IntRange::new(1, i32::try_from(MAX_SIDE).unwrap_or(i32::MAX));
    gst::Structure::builder("possible")
        .field("tensor-width", size())
        .field("tensor-height", size())
        .field("tensor-type", gst::List::new(["float32", "float16", "uint8", "int8", "int32"]))
        .field("tensor-layout", gst::List::new(["nchw", "nhwc"]))
        .field("tensor-channels", gst::List::new([3, 1]))
        .field("tensor-resize", gst::List::new(Resize::ALL.iter().map(|resize| resize.word())))
        .build()
}

impl Settings {
    /// Checks what the properties' types leave open.
    ///
    /// # Errors
    /// A sentence about the property that is wrong.
    pub fn check(&self) -> Result<(), String> {
        for (name, values) in [("mean", &self.mean), ("std", &self.std)] {
            if !matches!(values.len(), 0 | 1 | 3) {
                return Err(format!(
                    "the property {name} has {} values: give it one, or one for each of three channels",
                    values.len()
                ));
            }
        }
        Ok(())
    }

    /// Checks that a crop's ratio has a crop.
    ///
    /// # Errors
    /// A sentence that names both properties.
    pub fn check_crop(&self, resized: Resize) -> Result<(), String> {
        match self.crop_ratio {
            Some(ratio) if resized != Resize::CenterCrop => Err(format!(
                "the property crop-ratio is {ratio}, but resize is {}: set resize=center-crop, or do not set crop-ratio",
                resized.word()
            )),
            _ => Ok(()),
        }
    }

    /// Fills every field of `s`, one structure of what this element can make and the model accepts: from the
    /// properties, else the model's wishes that are in it, else the defaults. Where a property contradicts the model,
    /// trtinfer refuses the result with a sentence.
    pub fn fixate(&self, s: &mut gst::StructureRef, frame: (i32, i32)) {
        let multiple = s.get::<i32>(caps::SIZE_MULTIPLE).ok().filter(|n| *n > 0).unwrap_or(STRIDE);
        for (field, set, size) in
            [("tensor-width", self.width, frame.0), ("tensor-height", self.height, frame.1)]
        {
            match i32::try_from(set) {
                Ok(set) if set > 0 => s.set(field, set),
                _ => {
                    let rounded = size.saturating_add(multiple - 1) / multiple * multiple;
                    fixate_number(s, field, rounded);
                }
            }
        }
        s.remove_field(caps::SIZE_MULTIPLE);
        fixate_word(s, "tensor-type", "float32");
        fixate_word(s, "tensor-layout", "nchw");
        fixate_number(s, "tensor-channels", 3);
        if let Some(ty) = self.ty {
            s.set("tensor-type", ty.word());
        }
        if let Some(layout) = self.layout {
            s.set("tensor-layout", layout.word());
        }
        if let Some(order) = self.order {
            s.set("tensor-channels", if order == ChannelOrder::Gray { 1 } else { 3 });
        }
        let params = self.params(s);
        s.set("tensor-order", params.channels.word());
        s.set("tensor-resize", params.resize.word());
        if params.resize == Resize::CenterCrop {
            s.set("tensor-crop-ratio", params.crop_ratio);
        } else {
            s.remove_field("tensor-crop-ratio");
        }
        s.set("tensor-interpolation", params.interpolation.word());
        s.set("tensor-padding", i32::from(params.padding));
        s.set("tensor-scale", f64::from(params.scale));
        s.set("tensor-mean", gst::Array::new(params.mean.iter().map(|v| f64::from(*v))));
        s.set("tensor-std", gst::Array::new(params.std.iter().map(|v| f64::from(*v))));
        if self.roi != Roi::Frame {
            s.set(caps::ROI, nick(self.roi));
            s.set("tensor-roi-crop", self.crop(s, params.interpolation).word());
        } else {
            s.remove_field("tensor-roi-crop");
        }
        if self.roi == Roi::Objects && self.interval > 0 {
            s.set(caps::ROI_INTERVAL, i32::try_from(self.interval).unwrap_or(i32::MAX));
        } else {
            s.remove_field(caps::ROI_INTERVAL);
        }
        if matches!(params.ty, TensorType::UInt8 | TensorType::Int8 | TensorType::Int32) {
            s.set("tensor-quant-scale", f64::from(params.quant_scale));
            s.set("tensor-zero-point", params.zero_point);
        }
    }

    /// The tensor's size for frames of this size in the library that exported the model, where it differs from ours and no
    /// property has been set for it. Our tensor's size is the bars' outer size there.
    pub fn library_size(
        &self,
        s: &gst::StructureRef,
        params: &PreprocParams,
        frame: [usize; 2],
    ) -> Option<[usize; 2]> {
        let modulo =
            s.get::<i32>(caps::BARS_MODULO).ok().and_then(|v| usize::try_from(v).ok()).filter(|v| *v > 0)?;
        let boxed = params.resize == Resize::Letterbox && self.roi == Roi::Frame;
        if !boxed || self.width > 0 || self.height > 0 {
            return None;
        }
        let here = [params.width, params.height];
        let scales = [0, 1].map(|axis| here[axis] as f64 / frame[axis].max(1) as f64);
        let scale = scales[0].min(scales[1]);
        let there = [0, 1].map(|axis| {
            let picture = (frame[axis] as f64 * scale).round() as usize;
            picture + here[axis].saturating_sub(picture) % modulo
        });
        (there != here).then_some(there)
    }

    /// The part that is cut out of frames of this size, and how: the property where it is set, else the caps' field, else the
    /// default.
    ///
    /// # Errors
    /// A sentence about regions that cannot be cut out.
    pub fn cut(
        &self,
        s: &gst::StructureRef,
        params: &PreprocParams,
        frame: [usize; 2],
    ) -> Result<Cut, String> {
        let crop = Crop {
            resize: params.resize,
            ratio: params.crop_ratio as f32,
            kind: self.crop(s, params.interpolation),
            tensor: [params.width, params.height],
            frame,
        };
        let fixed = |rects: &[Rect]| {
            let regions = fixed::cut(rects, &crop, self.roi == Roi::List)?;
            Ok(Cut::Fixed(regions, crop))
        };
        if self.roi != Roi::Objects && self.roi_from == Some(RoiFrom::Track) {
            return Err(format!(
                "roi-from=track follows objects, but roi is {}. Set roi=objects, or do not set roi-from",
                nick(self.roi)
            ));
        }
        if self.roi == Roi::Objects && self.max_load > 0.0 {
            return Err(format!(
                "max-load is {}, which leaves out whole frames, but roi=objects makes tensors of the objects in them. Set max-load on the \
                 fusedpreproc of the model that finds the objects, and interval on this one",
                self.max_load
            ));
        }
        match self.roi {
            Roi::Frame => Ok(Cut::Frame),
            Roi::Objects => {
                let follower = self.follower(s, crop.kind)?;
                let rules = Rules { follower, ..self.rules(s) };
                let points = self.points(s, crop.kind, &rules)?;
                Ok(Cut::Objects(Box::new(rules), crop, points))
            }
            Roi::Tiles | Roi::List | Roi::Motion if matches!(crop.kind, RoiCrop::Align | RoiCrop::Warp) => {
                Err(format!(
                    "roi-crop={} cuts regions by the points of objects, but other regions have none. Set roi=objects, or \
                 another roi-crop",
                    crop.kind.word()
                ))
            }
            Roi::Tiles => {
                let set = usize::try_from(self.tile_size).unwrap_or(usize::MAX);
                let tile = if set > 0 { [set; 2] } else { crop.tensor };
                fixed(&fixed::tiles(tile, self.overlap.unwrap_or(OVERLAP), self.whole, frame)?)
            }
            Roi::List => fixed(&fixed::list(&self.regions, self.whole, frame)?),
            Roi::Motion => {
                let most = usize::try_from(self.max_regions).ok().filter(|most| *most > 0);
                Ok(Cut::Moving { crop, most: most.unwrap_or(MOVING_REGIONS) })
            }
        }
    }

    /// The longest time without a frame that the model sees, where motion decides.
    pub fn max_idle(&self) -> gst::ClockTime {
        self.max_idle.map_or(MAX_IDLE, gst::ClockTime::from_nseconds)
    }

    /// When motion lets the model see a frame of these caps, if it decides.
    ///
    /// # Errors
    /// A sentence about what does not go with it.
    pub fn gate(&self, caps: &gst::CapsRef) -> Result<Option<GateRules>, String> {
        if self.motion == Motion::Ignore && self.roi != Roi::Motion {
            return Ok(None);
        }
        if self.roi == Roi::Objects {
            return Err(
                "motion=gate leaves out frames, but roi=objects makes tensors of the objects in them. Set motion on the fusedpreproc of the \
                 model that finds the objects"
                    .into(),
            );
        }
        let rate = caps.structure(0).and_then(|s| s.get::<gst::Fraction>("framerate").ok());
        let defaults = MotionParams::default();
        let area = self.contour_area.map(|area| usize::try_from(area).unwrap_or(usize::MAX));
        Ok(Some(GateRules {
            params: MotionParams {
                threshold: self
                    .motion_threshold
                    .map_or(defaults.threshold, |v| u8::try_from(v).unwrap_or(u8::MAX)),
                contour_area: area.unwrap_or(defaults.contour_area),
                masks: mask::polygons(&self.motion_mask, caps::frame_size(caps))?,
            },
            hold: self.motion_hold.map_or(MOTION_HOLD, gst::ClockTime::from_nseconds),
            max_idle: self.max_idle(),
            frame: frame_time(usual_rate(rate)),
        }))
    }

    /// The points that regions are cut by, if not by boxes.
    fn points(&self, s: &gst::StructureRef, kind: RoiCrop, rules: &Rules) -> Result<Option<Points>, String> {
        let size = self.roi_size.map(|_| "roi-size");
        match kind {
            RoiCrop::Align => match self.roi_padding.map(|_| "roi-padding").or(size) {
                Some(name) => Err(format!(
                    "the property {name} is set, but has no effect with roi-crop=align, where the points say how large an object is. Do \
                     not set it, or set another roi-crop"
                )),
                None => Template::of(s).map(|template| Some(Points::Align(template))),
            },
            RoiCrop::Warp => match size {
                Some(name) => Err(format!(
                    "the property {name} is set, but has no effect with roi-crop=warp, where the corners say how large an object is. Set \
                     roi-padding for a margin, or another roi-crop"
                )),
                None => {
                    let corners = Corners::of(s, rules.extent.padding.into())?;
                    Ok(Some(Points::Warp(corners)))
                }
            },
            _ => match section(s, caps::ROI_REGION)? {
                Some(region) => {
                    let extent = self.extent_of(&region, rules.extent);
                    Ok(Some(Points::Box(region, extent)))
                }
                None => Ok(None),
            },
        }
    }

    /// How much around a box that is made of points; `otherwise` where the section has no padding.
    fn extent_of(&self, region: &PointRegion, otherwise: Extent) -> Extent {
        let padding = region.padding.filter(|_| self.roi_padding.is_none());
        Extent { padding: padding.map_or(otherwise.padding, |padding| padding as f32), ..otherwise }
    }

    /// How objects are followed, if they are.
    ///
    /// # Errors
    /// A sentence about what does not go with it.
    fn follower(&self, s: &gst::StructureRef, kind: RoiCrop) -> Result<Option<Follower>, String> {
        let wish = || RoiFrom::of_word(&strings::field(s, caps::ROI_FROM)?);
        if self.roi_from.or_else(wish) != Some(RoiFrom::Track) {
            return Ok(None);
        }
        if matches!(kind, RoiCrop::Align | RoiCrop::Warp) {
            return Err(format!(
                "roi-from=track makes boxes of points, but roi-crop={} needs the points themselves. Set another roi-crop, or \
                 roi-from=objects",
                kind.word()
            ));
        }
        if self.interval > 0 {
            return Err(format!(
                "roi-from=track follows objects from each frame to the next, but interval is {}. Set interval=0, or roi-from=objects",
                self.interval
            ));
        }
        let region = section(s, caps::ROI_TRACK)?.unwrap_or_default();
        let extent = self.extent_of(&region, self.rules(s).extent);
        Ok(Some(Follower { region, extent }))
    }

    /// Which objects' regions are cut out, and how much around them.
    fn rules(&self, s: &gst::StructureRef) -> Rules {
        let size = s.get::<i32>("tensor-roi-size").ok().and_then(|size| u32::try_from(size).ok());
        let padding = self.roi_padding.or_else(|| s.get::<f64>("tensor-roi-padding").ok());
        let classes = self.classes.split(',').map(str::trim).filter(|label| !label.is_empty());
        Rules {
            classes: classes.map(str::to_owned).collect(),
            min_size: self.min_size as f32,
            interval: self.interval.into(),
            most: usize::try_from(self.max_regions).ok().filter(|most| *most > 0),
            extent: Extent {
                padding: padding.unwrap_or(ROI_PADDING) as f32,
                size: self.roi_size.or(size).unwrap_or(ROI_SIZE),
            },
            follower: None,
        }
    }

    /// How regions are cut: the property where it is set, else the caps' field, else as the interpolation needs it.
    fn crop(&self, s: &gst::StructureRef, interpolation: Interpolation) -> RoiCrop {
        use Interpolation as I;
        let wish = || RoiCrop::of_word(&strings::field(s, "tensor-roi-crop")?);
        self.roi_crop.or_else(wish).unwrap_or(match interpolation {
            I::PilBilinear | I::PilBicubic => RoiCrop::Pixels,
            I::Bilinear | I::Nearest | I::Area => RoiCrop::Box,
        })
    }

    /// The kernel's parameters: the property where it is set, else the caps' field, else the default.
    pub fn params(&self, s: &gst::StructureRef) -> PreprocParams {
        let defaults = PreprocParams::default();
        let size = |field| s.get::<i32>(field).ok().and_then(|v| usize::try_from(v).ok()).unwrap_or(0);
        let wish = |field| strings::field(s, field);
        let number = |set: Option<f64>, field| set.or_else(|| s.get::<f64>(field).ok());
        let ty = wish("tensor-type").and_then(|t| t.parse().ok()).unwrap_or(defaults.ty);
        let integer = matches!(ty, TensorType::UInt8 | TensorType::Int8 | TensorType::Int32);
        let channels = self.order.or_else(|| ChannelOrder::of_word(&wish("tensor-order")?));
        let channels = match (size("tensor-channels"), channels) {
            (1, _) => ChannelOrder::Gray,
            (_, Some(order)) => order,
            (_, None) => defaults.channels,
        };
        let padding = self.padding.or_else(|| s.get::<i32>("tensor-padding").ok());
        let padding = padding.and_then(|v| Padding::try_from(v).ok());
        let resize = self.resize.or_else(|| Resize::of_word(&wish("tensor-resize")?));
        let resize = resize.unwrap_or(defaults.resize);
        // The sidecar's value belongs to its resize, which a property may have overridden.
        let cropped = resize == Resize::CenterCrop;
        let crop_ratio = number(self.crop_ratio, "tensor-crop-ratio").filter(|_| cropped);
        PreprocParams {
            width: size("tensor-width"),
            height: size("tensor-height"),
            resize,
            crop_ratio: crop_ratio.unwrap_or(defaults.crop_ratio),
            interpolation: self
                .interpolation
                .or_else(|| Interpolation::of_word(&wish("tensor-interpolation")?))
                .unwrap_or(defaults.interpolation),
            channels,
            layout: wish("tensor-layout").and_then(|word| Layout::of_word(&word)).unwrap_or(defaults.layout),
            ty,
            // Integer tensors usually hold the pixel values themselves.
            scale: number(self.scale, "tensor-scale")
                .map_or(if integer { 1.0 } else { defaults.scale }, |v| v as f32),
            mean: triple(&self.mean, s, "tensor-mean").unwrap_or(defaults.mean),
            std: triple(&self.std, s, "tensor-std").unwrap_or(defaults.std),
            quant_scale: number(self.quant_scale, "tensor-quant-scale")
                .map_or(defaults.quant_scale, |v| v as f32),
            zero_point: self
                .zero_point
                .or_else(|| s.get::<i32>("tensor-zero-point").ok())
                .unwrap_or(if ty == TensorType::Int8 { -128 } else { defaults.zero_point }),
            padding: padding.unwrap_or(defaults.padding),
        }
    }
}

/// Frames a second: what caps say, if they do.
pub(super) fn usual_rate(rate: Option<gst::Fraction>) -> gst::Fraction {
    rate.filter(|rate| rate.numer() > 0 && rate.denom() > 0).unwrap_or(gst::Fraction::new(USUAL_RATE, 1))
}

/// The time from frame to frame.
fn frame_time(rate: gst::Fraction) -> gst::ClockTime {
    let [numer, denom] = [rate.numer(), rate.denom()].map(|part| u64::try_from(part).unwrap_or(1));
    gst::ClockTime::from_nseconds(1_000_000_000 * denom / numer.max(1))
}

/// A section of the sidecar that this field of caps has.
fn section(s: &gst::StructureRef, field: &str) -> Result<Option<PointRegion>, String> {
    let Some(text) = strings::field(s, field) else { return Ok(None) };
    let read = PointRegion::of_text(&text);
    read.map(Some).ok_or_else(|| {
        format!("the caps' {field} is '{text}', but should be [region] or [track] of a sidecar")
    })
}

/// One value for all channels, or one for each.
fn triple(set: &[f64], s: &gst::StructureRef, field: &str) -> Option<[f32; 3]> {
    let values = if set.is_empty() {
        s.get::<gst::ArrayRef>(field).ok()?.iter().map(|v| v.get::<f64>().ok()).collect::<Option<Vec<_>>>()?
    } else {
        set.to_vec()
    };
    match values[..] {
        [one] => Some([one as f32; 3]),
        [a, b, c] => Some([a as f32, b as f32, c as f32]),
        _ => None,
    }
}

/// Fixates a field to what is nearest to this number. A structure without the field, as where nothing is linked downstream, gets it.
fn fixate_number(s: &mut gst::StructureRef, field: &str, number: i32) {
    if s.has_field(field) {
        s.fixate_field_nearest_int(field, number);
    } else {
        s.set(field, number);
    }
}

/// The same with a word.
fn fixate_word(s: &mut gst::StructureRef, field: &str, word: &str) {
    if s.has_field(field) {
        s.fixate_field_str(field, word);
    } else {
        s.set(field, word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_shortens_the_bars_has_tensors_of_another_size_unless_a_size_is_set() {
        gst::init().unwrap();
        let caps = |modulo: i32| gst::Structure::builder("caps").field(caps::BARS_MODULO, modulo).build();
        let params =
            PreprocParams { width: 640, height: 640, resize: Resize::Letterbox, ..PreprocParams::default() };
        let auto = Settings::default();
        let size = |settings: &Settings, modulo, frame| settings.library_size(&caps(modulo), &params, frame);
        // As ultralytics' LetterBox(640, auto=True, stride=32) makes them.
        for (frame, wanted) in [
            ([1920, 1080], Some([640, 384])),
            ([1080, 1920], Some([384, 640])),
            ([1280, 960], Some([640, 480])),
            ([810, 1080], Some([480, 640])),
            ([500, 375], Some([640, 480])),
            ([640, 640], None),
            ([639, 640], None),
        ] {
            assert_eq!(size(&auto, 32, frame), wanted, "{frame:?}");
        }
        assert_eq!(size(&auto, 0, [1920, 1080]), None);
        assert_eq!(auto.library_size(&gst::Structure::new_empty("caps"), &params, [1920, 1080]), None);
        for set in [
            Settings { width: 640, ..Settings::default() },
            Settings { height: 640, ..Settings::default() },
            Settings { roi: Roi::Objects, ..Settings::default() },
        ] {
            assert_eq!(size(&set, 32, [1920, 1080]), None);
        }
        let stretched = PreprocParams { resize: Resize::Stretch, ..params };
        assert_eq!(auto.library_size(&caps(32), &stretched, [1920, 1080]), None);
    }
}
