//! Soft masks for compositing: their range, edges and floor, and where VR players look for them.

use cudainfer_tests::{buffers, model, run};
use gstcudainfer::meta::mask::{MaskKind, masks};

fn bytes(buffer: &gst::BufferRef) -> Vec<u8> {
    buffer.map_readable().unwrap().to_vec()
}

/// Frames of two colours beside each other, the second from column `edge` on.
fn halves(width: usize, height: usize, edge: usize, colours: [u32; 2]) -> String {
    let half = |number: usize, width: usize| {
        format!(
            "videotestsrc num-buffers=2 pattern=solid-color foreground-color={} \
             ! video/x-raw,format=RGB,width={width},height={height} ! mix.sink_{number}",
            colours[number]
        )
    };
    format!(
        "compositor name=mix background=black sink_1::xpos={edge} ! video/x-raw,format=RGB,width={width},height={height} \
         ! identity name=mixed {} {}  mixed.",
        half(0, edge),
        half(1, width - edge)
    )
}

const RED: u32 = 0xffff_0000;
const BLUE: u32 = 0xff00_00ff;
const GREEN: u32 = 0xff00_ff00;

/// The soft mask of the last frame, as a gray frame.
fn gray(source: &str, properties: &str) -> Vec<u8> {
    let frames = buffers(&format!(
        "{source} ! fusedpreproc resize=stretch ! trtinfer model={} ! segmask output=gray {properties} ! fakesink name=out",
        model("mask-red")
    ));
    bytes(frames.last().unwrap())
}

#[test]
fn the_range_of_each_frame_goes_from_its_least_to_its_greatest_value() {
    let source = halves(24, 16, 12, [0xff40_0000, 0xff80_0000]);
    let fixed = gray(&source, "");
    assert_eq!((fixed[0], fixed[23]), (0x40, 0x80));
    let frame = gray(&source, "range=frame");
    assert!(frame.iter().enumerate().all(|(i, v)| *v == if i % 24 < 12 { 0 } else { 255 }), "{frame:?}");
    // The threshold is one of the new values.
    let cut = gray(&source, "range=frame mode=threshold threshold=0.9");
    assert_eq!(cut, frame);
    // A frame of one value has nothing in it.
    assert!(gray(&halves(24, 16, 12, [RED, RED]), "range=frame").iter().all(|v| *v == 0));
}

#[test]
fn what_is_below_the_floor_is_gone() {
    let source = halves(24, 16, 12, [0xff40_0000, 0xff80_0000]);
    let mask = gray(&source, "floor=0.3");
    assert_eq!((mask[0], mask[23]), (0, 0x80));
    let mask = gray(&source, "floor=0.2");
    assert_eq!((mask[0], mask[23]), (0x40, 0x80));
}

#[test]
fn a_gray_matte_of_10_bits_has_the_full_range_and_the_floor() {
    for (colours, wanted) in [([0xff40_0000, RED], [0, 1023]), ([0xff60_0000, 0xff80_0000], [385, 514])] {
        let gray_10 = "! videoconvert dither=none ! video/x-raw,format=I420_10LE,colorimetry=1:3:5:1";
        let frame = gray(&halves(24, 16, 12, colours), &format!("floor=0.3 {gray_10}"));
        let luma: Vec<u16> =
            frame.as_chunks::<2>().0.iter().take(24 * 16).map(|bytes| u16::from_le_bytes(*bytes)).collect();
        for (i, v) in luma.iter().enumerate() {
            assert!(v.abs_diff(wanted[usize::from(i % 24 >= 12)]) <= 1, "{luma:?}");
        }
    }
}

/// By how much two planes differ, in all.
fn apart(a: &[u8], b: &[u8]) -> u64 {
    a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(*b))).sum()
}

#[test]
fn the_mask_of_a_frame_is_that_of_the_frame_and_not_of_one_before() {
    // A ball that is somewhere else in each frame.
    let frames = buffers(&format!(
        "videotestsrc num-buffers=20 pattern=ball foreground-color={RED} ! video/x-raw,format=RGBA,width=160,height=120 \
         ! fusedpreproc resize=stretch ! queue ! trtinfer model={} ! queue ! segmask output=alpha refine=guided ! queue \
         ! fakesink name=out",
        model("mask-red")
    ));
    let planes = |channel: usize| -> Vec<Vec<u8>> {
        frames
            .iter()
            .map(|frame| bytes(frame).as_chunks::<4>().0.iter().map(|pixel| pixel[channel]).collect())
            .collect()
    };
    let (red, alpha) = (planes(0), planes(3));
    assert_eq!(frames.len(), 20);
    for (i, alpha) in alpha.iter().enumerate() {
        let nearest = (0..20).min_by_key(|other| apart(alpha, &red[*other]));
        assert_eq!(nearest, Some(i), "the mask of frame {i} is nearest to another picture");
    }
}

#[test]
fn edges_fade_inwards_and_outwards_by_pixels_of_the_frame() {
    let mask = gray(&halves(24, 16, 12, [RED, BLUE]), "feather-in=2 feather-out=6");
    for row in mask.chunks(24) {
        assert!(row[..9].iter().all(|v| *v == 255) && row[19..].iter().all(|v| *v == 0), "{row:?}");
        assert!(row[9..19].windows(2).all(|pair| pair[0] > pair[1]), "{row:?}");
    }
}

