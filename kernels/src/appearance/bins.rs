//! Which counters a sample counts in, and how often. The kernels do the same (`cuda/appearance.cu`).

/// Counters of a box, and elements of its embedding.
pub const LENGTH: usize = 128;

/// The most columns and rows of a box that are looked at (`COLUMNS`, `GRID_ROWS`).
pub(super) const GRID: [usize; 2] = [32, 64];
/// Parts of a box that count apart.
const STRIPES: usize = 6;
/// Levels of luma, times those of Cb and Cr.
const COLORS: usize = 8 * 5 * 5;
const ORIENTATIONS: usize = 8;
const KEYS: usize = STRIPES * (COLORS + ORIENTATIONS);
/// How often a sample counts for its colour where an edge counts once (`COLOR`).
const COLOR: u16 = 4;
/// The least difference of luma that is an edge (`EDGE`).
const EDGE: i32 = 16;

// The sum of a box's counts fits into each of them: a row's weights are 120 at most.
const _: () = assert!(120 * GRID[1] * (COLOR as usize + 1) <= u16::MAX as usize);
const _: () = assert!(LENGTH.is_power_of_two() && LENGTH <= 256);

/// The counter of each pair of stripe and level.
static SLOTS: [u8; KEYS] = slots();

const fn slots() -> [u8; KEYS] {
    let mut slots = [0; KEYS];
    let mut key = 0;
    while key < KEYS {
        let mut h = key as u32;
        h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
        h ^= h >> 16;
        slots[key] = (h as usize % LENGTH) as u8;
        key += 1;
    }
    slots
}

/// Where column or row `i` of a grid of at most `grid` lies among `length` pixels.
pub(super) fn position(i: usize, length: usize, grid: usize) -> usize {
    if length < grid { i } else { (2 * i + 1) * length / (2 * grid) }
}

/// What a sample in `column` of `columns` counts: 1, 2, 4, 8 from the sides to the middle.
pub(super) fn weight(column: usize, columns: usize) -> u16 {
    1 << (8 * column.min(columns - 1 - column) / columns)
}

/// The first key of row `row` of `rows`.
pub(super) fn stripe(row: usize, rows: usize) -> usize {
    row * STRIPES / rows * (COLORS + ORIENTATIONS)
}

/// The counter of a colour in a stripe, and how often it counts there.
#[inline]
pub(super) fn color_slot(stripe: usize, [y, cb, cr]: [u8; 3]) -> (usize, u16) {
    let color = (usize::from(y / 32) * 5 + chroma_level(cb)) * 5 + chroma_level(cr);
    (usize::from(SLOTS[stripe + color]), COLOR)
}

fn chroma_level(c: u8) -> usize {
    2 + usize::from(c >= 134) + usize::from(c >= 146) - usize::from(c <= 122) - usize::from(c <= 110)
}

/// The counter of a gradient in a stripe; none where there is no edge. A gradient counts once.
#[inline]
pub(super) fn gradient_slot(stripe: usize, gx: i32, gy: i32) -> Option<usize> {
    let edge = gx.abs().max(gy.abs()) >= EDGE;
    edge.then(|| usize::from(SLOTS[stripe + COLORS + orientation(gx, gy)]))
}

/// The eighth of a half turn around which the gradient lies, from +x towards +y. The bounds are the tangents of 11.25 and
/// 33.75 degrees in units of 1/256.
#[inline]
pub(super) fn orientation(gx: i32, gy: i32) -> usize {
    let (x, y) = (gx.abs(), gy.abs());
    let eighth = usize::from(256 * y >= 51 * x)
        + usize::from(256 * y >= 171 * x)
        + usize::from(256 * x < 171 * y)
        + usize::from(256 * x < 51 * y);
    if (gx ^ gy) < 0 { (ORIENTATIONS - eighth) % ORIENTATIONS } else { eighth }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_of_a_row_are_120_at_most() {
        for columns in 1..=GRID[0] {
            let sum: u16 = (0..columns).map(|column| weight(column, columns)).sum();
            assert!(sum <= 120, "{columns} {sum}");
            assert_eq!(weight(0, columns), weight(columns - 1, columns));
        }
        assert_eq!(
            [0, 3, 4, 8, 12, 15, 19, 20, 31].map(|column| weight(column, 32)),
            [1, 1, 2, 4, 8, 8, 8, 4, 1]
        );
    }

    #[test]
    fn positions_are_the_middles_of_equal_parts_inside_the_box() {
        for length in 1..2000 {
            let columns = length.min(32);
            for i in 0..columns {
                let middle = (i as f64 + 0.5) * length as f64 / columns as f64;
                assert_eq!(position(i, length, 32), middle as usize);
            }
        }
    }

    #[test]
    fn orientations_are_those_of_the_angle() {
        for gx in -255..=255 {
            for gy in -255..=255i32 {
                let angle = f64::from(gy).atan2(f64::from(gx)).to_degrees().rem_euclid(180.0);
                let bin = angle / 22.5;
                // The bounds in 1/256 are less than 0.03 degrees off the exact ones.
                if (bin - bin.floor() - 0.5).abs() > 0.03 / 22.5 && (gx, gy) != (0, 0) {
                    assert_eq!(orientation(gx, gy), bin.round() as usize % 8, "{gx} {gy}");
                }
                assert_eq!(orientation(gx, gy), orientation(-gx, -gy), "{gx} {gy}");
            }
        }
    }

    #[test]
    fn keys_are_spread_over_all_counters() {
        let mut keys = [0; LENGTH];
        SLOTS.iter().for_each(|slot| keys[usize::from(*slot)] += 1);
        let (least, most) = (keys.iter().min().unwrap(), keys.iter().max().unwrap());
        assert!(*least >= 1 && *most <= 22, "{least} to {most} keys of {}", KEYS / LENGTH);
    }
}
