//! Regions that are the same in every frame: tiles, and those of a list.

use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::preproc::{Part, Tiles};

use super::crop::{Crop, Cutout, Extent};
use super::regions::MOST;
use crate::meta::tensor::Region;

/// An example of a list, for error messages.
const EXAMPLE: &str = "0,0,640,640;1280,0,640,640";

/// Frame pixels that a region may reach beyond the frame because of how its numbers were rounded.
const ROUNDING: f32 = 0.01;

/// A region, and what is cut out for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FixedRegion {
    pub region: Region,
    pub cutout: Cutout,
}

/// Tiles of `tile` (width, height) pixels; with `whole`, the frame is one more region.
///
/// # Errors
/// A sentence: too many tiles.
pub(super) fn tiles(
    tile: [usize; 2],
    overlap: f64,
    whole: bool,
    frame: [usize; 2],
) -> Result<Vec<Rect>, String> {
    let tiles = Tiles::new(frame, tile, overlap).ok_or_else(|| {
        format!("overlap is {overlap}, but it must be from 0 to 0.9. Set it to 0.2 for example")
    })?;
    let ([width, height], [w, h]) = (frame, tiles.size());
    if tiles.count().saturating_add(usize::from(whole)) > MOST {
        return Err(format!(
            "roi=tiles cuts frames of {width}x{height} into {} tiles of {w}x{h}, but a frame may have at most {MOST} regions. \
             Set a larger tile-size or a smaller overlap",
            tiles.count()
        ));
    }
    let mut rects: Vec<Rect> = tiles.rects().collect();
    // A tile that is the whole frame would be there twice.
    if whole && rects.len() > 1 {
        rects.push(whole_frame(frame));
    }
    Ok(rects)
}

/// The regions of `x,y,w,h;x,y,w,h`: in frame pixels, or in fractions of the frame's width and height if no number is above 1.
/// With `whole`, the frame is one more region.
///
/// # Errors
/// A sentence with the region that is wrong.
pub(super) fn list(text: &str, whole: bool, frame: [usize; 2]) -> Result<Vec<Rect>, String> {
    let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
    let all = parts.map(|part| Ok((part, numbers(part)?))).collect::<Result<Vec<_>, String>>()?;
    if all.is_empty() {
        return Err(format!(
            "roi=list needs regions, but there are none. Set regions=\"{EXAMPLE}\" for example"
        ));
    }
    if all.len().saturating_add(usize::from(whole)) > MOST {
        return Err(format!(
            "regions has {} regions, but a frame may have at most {MOST}. Take some out, or set roi=tiles",
            all.len()
        ));
    }
    let fractions = all.iter().flat_map(|(_, numbers)| numbers).all(|number| *number <= 1.0);
    let [width, height] = frame.map(|side| side as f32);
    let unit = if fractions { [width, height] } else { [1.0, 1.0] };
    let rect = |(part, [x, y, w, h]): (&str, [f32; 4])| {
        let (left, top) = (x * unit[0], y * unit[1]);
        let (right, bottom) = (left + w * unit[0], top + h * unit[1]);
        if right > width + ROUNDING || bottom > height + ROUNDING {
            return Err(format!(
                "regions: '{part}' reaches beyond the frame of {width}x{height} pixels. Give each region as X,Y,WIDTH,HEIGHT \
                 within the frame, in pixels, or all in fractions of the frame from 0 to 1"
            ));
        }
        Ok(Rect::from_corners(left, top, right.min(width), bottom.min(height)))
    };
    let mut rects = all.into_iter().map(rect).collect::<Result<Vec<_>, _>>()?;
    if whole {
        rects.push(whole_frame(frame));
    }
    Ok(rects)
}

/// Cuts the regions out. `gaps` says whether a region may be visible in part only.
///
/// # Errors
/// A sentence: a region that cannot be cut out, or of which a part would not be visible.
pub(super) fn cut(rects: &[Rect], crop: &Crop, gaps: bool) -> Result<Vec<FixedRegion>, String> {
    let cut = |rect: &Rect| {
        let (w, h) = (rect.w, rect.h);
        if !gaps && crop.leaves_out(rect) && *rect != whole_frame(crop.frame) {
            let [tensor_w, tensor_h] = crop.tensor;
            let why = if crop.ratio < 1.0 {
                format!("crop-ratio is {}", crop.ratio)
            } else {
                format!("the tensor of {tensor_w}x{tensor_h} has another shape")
            };
            return Err(format!(
                "resize=center-crop leaves out a part of each tile of {w}x{h}, because {why}. Set resize=letterbox or \
                 resize=stretch"
            ));
        }
        let cutout = crop.cut(*rect, 0.0, Extent::BOX).ok_or_else(|| {
            format!(
                "the region {},{},{w},{h} is too small or too large to be cut out. Set another one",
                rect.x, rect.y
            )
        })?;
        let region = match cutout {
            Cutout::Map(_) | Cutout::Moved { .. } | Cutout::Warped(_) => {
                Region { rect: *rect, isolated: false }
            }
            Cutout::Part(part) => Region { rect: around(&part), isolated: true },
        };
        Ok(FixedRegion { region, cutout })
    };
    rects.iter().map(cut).collect()
}

