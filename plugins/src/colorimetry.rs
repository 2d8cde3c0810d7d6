//! The colours of a stream as its caps state them, and what is assumed where they do not.

use std::str::FromStr;

use cudainfer_kernels::frame::{Matrix, Range};
use gst_video::{VideoColorMatrix, VideoColorRange, VideoColorimetry, VideoInfo, VideoTransferFunction};

use crate::strings;

/// Lines of a frame from which on a matrix that the caps do not state is BT.709's, as in GStreamer.
const HD_LINES: u32 = 577;

/// How samples become R'G'B'.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Colorimetry {
    pub matrix: Matrix,
    pub range: Range,
    /// Values in the caps that are not known, or not supported, each with what is assumed instead.
    pub doubts: Vec<String>,
}

impl Colorimetry {
    /// The colours of the frames of `caps`, which `info` was made of. Caps without colorimetry mean GStreamer's own assumptions,
    /// which are no doubt: BT.601, or BT.709 for frames of more than 576 lines, in limited range; gray in full range.
    ///
    /// GStreamer's info has these also where the caps state a range without a matrix; here each field counts by itself.
    pub fn of(caps: &gst::CapsRef, info: &VideoInfo) -> Self {
        let text = caps.structure(0).and_then(|s| strings::field(s, "colorimetry"));
        let stated = text.map(|text| (VideoColorimetry::from_str(&text).ok(), text));
        let (by_height, by_height_name) =
            if info.height() < HD_LINES { (Matrix::Bt601, "BT.601") } else { (Matrix::Bt709, "BT.709") };
        let mut assumed = Self {
            matrix: if info.is_yuv() { by_height } else { Matrix::Bt601 },
            range: if info.is_yuv() { Range::Limited } else { Range::Full },
            doubts: vec![],
        };
        let Some((stated, text)) = stated else { return assumed };
        let mut doubt = |found: &str, assumption: String| {
            assumed
                .doubts
                .push(format!("colorimetry={text} of the frames {found}, so {assumption}. {SET_IT}"));
        };
        let Some(stated) = stated else {
            doubt("is not one that GStreamer knows", "it is taken as if there were none".into());
            return assumed;
        };
        let matrix = matrix(stated.matrix()).or_else(|| {
            if info.is_yuv() {
                doubt(
                    "states no matrix that is known",
                    format!("{by_height_name} is assumed by their height"),
                );
            }
            None
        });
        let range = match (stated.range(), info.is_rgb()) {
            (VideoColorRange::Range0_255, _) => Some(Range::Full),
            (VideoColorRange::Range16_235, false) => Some(Range::Limited),
            (VideoColorRange::Range16_235, true) => {
                doubt(
                    "states a limited range, which is not expanded in RGB",
                    "black and white are gray".into(),
                );
                None
            }
            _ if info.is_yuv() => {
                doubt("states no range that is known", "limited range (16 to 235) is assumed".into());
                None
            }
            _ => None,
        };
        if !is_for_usual_screens(stated.transfer()) {
            doubt(
                "states a transfer function that is not for usual screens (HDR, linear or logarithmic)",
                "a model that was trained on usual pictures sees other brightness and paler colours".into(),
            );
        }
        if info.is_yuv() {
            assumed.matrix = matrix.unwrap_or(assumed.matrix);
        }
        assumed.range = range.unwrap_or(assumed.range);
        assumed
    }
}

/// The end of each doubt.
const SET_IT: &str = "Convert the frames upstream, or state what they are, as by capssetter caps=video/x-raw,colorimetry=bt709";

fn matrix(stated: VideoColorMatrix) -> Option<Matrix> {
    Some(match stated {
        VideoColorMatrix::Fcc => Matrix::Fcc,
        VideoColorMatrix::Bt601 => Matrix::Bt601,
        VideoColorMatrix::Smpte240m => Matrix::Smpte240m,
        VideoColorMatrix::Bt709 => Matrix::Bt709,
        VideoColorMatrix::Bt2020 => Matrix::Bt2020,
        _ => return None,
    })
}

/// Whether R'G'B' of this transfer function looks right on a screen unchanged; one that is not stated counts as such.
fn is_for_usual_screens(transfer: VideoTransferFunction) -> bool {
    use VideoTransferFunction as T;
    matches!(
        transfer,
        T::Unknown
            | T::Bt601
            | T::Bt709
            | T::Srgb
            | T::Smpte240m
            | T::Bt202010
            | T::Bt202012
            | T::Adobergb
            | T::Gamma18
            | T::Gamma20
            | T::Gamma22
            | T::Gamma28
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(format: &str, height: u32, colorimetry: &str) -> (Matrix, Range, Vec<String>) {
        gst::init().unwrap();
        let stated = if colorimetry.is_empty() { "" } else { ",colorimetry=" };
        let caps = format!("video/x-raw,format={format},width=64,height={height}{stated}{colorimetry}");
        let caps = gst::Caps::from_str(&caps).unwrap();
        let Colorimetry { matrix, range, doubts } =
            Colorimetry::of(&caps, &VideoInfo::from_caps(&caps).unwrap());
        (matrix, range, doubts)
    }

    #[test]
    fn every_field_counts_by_itself_and_what_is_not_known_is_doubted() {
        use Matrix::{Bt601, Bt709, Bt2020, Fcc, Smpte240m};
        use Range::{Full, Limited};
        for (format, height, colorimetry, matrix, range, doubts) in [
            ("I420", 576, "", Bt601, Limited, &[][..]),
            ("I420", 577, "", Bt709, Limited, &[]),
            ("NV12", 720, "bt601", Bt601, Limited, &[]),
            ("NV12", 240, "bt709", Bt709, Limited, &[]),
            ("NV12", 240, "smpte240m", Smpte240m, Limited, &[]),
            ("NV12", 240, "bt2020-10", Bt2020, Limited, &[]),
            ("NV12", 240, "2:2:5:1", Fcc, Limited, &[]),
            ("NV12", 240, "1:4:0:0", Bt601, Full, &[]),
            ("NV12", 240, "1:0:0:0", Bt601, Full, &["no matrix"]),
            ("NV12", 720, "1:0:0:0", Bt709, Full, &["no matrix"]),
            ("NV12", 720, "1:77:0:0", Bt709, Full, &["no matrix"]),
            ("NV12", 720, "0:4:0:0", Bt601, Limited, &["no range"]),
            ("NV12", 720, "2:3:99:1", Bt709, Limited, &["transfer"]),
            ("NV12", 720, "bt2100-pq", Bt2020, Limited, &["transfer"]),
            ("NV12", 720, "0:0:0:9", Bt709, Limited, &["no matrix", "no range"]),
            ("NV12", 720, "colourful", Bt709, Limited, &["not one that GStreamer knows"]),
            ("GRAY8", 720, "", Bt601, Full, &[]),
            ("GRAY8", 720, "2:4:0:0", Bt601, Limited, &[]),
            ("GRAY8", 720, "1:4:16:4", Bt601, Full, &[]),
            ("RGB", 720, "", Bt601, Full, &[]),
            ("RGB", 720, "sRGB", Bt601, Full, &[]),
            ("RGB", 720, "2:1:5:1", Bt601, Full, &["limited range"]),
        ] {
            let (found_matrix, found_range, found) = of(format, height, colorimetry);
            let case = format!("{format} {height} {colorimetry}");
            assert_eq!((found_matrix, found_range), (matrix, range), "{case}");
            assert_eq!(found.len(), doubts.len(), "{case}: {found:?}");
            assert!(found.iter().zip(doubts).all(|(text, part)| text.contains(part)), "{case}: {found:?}");
        }
    }
}
