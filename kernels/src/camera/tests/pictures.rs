//! The small pictures that motion is measured in.

use super::frames::Owned;
use super::shrink::picture_params;
use super::*;

fn gray(width: usize, height: usize) -> FrameFormat {
    FrameFormat { pixels: PixelFormat::Gray8, width, height, matrix: Matrix::Bt709, range: Range::Full }
}

#[test]
fn frames_are_measured_in_their_own_pixels() {
    // 965 and 541 are not divisible by 2: the picture's pixels are not square.
    for (size, shrunk) in [([960, 540], [480, 270]), ([965, 541], [482, 270])] {
        let wanted = motion(size, 1.0, 1.01, [7.3, -4.1]);
        let format = gray(size[0], size[1]);
        let mut shrink = Shrink::new(format).unwrap();
        let mut estimator = Estimator::new();
        let mut found = None;
        for motion in [motion(size, 0.0, 1.0, [0.0, 0.0]), wanted] {
            let pixels = rendered(size, |x, y| {
                let (x, y) = before(&motion, x, y);
                texture(x / 2.0, y / 2.0, 17)
            });
            let picture = shrink.run(&Frame::new(&format, &[(&pixels, size[0])]).unwrap()).unwrap();
            assert_eq!((picture.size(), picture.frame()), (shrunk, size));
            found = estimator.update(&picture, &[]);
        }
        assert_found(found, &wanted, size, 0.2);
    }
}

#[test]
fn pictures_are_small_and_keep_the_shape() {
    let sizes = [
        ([1920, 1080], [480, 270]),
        ([3840, 2160], [480, 270]),
        ([1280, 720], [426, 240]),
        ([768, 576], [384, 288]),
        ([1080, 1920], [270, 480]),
        ([512, 288], [512, 288]),
        ([513, 288], [256, 144]),
        ([1, 1], [1, 1]),
        ([16384, 1], [512, 1]),
    ];
    for (frame, wanted) in sizes {
        assert_eq!(picture_size(frame[0], frame[1]), wanted, "{frame:?}");
    }
}

#[test]
fn a_picture_is_the_mean_luma_of_every_format() {
    for pixels in PixelFormat::ALL {
        let format = FrameFormat { pixels, width: 1030, height: 30, ..gray(0, 0) };
        let owned = Owned::noise(format, 5, 3);
        let mut shrink = Shrink::new(format).unwrap();
        let picture = shrink.run(&owned.frame()).unwrap();
        assert_eq!(picture.size(), [343, 10]);
        // Column 100 of 343 is the mean of the columns from 300.29 to 303.29.
        let mut sum = 0.0;
        for y in 9..12 {
            for (x, weight) in [(300, 0.708_454_8), (301, 1.0), (302, 1.0), (303, 0.294_460_6)] {
                sum += weight * owned.pixel(x, y, true)[0];
            }
        }
        let wanted = sum / (3.0 * 1030.0 / 343.0);
        let found = f64::from(picture.pixels()[3 * 343 + 100]);
        assert!((found - wanted).abs() <= 0.51, "{pixels:?}: {found}, not {wanted}");
    }
}

#[test]
fn every_pixel_is_the_mean_of_what_it_covers() {
    let sizes = [
        ([320, 200], [32, 20]),
        ([257, 93], [85, 31]),
        ([64, 33], [64, 33]),
        ([301, 7], [2, 7]),
        ([5, 60], [4, 21]),
    ];
    for (number, (frame, size)) in (0..).zip(sizes) {
        for pixels in PixelFormat::ALL {
            for range in [Range::Limited, Range::Full] {
                let format = FrameFormat { pixels, range, ..gray(frame[0], frame[1]) };
                let owned = Owned::noise(format, 5, number);
                let mut shrink = Shrink::to(size, format).unwrap();
                let picture = shrink.run(&owned.frame()).unwrap();
                let wanted = frames::pixels(&owned, &picture_params(size));
                // Half a level of rounding, and what float32 loses of 255.
                let near = |(found, wanted): (&u8, &f64)| (f64::from(*found) - wanted).abs() <= 0.5 + 1e-4;
                assert!(picture.pixels().iter().zip(&wanted).all(near), "{pixels:?} {range:?} {frame:?}");
                assert_eq!(wanted.len(), size[0] * size[1]);
            }
        }
    }
}

#[test]
fn what_is_no_picture_is_refused() {
    let bytes = [0; 12];
    assert!(Picture::new(&bytes, [4, 3], [40, 30]).is_ok());
    let wrong = |size, frame| Picture::new(&bytes, size, frame).unwrap_err();
    assert!(matches!(wrong([4, 4], [40, 30]), CameraError::Picture { bytes: 12, .. }));
    assert!(matches!(wrong([0, 3], [40, 30]), CameraError::Size { what: "picture", .. }));
    assert!(matches!(wrong([4, 3], [40, 0]), CameraError::Size { what: "frame", .. }));
    assert!(matches!(wrong([usize::MAX, usize::MAX], [4, 3]), CameraError::Size { .. }));
    assert!(matches!(Shrink::new(gray(0, 10)), Err(CameraError::Shrink(_))));
    let short = Owned::noise(gray(64, 63), 0, 1);
    assert!(matches!(Shrink::new(gray(64, 64)).unwrap().run(&short.frame()), Err(CameraError::Shrink(_))));
}
