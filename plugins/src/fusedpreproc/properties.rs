//! The properties, as gst-inspect shows them.

use std::sync::LazyLock;

use cudainfer_kernels::motion::MotionParams;
use cudainfer_kernels::preproc::{MAX_SIDE, MIN_CROP_RATIO, PreprocParams};

use super::negotiate::{MAX_IDLE, MOTION_HOLD, OVERLAP, ROI_PADDING, ROI_SIZE, Settings};
use crate::property::{Table, property};
use crate::{device, stats};

/// Factor on pixel values, unless tensors are of integers: they become 0 to 1.
const SCALE: f64 = 1.0 / 255.0;

/// The longest time that can be set: an hour.
const MOST_TIME: u64 = 3_600_000_000_000;

/// All properties. `device` is set and got by the element.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    let defaults = PreprocParams::default();
    let motion = MotionParams::default();
    let most = u32::try_from(MAX_SIDE).unwrap_or(u32::MAX);
    let padding = defaults.padding;
    let quant_scale = f64::from(defaults.quant_scale);
    let zero_point = defaults.zero_point;
    let factor = f64::from(f32::MIN_POSITIVE)..=1e6;
    let size = |side: &str| {
        format!(
            "{side} of the tensor in pixels; 0 uses the model's, or for a model with open {} the sidecar's, else the \
             frame's rounded up to a multiple of 32",
            side.to_lowercase()
        )
    };
    Table::new([
        property!(Settings, width, 0..=most, "Width", size("Width")),
        property!(Settings, height, 0..=most, "Height", size("Height")),
        property!(
            Settings,
            "tensor-type" = ty,
            (),
            "Tensor type",
            "Element type of the tensor; must fit the model, except that trtinfer converts between float32 and float16",
        ),
        property!(Settings, layout, (), "Layout", "Order of the tensor's dimensions; must fit the model"),
        property!(Settings, "channels" = order, (), "Channels", "Order of the tensor's channels"),
        property!(Settings, resize, (), "Resize", "How the frame is fitted into the tensor"),
        property!(
            Settings,
            crop_ratio?,
            MIN_CROP_RATIO..=1.0,
            defaults.crop_ratio,
            "Crop ratio",
            "With resize=center-crop: size of the tensor as a fraction of what the frame is resized to before it is cropped, \
             as 0.875 for 224 pixels of 256 (timm's crop_pct). If not set: the sidecar's, else 1",
        ),
        property!(
            Settings,
            interpolation,
            (),
            "Interpolation",
            "How pixels are sampled when the frame is resized",
        ),
        property!(
            Settings,
            scale?,
            factor.clone(),
            SCALE,
            "Scale",
            "Factor applied to pixel values (0 to 255) before the mean is subtracted. If not set: the sidecar's, else \
             1/255, or 1 for integer tensors",
        ),
        property!(
            Settings,
            mean,
            -1e6..=1e6,
            "Mean",
            "Value subtracted after scaling: one value, or one per channel in the tensor's channel order, as in \
             <0.485,0.456,0.406>. If not set: the sidecar's, else 0",
        ),
        property!(
            Settings,
            std,
            -1e6..=1e6,
            "Standard deviation",
            "Divisor applied after the mean is subtracted: one value, or one per channel. If not set: the sidecar's, else 1",
        ),
        property!(
            Settings,
            padding?,
            -1..=255,
            i32::from(padding),
            "Padding",
            format!(
                "Pixel value (0 to 255) of the letterbox bars, before normalisation; -1 for the mean, so that they are 0 after it. If not \
                 set: the sidecar's, else {}",
                i32::from(padding)
            ),
        ),
        property!(
            Settings,
            quant_scale?,
            factor,
            quant_scale,
            "Quantisation scale",
            format!("Real value of one step of an integer tensor. If not set: the sidecar's, else {quant_scale}"),
        ),
        property!(
            Settings,
            zero_point?,
            -128..=255,
            zero_point,
            "Zero point",
            format!(
                "Integer that represents 0 in an integer tensor. If not set: the sidecar's, else {zero_point} for uint8 and \
                 int32, and -128 for int8"
            ),
        ),
        property!(
            Settings,
            roi,
            (),
            "Region of interest",
            "What tensors are made from: the frame, the region of each object that was found upstream, for a second model, tiles \
             of the frame, for small objects, a list of regions, or the regions in which something moves",
        ),
        property!(
            Settings,
            tile_size,
            0..=most,
            "Size of tiles",
            "With roi=tiles: width and height of a tile in frame pixels; 0 uses the tensor's width and height",
        ),
        property!(
            Settings,
            overlap?,
            0.0..=0.9,
            OVERLAP,
            "Overlap of tiles",
            "With roi=tiles: part of a tile's width and height that the next tile shows, too. It should be larger than the objects",
        ),
        property!(
            Settings,
            whole,
            (),
            "Whole frame",
            "With roi=tiles and list: the whole frame is one more region, for objects that are larger than the others",
        ),
        property!(
            Settings,
            regions,
            (),
            "Regions",
            "With roi=list: regions as X,Y,WIDTH,HEIGHT, separated by semicolons, as in 0,0,640,640;1280,0,640,640: in frame \
             pixels, or in fractions of the frame's width and height if no number is above 1",
        ),
        property!(
            Settings,
            roi_padding?,
            0.01..=100.0,
            ROI_PADDING,
            "Padding of regions",
            format!(
                "With roi=objects: factor on an object's width and height; 1.25 adds an eighth on each side. If not set: the \
                 sidecar's, else {ROI_PADDING}"
            ),
        ),
        property!(
            Settings,
            roi_size?,
            0..=most,
            ROI_SIZE,
            "Size of regions",
            format!(
                "With roi=objects: size of every region, as the number of frame pixels along the tensor's longer side; 0 uses \
                 each object's box. If not set: the sidecar's, else {ROI_SIZE}"
            ),
        ),
        property!(
            Settings,
            roi_crop,
            (),
            "Crop of regions",
            "With roi=objects, tiles, list and motion: how a region is cut from the frame; a model finds most with the crops that it was \
             trained on",
        ),
        property!(
            Settings,
            roi_from,
            (),
            "What regions are made of",
            "With roi=objects: whether the regions of a frame are those of its objects, or follow the points that the model found in the \
             stream's last frame, as MediaPipe's do. With track, a peakfind must be downstream, and each frame waits for the last one",
        ),
        property!(
            Settings,
            classes,
            (),
            "Classes",
            "With roi=objects: labels of the objects to process, as in person,car. If not set: all objects",
        ),
        property!(
            Settings,
            min_size,
            0..=most,
            "Minimum size",
            "With roi=objects: minimum width and height of an object's box in frame pixels",
        ),
        property!(
            Settings,
            interval,
            0..=u32::MAX,
            "Interval",
            "Number of frames between two that the model sees, as interval of DeepStream's nvinfer: 2 for every third frame. tracker \
             carries objects on to the frames between. With roi=objects: number of frames between two that process the same object; tracked \
             objects are always processed in the frame in which they appear",
        ),
        property!(
            Settings,
            max_load,
            0.0..=1.0,
            "Maximum load",
            "Share of time in which the model may work, of all streams that share it; interval then changes by itself: it is the least, and at \
             most one second is between two frames that the model sees. 0 leaves interval as it is. For live sources, and others whose frames \
             come at their rate",
        ),
        property!(
            Settings,
            motion,
            (),
            "Motion",
            "What motion decides, for a camera that stands still. With gate, tracker keeps the objects of frames that the model does not \
             see; always so with roi=motion",
        ),
        property!(
            Settings,
            motion_threshold?,
            1..=255,
            u32::from(motion.threshold),
            "Motion threshold",
            "With motion=gate and roi=motion: by how many of 255 gray levels a pixel differs from the background where something moves, in a \
             picture of full contrast; less where the contrast is lower. Frigate's threshold",
        ),
        property!(
            Settings,
            contour_area?,
            1..=1_000_000,
            u32::try_from(motion.contour_area).unwrap_or(u32::MAX),
            "Contour area",
            "With motion=gate and roi=motion: number of pixels that must have changed side by side, in a frame that was shrunk to a height \
             of about 100. Frigate's contour_area",
        ),
        property!(
            Settings,
            motion_mask,
            (),
            "Motion mask",
            "With motion=gate and roi=motion: polygons in which motion does not count, as a clock in the picture or a tree, as \
             X,Y,X,Y,X,Y separated by semicolons: in fractions of the frame's width and height, or in frame pixels if a number is above 1",
        ),
        property!(
            Settings,
            motion_hold?,
            0..=MOST_TIME,
            MOTION_HOLD.nseconds(),
            "Motion hold",
            "With motion=gate and roi=motion: time in nanoseconds after the last motion during which the model still sees frames",
        ),
        property!(
            Settings,
            max_idle?,
            0..=MOST_TIME,
            MAX_IDLE.nseconds(),
            "Maximum idle time",
            "With motion=gate and roi=motion: time in nanoseconds after which the model sees a whole frame, though nothing moves",
        ),
        property!(
            Settings,
            max_regions,
            0..=1024,
            "Maximum regions",
            "With roi=objects: maximum number of objects of a frame that are processed; 0 allows as many as 512 MiB of tensors \
             hold, and at most 1024. A WARNING says that others are left out; with interval, tracked ones are processed in the next frames. With \
             roi=motion: maximum number of regions, 8 if it is 0; where there would be more, the whole frame is the only one",
        ),
    ])
    .with([
        device::param_spec(),
        stats::param_spec(
            "; tensors (made), skipped (objects without a tensor: their region is outside the frame, they have not the points of roi-crop=align or warp, there are more than max-regions, or the region of an object that is followed shows them), followed (tensors of regions that were made of the points of the last frame; the others are of objects), between (frames that the model does not see: interval), interval (that of the last frame: max-load), still (frames that the model does not see because nothing moves: motion), unanswered (frames of which it is not known what was found in them)",
        ),
    ])
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_that_is_shown_is_the_one_in_use() {
        assert_eq!(SCALE as f32, PreprocParams::default().scale);
    }
}
