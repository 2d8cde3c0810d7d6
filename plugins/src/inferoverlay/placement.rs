//! Where labels go, so that none hides another, and boxes of other objects stay visible: above, below or inside their own box.

use cudainfer_kernels::geometry::Rect;

/// What a candidate costs for each one before it, in thousandths of a label that hides others' boxes.
const LATER: i64 = 40;
/// What it costs to hide all of the own box.
const OWN: i64 = 500;
/// What it costs to lie on a label whose place is fixed.
const FIXED: i64 = 4000;
/// Coordinates beyond it are as far away.
const FAR: f32 = (1 << 24) as f32;

/// A label that wants a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    /// The box of its object; `None`: it has no place, and no label.
    pub at: Option<Rect>,
    /// Width and height in pixels; 0 for no label.
    pub size: [u32; 2],
    /// Labels with a lower one choose first.
    pub rank: u64,
}

/// Where a label is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    /// The lower left corner.
    pub corner: (f32, f32),
    /// How many other labels found no place, and are counted on this one.
    pub joined: usize,
}

/// Part of a frame, in whole pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Area {
    left: i64,
    top: i64,
    right: i64,
    bottom: i64,
}

impl Area {
    /// `None` for a box that is none.
    fn of(rect: &Rect) -> Option<Self> {
        let sides = [rect.x, rect.y, rect.right(), rect.bottom()];
        let [left, top, right, bottom] = sides.map(|v| v.round().clamp(-FAR, FAR) as i64);
        (sides.iter().all(|v| v.is_finite()) && left <= right && top <= bottom).then_some(Self {
            left,
            top,
            right,
            bottom,
        })
    }

    fn size(&self) -> i64 {
        (self.right - self.left) * (self.bottom - self.top)
    }

    /// Pixels that both have.
    fn common(&self, other: &Self) -> i64 {
        let across = self.right.min(other.right) - self.left.max(other.left);
        let down = self.bottom.min(other.bottom) - self.top.max(other.top);
        if across > 0 && down > 0 { across * down } else { 0 }
    }
}

/// A place for a label, and the pixels that it takes: backgrounds begin on even pixels.
#[derive(Clone, Copy, Debug)]
struct Spot {
    corner: [i64; 2],
    area: Area,
}

impl Spot {
    fn new(left: i64, top: i64, [width, height]: [i64; 2]) -> Self {
        let (right, bottom) = (left + width, top + height);
        Self { corner: [left, bottom], area: Area { left: left / 2 * 2, top: top / 2 * 2, right, bottom } }
    }
}

/// The places for a label of this size at a box, the best first: above, below, and inside at the top and at the bottom, each
/// along the left side and along the right one. The last one is in the frame wherever the box is.
fn spots(at: &Area, size: [i64; 2], frame: [i64; 2]) -> impl Iterator<Item = Spot> {
    let [width, height] = size;
    let most = [0, 1].map(|i| (frame[i] - size[i]).max(0));
    let columns = [at.left, at.right - width].map(|left| left.clamp(0, most[0]));
    let rows = [at.top - height, at.bottom, at.top, at.bottom - height];
    let inside = rows.into_iter().filter(move |top| (0..=most[1]).contains(top));
    let last = (columns[0], rows[0].clamp(0, most[1]));
    let regular = inside.flat_map(move |top| columns.map(|left| (left, top)));
    regular.chain([last]).map(move |(left, top)| Spot::new(left, top, size))
}