#[test]
fn the_guided_filter_moves_a_coarse_edge_to_that_of_the_picture() {
    // The model's cells are 8 pixels wide: the edge lies in the middle of one.
    let (width, edge) = (192, 76);
    let source = halves(width, 128, edge, [RED, BLUE]);
    let coarse = gray(&source, "");
    let fine = gray(&source, "refine=guided");
    let row = |mask: &[u8]| mask[64 * width..][..width].to_vec();
    let soft = |row: &[u8]| row.iter().filter(|v| (20..235).contains(*v)).count();
    assert!(soft(&row(&coarse)) > 4, "{:?}", row(&coarse));
    let fine = row(&fine);
    assert!(soft(&fine) == 0 && fine[edge - 1] > 235 && fine[edge] < 20, "{fine:?}");
    // A mask in metadata gets the frame's size.
    let frames = buffers(&format!(
        "{source} ! fusedpreproc resize=stretch ! trtinfer model={} ! segmask refine=guided ! fakesink name=out",
        model("mask-red")
    ));
    let mask = &masks(&frames[1])[0];
    assert_eq!((mask.width, mask.height, &mask.kind), (192, 128, &MaskKind::Alpha { label: "red".into() }));
    assert_eq!(row(&bytes(&mask.data)), fine);
}

#[test]
fn masks_of_a_stereo_pair_lie_in_the_corners_where_deovr_reads_them() {
    let (width, height) = (200, 100);
    let pixels = |format: &str, back: &str| {
        let frames = buffers(&format!(
            "{} ! videoconvert ! video/x-raw,format={format} ! fusedpreproc resize=stretch \
             roi=list regions=0,0,100,100;100,0,100,100 ! trtinfer model={} ! segmask output=deovr {back} ! fakesink name=out",
            halves(width, height, 100, [RED, GREEN]),
            model("mask-red")
        ));
        bytes(&frames[1])
    };
    let check = |frame: &[u8], size: usize, far: u8| {
        // The left picture's mask, around the middle of the upper and the lower edge, is full; the right one's is empty.
        for (x, y, wanted) in [
            (105, 5, [255, 0, 0]),
            (95, 95, [255, 0, 0]),
            (105, 95, [255, 0, 0]),
            (5, 5, [0; 3]),
            (195, 5, [0; 3]),
            (5, 95, [0; 3]),
            (195, 95, [0; 3]),
            (150, 50, [0, 255, 0]),
            (50, 50, [255, 0, 0]),
            // Between the circles.
            (150, 4, [0, 255, 0]),
        ] {
            let pixel = &frame[(y * width + x) * size..][..3];
            let close = pixel.iter().zip(wanted).all(|(a, b)| a.abs_diff(b) <= far);
            assert!(close, "{x} {y}: {pixel:?} for {wanted:?}");
        }
    };
    check(&pixels("RGB", ""), 3, 0);
    check(&pixels("RGBA", ""), 4, 0);
    check(&pixels("I420", "! videoconvert ! video/x-raw,format=RGB"), 3, 6);
}

#[test]
fn soft_edges_lose_the_backgrounds_colours() {
    let source = halves(96, 32, 48, [RED, GREEN]);
    let pixels = |properties: &str| {
        let frames = buffers(&format!(
            "{source} ! videoconvert ! video/x-raw,format=BGRA ! fusedpreproc resize=stretch ! trtinfer model={} \
             ! segmask output=alpha feather-in=4 feather-out=8 {properties} ! fakesink name=out",
            model("mask-red")
        ));
        bytes(&frames[1])
    };
    let (before, after) = (pixels(""), pixels("foreground=estimated"));
    for x in 0..96 {
        let at = (16 * 96 + x) * 4;
        let (old, new) = (&before[at..at + 4], &after[at..at + 4]);
        assert_eq!(old[3], new[3], "the mask stays");
        assert_eq!(old[..3], if x < 48 { [0, 0, 255] } else { [0, 255, 0] });
        if (1..255).contains(&new[3]) && x >= 48 {
            // Beyond the edge the frame is green, and what the matte shows of it is red.
            assert!(new[2] > new[1], "{x}: {new:?}");
        }
        if new[3] == 0 {
            assert_eq!(old, new, "what nobody sees stays");
        }
    }
}

#[test]
fn mattes_of_classes_and_of_objects_are_refused() {
    let source = halves(24, 16, 12, [RED, BLUE]);
    let line = |name: &str, properties: &str| {
        run(&format!(
            "{source} ! fusedpreproc ! trtinfer model={} ! segmask {properties} ! fakesink",
            model(name)
        ))
    };
    for properties in [
        "mode=argmax refine=guided",
        "mode=argmax feather-in=1",
        "mode=argmax floor=0.1",
        "mode=argmax output=deovr",
    ] {
        line("masks-colours", properties).fails_with(&["are for soft masks", "set mode=soft"]);
    }
    line("mask-red", "foreground=estimated")
        .fails_with(&["foreground=estimated changes the colours", "set output=alpha"]);
    line("masks-colours", "range=frame")
        .fails_with(&["the range of each frame is for mode=soft", "Set range=fixed"]);
    // Too small for two circles.
    let small = halves(16, 8, 8, [RED, BLUE]);
    run(&format!(
        "{small} ! fusedpreproc resize=stretch ! trtinfer model={} ! segmask output=deovr ! fakesink",
        model("mask-red")
    ))
    .fails_with(&["16x8 pixels holds no two fisheye pictures", "40 columns"]);
}
