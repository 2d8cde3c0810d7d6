//! Known colours.

use super::*;

/// The colour of a flat 4x4 frame, rounded.
fn colour(source: FrameFormat, planes: &[&[u8]]) -> [i32; 3] {
    let tensor = floats(&run(&Owned::flat(source, planes), &plain((2, 2))));
    let (planes, _) = tensor.as_chunks::<4>();
    [0, 1, 2].map(|c| {
        assert!(planes[c].iter().all(|v| *v == planes[c][0]), "a flat frame stays flat");
        planes[c][0].round() as i32
    })
}

#[test]
fn limited_black_and_white_are_0_and_255_in_every_matrix() {
    for matrix in Matrix::ALL {
        let source = FrameFormat { matrix, ..format(PixelFormat::I420, (4, 4)) };
        assert_eq!(colour(source, &[&[235], &[128], &[128]]), [255; 3]);
        assert_eq!(colour(source, &[&[16], &[128], &[128]]), [0; 3]);
        let full = FrameFormat { range: Range::Full, ..source };
        assert_eq!(colour(full, &[&[255], &[128], &[128]]), [255; 3]);
        assert_eq!(colour(full, &[&[16], &[128], &[128]]), [16; 3]);
    }
}

#[test]
fn the_codes_of_the_primaries_become_the_primaries() {
    // Limited-range 8-bit codes of R, G and B: 75 % bars' 100 % relatives, from the recommendations' equations.
    let codes = [
        (Matrix::Bt601, [[81, 90, 240], [145, 54, 34], [41, 240, 110]]),
        (Matrix::Bt709, [[63, 102, 240], [173, 42, 26], [32, 240, 118]]),
        (Matrix::Bt2020, [[74, 97, 240], [164, 47, 25], [29, 240, 119]]),
        (Matrix::Fcc, [[82, 90, 240], [145, 54, 34], [40, 240, 110]]),
        (Matrix::Smpte240m, [[62, 102, 240], [170, 42, 28], [35, 240, 116]]),
    ];
    for (matrix, primaries) in codes {
        for (c, [y, cb, cr]) in primaries.into_iter().enumerate() {
            let source = FrameFormat { matrix, ..format(PixelFormat::Nv12, (4, 4)) };
            let rgb = colour(source, &[&[y], &[cb, cr]]);
            // The codes are rounded: two steps of error at most, one of chroma being worth up to 2.2.
            let wanted = [0, 1, 2].map(|i| if i == c { 255 } else { 0 });
            assert!((0..3).all(|i| (rgb[i] - wanted[i]).abs() <= 2), "{matrix:?}: {rgb:?} {wanted:?}");
        }
    }
}

#[test]
fn ten_bits_have_the_same_ends_as_eight() {
    let word = |v: u16| (v << 6).to_le_bytes();
    let source = format(PixelFormat::P010Le, (4, 4));
    let grey = [word(512), word(512)].concat();
    assert_eq!(colour(source, &[&word(940), &grey]), [255; 3]);
    assert_eq!(colour(source, &[&word(64), &grey]), [0; 3]);
    let full = FrameFormat { range: Range::Full, ..source };
    assert_eq!(colour(full, &[&word(1023), &grey]), [255; 3]);
    assert_eq!(colour(full, &[&word(0), &grey]), [0; 3]);
}

#[test]
fn alpha_is_ignored_and_grey_frames_fill_three_channels() {
    for alpha in [0, 255] {
        assert_eq!(colour(format(PixelFormat::Bgra, (4, 4)), &[&[30, 20, 10, alpha]]), [10, 20, 30]);
    }
    assert_eq!(colour(format(PixelFormat::Gray8, (4, 4)), &[&[235]]), [255; 3]);
}

#[test]
fn gray_of_rgb_frames_is_what_the_libraries_make_of_them_whatever_the_matrix() {
    // cv2.cvtColor, PIL's convert("L"), torchvision's rgb_to_grayscale, TensorFlow's rgb_to_grayscale: rounded.
    for ((r, g, b), luma) in [((255, 0, 0), 76), ((0, 255, 0), 150), ((0, 0, 255), 29), ((10, 200, 30), 124)]
    {
        for matrix in Matrix::ALL {
            let source = FrameFormat { matrix, ..format(PixelFormat::Rgb, (4, 4)) };
            let gray = PreprocParams { channels: ChannelOrder::Gray, ..plain((2, 2)) };
            let tensor = floats(&run(&Owned::flat(source, &[&[r, g, b]]), &gray));
            assert!(tensor.iter().all(|v| v.round() as i32 == luma), "{matrix:?}: {tensor:?}, not {luma}");
        }
    }
}