/// Finds a place for each label on a frame of this size (width, height), so that no two overlap. It hides as little as possible
/// of the boxes of other objects, and of labels that are `fixed`. A label that finds none is counted on the one in its way;
/// `grown` tells how large a label is, by its number, that counts this many.
pub(super) fn arrange(
    wishes: &[Wish],
    fixed: &[Rect],
    frame: [usize; 2],
    mut grown: impl FnMut(usize, usize) -> [u32; 2],
) -> Vec<Option<Place>> {
    let frame = frame.map(|v| i64::try_from(v).unwrap_or(i64::MAX));
    let boxes: Vec<_> = wishes.iter().map(|wish| Area::of(&wish.at?)).collect();
    let fixed: Vec<_> = fixed.iter().filter_map(Area::of).collect();
    let mut sizes: Vec<_> = wishes.iter().map(|wish| wish.size.map(i64::from)).collect();
    let mut joined = vec![0_usize; wishes.len()];
    let mut order: Vec<_> =
        (0..wishes.len()).filter(|i| boxes[*i].is_some() && wishes[*i].size[0] > 0).collect();
    order.sort_by_key(|i| wishes[*i].rank);
    loop {
        let mut taken: Vec<(usize, Spot)> = Vec::with_capacity(order.len());
        let mut hosts = Vec::new();
        for &i in &order {
            match best(i, sizes[i], &boxes, &fixed, &taken, frame) {
                Ok(spot) => taken.push((i, spot)),
                Err(host) => hosts.push((i, host)),
            }
        }
        if hosts.is_empty() {
            let mut places = vec![None; wishes.len()];
            for (i, Spot { corner: [x, y], .. }) in taken {
                places[i] = Some(Place { corner: (x as f32, y as f32), joined: joined[i] });
            }
            return places;
        }
        // Every round takes labels away, so there is a last one.
        for &(i, host) in &hosts {
            joined[host] += 1 + joined[i];
        }
        order.retain(|i| hosts.iter().all(|(gone, _)| gone != i));
        for &(_, host) in &hosts {
            sizes[host] = grown(host, joined[host]).map(i64::from);
        }
    }
}

