//! Tiles that cover a frame, for objects that are too small where the whole frame is made the size of a tensor.

use crate::geometry::Rect;

/// Tiles of one size, row by row, each row from the left.
///
/// They lie where SAHI's `get_slice_bboxes` puts its slices (Akyon et al., "Slicing Aided Hyper Inference and Fine-Tuning for
/// Small Object Detection", ICIP 2022): neighbours have `overlap` times the tile's side in common, cut off to whole pixels;
/// the last column and the last row are shifted inwards to end where the frame ends; a tile that is larger than the frame is
/// as large as the frame. Roboflow's `InferenceSlicer` has the same tiles, but for an overlap of 0, where it makes the last
/// ones smaller in place of shifting them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// The left edges of the columns, and the top edges of the rows.
    starts: [Vec<usize>; 2],
    /// Width and height of each tile.
    size: [usize; 2],
}

impl Tiles {
    /// Tiles of `tile` (width, height) pixels over a frame of `frame` pixels.
    ///
    /// None for a frame or tile without a size, and an overlap that is not from 0 to below 1.
    pub fn new(frame: [usize; 2], tile: [usize; 2], overlap: f64) -> Option<Self> {
        let sized = frame.iter().chain(&tile).all(|side| *side > 0);
        if !sized || !(0.0..1.0).contains(&overlap) {
            return None;
        }
        let starts = |axis: usize| {
            let (length, tile) = (frame[axis], tile[axis]);
            // Rounded down; less than the tile, also where the product was rounded.
            let common = ((overlap * tile as f64) as usize).min(tile - 1);
            let inner = (0..length).step_by(tile - common).take_while(|start| start + tile < length);
            inner.chain([length.saturating_sub(tile)]).collect()
        };
        let size = [0, 1].map(|axis| tile[axis].min(frame[axis]));
        Some(Self { starts: [starts(0), starts(1)], size })
    }

    /// The number of tiles.
    pub fn count(&self) -> usize {
        self.starts[0].len().saturating_mul(self.starts[1].len())
    }

    /// Width and height of each tile in pixels.
    pub fn size(&self) -> [usize; 2] {
        self.size
    }

    /// The tiles in frame pixels.
    pub fn rects(&self) -> impl Iterator<Item = Rect> {
        let [w, h] = self.size.map(|side| side as f32);
        let [columns, rows] = &self.starts;
        rows.iter().flat_map(move |y| columns.iter().map(move |x| Rect { x: *x as f32, y: *y as f32, w, h }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn starts(length: usize, tile: usize, overlap: f64) -> Vec<usize> {
        let [x, y] = Tiles::new([length, length], [tile, tile], overlap).unwrap().starts;
        assert_eq!(x, y);
        x
    }

    /// Left, top, right and bottom, as SAHI writes slices.
    fn corners(tiles: &Tiles) -> Vec<[usize; 4]> {
        tiles.rects().map(|r| [r.x, r.y, r.right(), r.bottom()].map(|v| v as usize)).collect()
    }

    #[test]
    fn tiles_are_where_sahis_rule_puts_slices() {
        // 640 pixels of which a fifth, 128, are the next tile's: 0, 512, 1024, then 1920 - 640.
        assert_eq!(starts(1920, 640, 0.2), [0, 512, 1024, 1280]);
        assert_eq!(starts(1080, 640, 0.2), [0, 440]);
        // The last tile ends where the frame ends without being shifted.
        assert_eq!(starts(256, 64, 0.25), [0, 48, 96, 144, 192]);
        assert_eq!(starts(1024, 512, 0.0), [0, 512]);
        // Without an overlap the last tile is shifted, too.
        assert_eq!(starts(100, 40, 0.0), [0, 40, 60]);
        // A tenth of 25 pixels is 2: 0, 23, 46, 69, then 100 - 25.
        assert_eq!(starts(100, 25, 0.1), [0, 23, 46, 69, 75]);
        assert_eq!(starts(100, 100, 0.5), [0]);
        assert_eq!(starts(100, 640, 0.2), [0]);
        // Nine tenths of one pixel are none.
        assert_eq!(starts(3, 1, 0.9), [0, 1, 2]);
    }

    #[test]
    fn rows_follow_each_other_and_tiles_are_no_larger_than_the_frame() {
        let tiles = Tiles::new([1000, 600], [512, 512], 0.2).unwrap();
        // A fifth of 512 is 102: 0, 410, then 1000 - 512; and 600 - 512 below.
        let wanted = [
            [0, 0, 512, 512],
            [410, 0, 922, 512],
            [488, 0, 1000, 512],
            [0, 88, 512, 600],
            [410, 88, 922, 600],
            [488, 88, 1000, 600],
        ];
        assert_eq!((corners(&tiles), tiles.count()), (wanted.to_vec(), 6));
        let low = Tiles::new([1280, 480], [640, 640], 0.0).unwrap();
        assert_eq!(corners(&low), [[0, 0, 640, 480], [640, 0, 1280, 480]]);
    }

    #[test]
    fn overlaps_that_never_end_and_sizes_of_nothing_are_refused() {
        for overlap in [1.0, 1.5, -0.1, f64::NAN] {
            assert!(Tiles::new([100, 100], [10, 10], overlap).is_none(), "{overlap}");
        }
        assert!(Tiles::new([0, 100], [10, 10], 0.2).is_none() && Tiles::new([9, 9], [10, 0], 0.2).is_none());
    }

    proptest! {
        #[test]
        fn no_pixel_is_without_a_tile(length in 1usize..3000, tile in 1usize..800, overlap in 0f64..0.95) {
            let starts = starts(length, tile, overlap);
            let size = tile.min(length);
            prop_assert_eq!((starts[0], starts[starts.len() - 1] + size), (0, length));
            for pair in starts.windows(2) {
                prop_assert!(pair[0] < pair[1] && pair[1] <= pair[0] + size, "{:?}", pair);
            }
        }
    }
}
