//! Colours of frames by the colorimetry of their caps, compared with GStreamer's own converter, and the messages about caps
//! without one.

use cudainfer_tests::{buffers, run};
use gstcudainfer::meta::tensor::TensorSet;

/// Red, green and blue of a flat picture.
type Rgb = [u8; 3];

/// A picture of one colour, whose samples are taken for those of `colorimetry`.
fn frames(format: &str, colour: u32, size: &str, colorimetry: &str) -> String {
    format!(
        "videotestsrc num-buffers=2 pattern=solid-color foreground-color={colour} ! video/x-raw,format={format},{size} \
         ! capssetter caps=\"video/x-raw,colorimetry=(string){colorimetry}\""
    )
}

/// The frame's pixels as the model sees them.
fn seen(frames: &str, channels: &str) -> Vec<u8> {
    let out = buffers(&format!(
        "{frames} ! fusedpreproc device=cpu tensor-type=uint8 layout=nhwc width=1 height=1 resize=stretch channels={channels} \
         ! fakesink name=out"
    ));
    TensorSet::of(&out[0]).unwrap()[0].tensors[0].data.map_readable().unwrap().to_vec()
}

/// The frame's pixels as videoconvert makes them.
fn converted(frames: &str) -> Rgb {
    let out = buffers(&format!("{frames} ! videoconvert ! video/x-raw,format=RGB ! fakesink name=out"));
    out[0].map_readable().unwrap()[..3].try_into().unwrap()
}

#[test]
fn every_matrix_and_range_is_what_videoconvert_takes_it_for() {
    const SIZE: &str = "width=16,height=16";
    let yuv = ["2:2:5:1", "bt601", "smpte240m", "bt709", "bt2020", "1:4:0:0", "1:5:0:0", "1:3:0:0"];
    let formats = [("NV12", &yuv[..]), ("YUY2", &yuv), ("GRAY8", &["1:4:0:0", "2:4:0:0"])];
    for (format, colorimetries) in formats {
        for colorimetry in colorimetries {
            for colour in [0xffc0_4080_u32, 0xff20_e0a0] {
                let frames = frames(format, colour, SIZE, colorimetry);
                let (ours, theirs) = (seen(&frames, "rgb"), converted(&frames));
                // videoconvert has factors of 8 bits, by which white is 253; the kernels' own tests compare with float64.
                let near = ours.iter().zip(theirs).all(|(a, b)| a.abs_diff(b) <= 6);
                assert!(near, "{format} {colorimetry} {colour:x}: {ours:?}, not {theirs:?}");
            }
        }
    }
}

#[test]
fn a_full_range_without_a_matrix_is_full_range_and_the_matrix_is_doubted_once() {
    let of = |colorimetry: &str| frames("I420", 0xffc0_4080, "width=16,height=16", colorimetry);
    assert_eq!(seen(&of("1:0:0:0"), "rgb"), seen(&of("1:4:0:0"), "rgb"));
    assert_ne!(seen(&of("1:0:0:0"), "rgb"), seen(&of("2:4:0:0"), "rgb"));
    let warned = |colorimetry: &str| {
        run(&format!("{} ! fusedpreproc device=cpu width=16 height=16 ! fakesink", of(colorimetry)))
            .succeeds()
            .warnings
    };
    let warnings = warned("1:0:0:0");
    let [warning] = &warnings[..] else { panic!("one warning: {warnings:?}") };
    assert!(warning.contains("colorimetry=1:0:0:0") && warning.contains("BT.601 is assumed"), "{warning}");
    assert!(warned("bt2100-pq").iter().any(|warning| warning.contains("HDR")));
    for known in ["bt601", "bt709", "bt2020", "smpte240m", "2:2:5:1", "1:4:7:1"] {
        assert!(warned(known).is_empty(), "{known}: {:?}", warned(known));
    }
}

#[test]
fn gray_of_rgb_frames_does_not_depend_on_their_height() {
    // Pure green: 0.587 of 255, as cv2, Pillow, torchvision and TensorFlow have it.
    for size in ["width=32,height=240", "width=32,height=720"] {
        let description = format!("videotestsrc num-buffers=1 pattern=green ! video/x-raw,format=RGB,{size}");
        assert_eq!(seen(&description, "gray"), [150], "{size}");
    }
}