/// A part of the frame as a box.
fn around(part: &Part) -> Rect {
    let [x, y, w, h] = [part.x, part.y, part.width, part.height].map(|side| side as f32);
    Rect { x, y, w, h }
}

/// The frame as a region.
pub(super) fn whole_frame(frame: [usize; 2]) -> Rect {
    let [w, h] = frame.map(|side| side as f32);
    Rect { x: 0.0, y: 0.0, w, h }
}

/// `x,y,w,h`
fn numbers(text: &str) -> Result<[f32; 4], String> {
    let wrong = |why: &str| {
        format!("regions: '{text}' {why}. Write each region as X,Y,WIDTH,HEIGHT, as in \"{EXAMPLE}\"")
    };
    let number = |part: &str| part.trim().parse::<f32>().ok().filter(|number| number.is_finite());
    let numbers = text.split(',').map(number).collect::<Option<Vec<_>>>();
    let numbers = numbers.ok_or_else(|| wrong("has a part that is not a number"))?;
    let [x, y, w, h] = numbers[..] else { return Err(wrong("does not have four numbers")) };
    if x < 0.0 || y < 0.0 {
        return Err(wrong("begins outside of the frame"));
    }
    if w <= 0.0 || h <= 0.0 {
        return Err(wrong("has no width or height"));
    }
    Ok([x, y, w, h])
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Affine;
    use cudainfer_kernels::preproc::Resize;

    use super::*;
    use crate::model::RoiCrop;

    const FRAME: [usize; 2] = [200, 100];

    fn rect(x: f32, y: f32, w: f32, h: f32) -> Rect {
        Rect { x, y, w, h }
    }

    #[test]
    fn a_list_is_in_pixels_or_in_fractions_if_no_number_is_above_1() {
        let pixels = [rect(0.0, 0.0, 100.0, 50.0), rect(150.0, 20.5, 50.0, 79.5)];
        assert_eq!(list("0,0,100,50; 150, 20.5, 50, 79.5;", false, FRAME).unwrap(), pixels);
        let halves = [rect(0.0, 0.0, 100.0, 100.0), rect(100.0, 25.0, 100.0, 50.0), whole_frame(FRAME)];
        assert_eq!(list("0,0,.5,1;0.5,0.25,0.5,0.5", true, FRAME).unwrap(), halves);
        // One number above 1 makes all of them pixels.
        assert_eq!(list("0,0,1,1;0,0,2,1", false, FRAME).unwrap()[0], rect(0.0, 0.0, 1.0, 1.0));
    }

    #[test]
    fn wrong_lists_are_refused_with_the_region_that_is_wrong() {
        for (text, parts) in [
            ("", ["roi=list needs regions", "Set regions="]),
            (" ; ", ["roi=list needs regions", "Set regions="]),
            ("0,0,10", ["'0,0,10' does not have four numbers", "X,Y,WIDTH,HEIGHT"]),
            ("0,0,10,10,10", ["'0,0,10,10,10' does not have four numbers", "X,Y,WIDTH,HEIGHT"]),
            ("0,0,10,10;0,0,ten,10", ["'0,0,ten,10' has a part that is not a number", "X,Y,WIDTH,HEIGHT"]),
            ("0,0,nan,10", ["'0,0,nan,10' has a part that is not a number", "X,Y,WIDTH,HEIGHT"]),
            ("0,0,inf,10", ["'0,0,inf,10' has a part that is not a number", "X,Y,WIDTH,HEIGHT"]),
            ("-5,0,10,10", ["'-5,0,10,10' begins outside of the frame", "X,Y,WIDTH,HEIGHT"]),
            ("5,0,0,10", ["'5,0,0,10' has no width or height", "X,Y,WIDTH,HEIGHT"]),
            ("150,0,51,10", ["'150,0,51,10' reaches beyond the frame of 200x100", "fractions"]),
            ("0.5,0.5,0.6,0.5", ["'0.5,0.5,0.6,0.5' reaches beyond the frame of 200x100", "fractions"]),
        ] {
            let error = list(text, false, FRAME).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
        let many = "0,0,10,10;".repeat(MOST);
        assert_eq!(list(&many, false, FRAME).unwrap().len(), MOST);
        assert!(list(&many, true, FRAME).unwrap_err().contains("at most 1024"));
    }

    #[test]
    fn tiles_are_as_many_as_a_frame_may_have() {
        assert_eq!(tiles([100, 100], 0.0, false, FRAME).unwrap().len(), 2);
        assert_eq!(tiles([100, 100], 0.0, true, FRAME).unwrap()[2], whole_frame(FRAME));
        assert_eq!(tiles([640, 640], 0.2, true, FRAME).unwrap(), [whole_frame(FRAME)]);
        let error = tiles([4, 4], 0.0, false, FRAME).unwrap_err();
        assert!(error.contains("into 1250 tiles of 4x4") && error.contains("at most 1024"), "{error}");
        assert!(tiles([4, 4], 1.0, false, FRAME).unwrap_err().contains("overlap is 1"));
    }

    #[test]
    fn regions_fill_the_tensor_as_resize_says() {
        let crop = |resize| Crop { resize, ratio: 1.0, kind: RoiCrop::Box, tensor: [50, 50], frame: FRAME };
        let of = |rect, crop: &Crop, gaps| {
            cut(&[rect], crop, gaps).map(|all| match (all[0].cutout, all[0].region) {
                (Cutout::Map(map), Region { rect: own, isolated: false }) if own == rect => map,
                (cutout, region) => panic!("{cutout:?} {region:?}"),
            })
        };
        let one = |rect, resize, gaps| of(rect, &crop(resize), gaps);
        let wide = rect(20.0, 10.0, 100.0, 50.0);
        // 100x50 in 50x50: half the size, and the surroundings above and below are visible as well.
        assert_eq!(one(wide, Resize::Letterbox, false), Ok(Affine::upright([2.0, 2.0], [20.0, -15.0])));
        // The region at the top left of the tensor.
        let top_left = Ok(Affine::upright([2.0, 2.0], [20.0, 10.0]));
        assert_eq!(one(wide, Resize::LetterboxTopLeft, false), top_left);
        assert_eq!(one(wide, Resize::Stretch, false), Ok(Affine::upright([2.0, 1.0], [20.0, 10.0])));
        assert_eq!(one(wide, Resize::CenterCrop, true), Ok(Affine::upright([1.0, 1.0], [45.0, 10.0])));
        assert!(one(wide, Resize::CenterCrop, false).unwrap_err().contains("Set resize=letterbox"));
        let square = rect(20.0, 0.0, 100.0, 100.0);
        assert_eq!(one(square, Resize::CenterCrop, false), Ok(Affine::upright([2.0, 2.0], [20.0, 0.0])));
        // Half of its middle: 50x50 around 70, 50.
        let half = Crop { ratio: 0.5, ..crop(Resize::CenterCrop) };
        assert_eq!(of(square, &half, true), Ok(Affine::upright([1.0, 1.0], [45.0, 25.0])));
        let error = of(square, &half, false).unwrap_err();
        assert!(error.contains("because crop-ratio is 0.5. Set resize=letterbox"), "{error}");
        // mmpose counts from the first pixel's centre: a tensor's pixel of two frame pixels is half a pixel further.
        let mmpose = Crop { kind: RoiCrop::Mmpose, ..crop(Resize::Letterbox) };
        assert_eq!(of(wide, &mmpose, false), Ok(Affine::upright([2.0, 2.0], [19.5, -15.5])));
    }

    #[test]
    fn regions_of_whole_pixels_are_rounded_and_show_nothing_around_them() {
        let crop = Crop {
            resize: Resize::Letterbox,
            ratio: 1.0,
            kind: RoiCrop::Pixels,
            tensor: [50, 50],
            frame: FRAME,
        };
        let cut = |rect| cut(&[rect], &crop, false).map(|all| all[0]);
        let part = Part { x: 10, y: 21, width: 101, height: 60 };
        let region = Region { rect: rect(10.0, 21.0, 101.0, 60.0), isolated: true };
        let wanted = FixedRegion { region, cutout: Cutout::Part(part) };
        assert_eq!(cut(rect(10.25, 20.75, 100.5, 60.25)), Ok(wanted));
        let error = cut(rect(10.25, 20.0, 0.125, 9.0)).unwrap_err();
        assert!(error.contains("too small"), "{error}");
    }

    #[test]
    fn fuzz_regions() {
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "regions")
            .with_ratio(100) // an error repeats what it is about, in a sentence
            .run_text(|text| {
                let Ok(rects) = list(text, true, FRAME) else { return };
                assert!(
                    rects.len() <= MOST
                        && rects.iter().all(|rect| rect.x >= 0.0 && rect.w > 0.0 && rect.h > 0.0)
                );
            });
    }
}