/// The place for a label that costs least, the first of several.
///
/// # Errors
/// The number of a label that is in the way, if each of the places is taken.
fn best(
    label: usize,
    size: [i64; 2],
    boxes: &[Option<Area>],
    fixed: &[Area],
    taken: &[(usize, Spot)],
    frame: [i64; 2],
) -> Result<Spot, usize> {
    let mut found: Option<(i64, Spot)> = None;
    let mut in_the_way = label;
    let Some(own) = boxes.get(label).copied().flatten() else { return Err(in_the_way) };
    for (rank, spot) in (0..).zip(spots(&own, size, frame)) {
        let area = spot.area;
        if let Some((host, _)) = taken.iter().find(|(_, other)| other.area.common(&area) > 0) {
            in_the_way = if in_the_way == label { *host } else { in_the_way };
            continue;
        }
        let others = boxes.iter().enumerate().filter(|(i, _)| *i != label).filter_map(|(_, other)| *other);
        let hidden: i64 = others.map(|other| other.common(&area)).sum();
        let on_fixed: i64 = fixed.iter().map(|other| other.common(&area)).sum();
        let cost = (1000 * hidden + FIXED * on_fixed) / area.size().max(1)
            + OWN * own.common(&area) / own.size().max(1)
            + LATER * rank;
        if found.is_none_or(|(least, _)| cost < least) {
            found = Some((cost, spot));
        }
    }
    found.map(|(_, spot)| spot).ok_or(in_the_way)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FRAME: [usize; 2] = [640, 480];
    const SIZE: [u32; 2] = [100, 20];

    fn wish(x: f32, y: f32, w: f32, h: f32) -> Wish {
        Wish { at: Some(Rect { x, y, w, h }), size: SIZE, rank: 0 }
    }

    /// Each label that counts others is 30 pixels wider.
    fn wider(_: usize, _: usize) -> [u32; 2] {
        [SIZE[0] + 30, SIZE[1]]
    }

    fn corners(wishes: &[Wish]) -> Vec<Option<(f32, f32)>> {
        arrange(wishes, &[], FRAME, wider).iter().map(|place| place.map(|place| place.corner)).collect()
    }

    #[test]
    fn a_label_lies_above_its_box_below_it_or_inside() {
        assert_eq!(corners(&[wish(50.0, 100.0, 120.0, 200.0)]), [Some((50.0, 100.0))]);
        assert_eq!(corners(&[wish(50.0, 10.0, 120.0, 200.0)]), [Some((50.0, 230.0))], "no room above");
        assert_eq!(corners(&[wish(50.0, 10.0, 120.0, 465.0)]), [Some((50.0, 30.0))], "nor below");
        assert_eq!(
            corners(&[wish(600.0, 100.0, 90.0, 50.0)]),
            [Some((540.0, 100.0))],
            "it ends in the frame"
        );
        assert_eq!(corners(&[wish(-900.0, -900.0, 9.0, 9.0)]), [Some((0.0, 20.0))]);
    }

    #[test]
    fn it_leaves_other_boxes_and_fixed_labels_alone() {
        // The place above is in the box of another object, whose own label is above that.
        let (near, far) = (wish(50.0, 200.0, 120.0, 100.0), wish(40.0, 60.0, 140.0, 135.0));
        assert_eq!(corners(&[near, far]), [Some((50.0, 320.0)), Some((40.0, 60.0))]);
        let zone = Rect { x: 60.0, y: 185.0, w: 90.0, h: 10.0 };
        let place = arrange(&[near], &[zone], FRAME, wider)[0];
        assert_eq!(place, Some(Place { corner: (50.0, 320.0), joined: 0 }));
    }

    #[test]
    fn labels_without_room_are_counted_on_the_one_in_their_way() {
        // Nine objects at one place: a label above and below, and two inside, which are 20 high each.
        let crowd = [wish(50.0, 100.0, 100.0, 40.0); 9];
        let places = arrange(&crowd, &[], FRAME, |_, _| SIZE);
        let shown: Vec<_> = places.iter().flatten().collect();
        assert_eq!(
            (shown.len(), shown.iter().map(|place| place.joined).sum::<usize>()),
            (4, 5),
            "{places:?}"
        );
        // Those that were there first stay.
        let ranked: Vec<_> = (0..9).map(|i| Wish { rank: 9 - i, ..crowd[0] }).collect();
        let places = arrange(&ranked, &[], FRAME, |_, _| SIZE);
        assert!(
            places[8].is_some_and(|place| place.corner == (50.0, 100.0)) && places[0].is_none(),
            "{places:?}"
        );
    }

    #[test]
    fn what_has_no_text_or_no_place_has_no_label() {
        let wishes = [
            Wish { at: None, ..wish(0.0, 0.0, 9.0, 9.0) },
            Wish { size: [0, 0], ..wish(50.0, 100.0, 9.0, 9.0) },
            wish(f32::NAN, 0.0, 9.0, 9.0),
            wish(0.0, 50.0, f32::INFINITY, 9.0),
        ];
        assert_eq!(corners(&wishes), [None; 4]);
        assert_eq!(corners(&[]), []);
        // A label that is larger than the frame.
        let place = arrange(&[wish(10.0, 10.0, 9.0, 9.0)], &[], [33, 17], wider)[0].unwrap();
        assert_eq!(place.corner, (0.0, 20.0));
    }

    proptest! {
        #[test]
        fn no_label_covers_another_all_are_counted_and_the_same_comes_out_again(
            boxes in prop::collection::vec((-50f32..640.0, -50f32..480.0, 0f32..200.0, 0f32..200.0), 0..40),
            widths in prop::collection::vec(0u32..160, 40),
        ) {
            let wishes: Vec<_> = boxes
                .iter()
                .zip(&widths)
                .map(|(&(x, y, w, h), width)| Wish { size: [width / 2 * 2, 20], ..wish(x, y, w, h) })
                .collect();
            let grown = |i: usize, joined: usize| [wishes[i].size[0] + 10 * joined as u32, 20];
            let places = arrange(&wishes, &[], FRAME, grown);
            let wanted = wishes.iter().filter(|wish| wish.size[0] > 0).count();
            let counted: usize = places.iter().flatten().map(|place| 1 + place.joined).sum();
            prop_assert_eq!(counted, wanted);
            let areas: Vec<_> = places
                .iter()
                .enumerate()
                .filter_map(|(i, place)| {
                    let Place { corner: (x, y), joined } = (*place)?;
                    let size = if joined > 0 { grown(i, joined) } else { wishes[i].size };
                    let rect = cudainfer_kernels::draw::label_rect([x, y], size, FRAME);
                    Area::of(&rect.unwrap())
                })
                .collect();
            for (i, a) in areas.iter().enumerate() {
                prop_assert!(areas[..i].iter().all(|b| a.common(b) == 0), "{:?}", places);
                prop_assert!(a.left >= 0 && a.top >= 0 && a.bottom <= 480, "{:?}", a);
            }
            prop_assert_eq!(&places, &arrange(&wishes, &[], FRAME, grown));
        }
    }
}
