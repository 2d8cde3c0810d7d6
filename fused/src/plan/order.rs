//! Which steps need which, and which may run beside each other.

use super::{BufferId, Plan, View};

/// Steps before each step.
#[derive(Clone, Debug)]
pub struct Order {
    /// By step: the steps that make what it reads, ascending, without those that others of them need.
    pub needs: Vec<Vec<usize>>,
    /// By step: all steps that must be over before it begins, a bit each.
    before: Vec<Vec<u64>>,
}

impl Order {
    /// Of a plan.
    pub fn of(plan: &Plan) -> Self {
        let words = plan.steps.len().div_ceil(64);
        let mut writers: Vec<Vec<(usize, &View)>> = vec![Vec::new(); plan.buffers.len()];
        let (mut needs, mut before): (Vec<Vec<usize>>, Vec<Vec<u64>>) = (Vec::new(), Vec::new());
        for (index, step) in plan.steps.iter().enumerate() {
            let (reads, writes) = step.views();
            let mut needed: Vec<usize> = Vec::new();
            for view in reads {
                let written = writers[view.buffer.0].iter().filter(|(_, written)| view.may_overlap(written));
                needed.extend(written.map(|(writer, _)| *writer));
            }
            needed.sort_unstable();
            needed.dedup();
            let mut all = vec![0; words];
            for writer in needed.iter().rev() {
                all.iter_mut().zip(&before[*writer]).for_each(|(all, before)| *all |= before);
            }
            // What another needed step needs is over anyway.
            needed.retain(|writer| !has(&all, *writer));
            needed.iter().for_each(|writer| all[writer / 64] |= 1 << (writer % 64));
            for view in writes {
                writers[view.buffer.0].push((index, view));
            }
            needs.push(needed);
            before.push(all);
        }
        Self { needs, before }
    }

    /// Whether `first` is over before `then` begins.
    pub fn is_before(&self, first: usize, then: usize) -> bool {
        has(&self.before[then], first)
    }
}

fn has(bits: &[u64], index: usize) -> bool {
    bits[index / 64] >> (index % 64) & 1 == 1
}

impl View {
    /// Whether two views of one buffer may have an element in common. Parts of rows that lie in turns are known to have none.
    fn may_overlap(&self, other: &Self) -> bool {
        if self.buffer != other.buffer {
            return false;
        }
        let [a, b] = [self, other].map(View::range);
        if a.1 < b.0 || b.1 < a.0 {
            return false;
        }
        // Both repeat with this period: they are apart if they are within it.
        let periods = self.axes().into_iter().map(|(_, stride)| stride).filter(|stride| *stride > 1);
        !periods.into_iter().any(|period| {
            let (a, b) = (self.within(period), other.within(period));
            matches!((a, b), (Some(a), Some(b)) if a.1 < b.0 || b.1 < a.0)
        })
    }

    /// Axes of more than one element: their lengths and strides.
    fn axes(&self) -> Vec<(usize, usize)> {
        let all = self.dims.iter().zip(&self.strides);
        all.filter(|(length, stride)| **length > 1 && **stride != 0)
            .map(|(n, s)| (*n, s.unsigned_abs()))
            .collect()
    }

    /// The first and the last element.
    fn range(&self) -> (usize, usize) {
        let ends = self
            .dims
            .iter()
            .zip(&self.strides)
            .map(|(n, stride)| stride * (n.saturating_sub(1)).cast_signed());
        let (low, high) = ends.fold((0, 0), |(low, high), end| (low + end.min(0), high + end.max(0)));
        (self.offset.saturating_add_signed(low), self.offset.saturating_add_signed(high))
    }

    /// Which elements of each period it takes, the first and the last one, if all its longer strides are multiples of the period.
    fn within(&self, period: usize) -> Option<(usize, usize)> {
        let mut extent = 0;
        for (length, stride) in self.axes() {
            if stride % period != 0 {
                extent += (length - 1) * stride;
            }
        }
        let first = self.range().0 % period;
        (first + extent < period).then_some((first, first + extent))
    }
}

/// Where buffers lie in one piece of memory: those that are never needed at the same time share their place.
#[derive(Clone, Debug)]
pub struct Arena {
    /// By piece of memory: its first byte, a multiple of [`Arena::ALIGNMENT`].
    pub offsets: Vec<usize>,
    /// Bytes in all.
    pub bytes: usize,
}

/// A piece of memory: how large it is, and which steps use it.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Its size.
    pub bytes: usize,
    /// Ascending.
    pub steps: Vec<usize>,
}

impl Arena {
    /// In bytes: as much as any kernel reads or writes at a time, and a line of the cache.
    pub const ALIGNMENT: usize = 256;

    /// Places the largest pieces first, each at the lowest place that is free whenever it is needed.
    pub fn of(pieces: &[Piece], order: &Order) -> Self {
        let mut by_size: Vec<usize> = (0..pieces.len()).collect();
        by_size.sort_by_key(|piece| std::cmp::Reverse(pieces[*piece].bytes));
        let mut arena = Self { offsets: vec![0; pieces.len()], bytes: 0 };
        let mut placed: Vec<usize> = Vec::new();
        for piece in by_size {
            let size = pieces[piece].bytes.next_multiple_of(Self::ALIGNMENT);
            let end =
                |other: usize| arena.offsets[other] + pieces[other].bytes.next_multiple_of(Self::ALIGNMENT);
            let mut taken: Vec<[usize; 2]> = placed
                .iter()
                .filter(|other| !apart(&pieces[piece], &pieces[**other], order))
                .map(|other| [arena.offsets[*other], end(*other)])
                .collect();
            taken.sort_unstable();
            let mut at = 0;
            for [begin, end] in taken {
                if at + size <= begin {
                    break;
                }
                at = at.max(end);
            }
            arena.offsets[piece] = at;
            arena.bytes = arena.bytes.max(at + size);
            placed.push(piece);
        }
        arena
    }
}

/// Whether one is no longer needed when the other one is first needed.
fn apart(a: &Piece, b: &Piece, order: &Order) -> bool {
    let ends = |first: &Piece, then: &Piece| {
        first.steps.iter().all(|first| then.steps.iter().all(|then| order.is_before(*first, *then)))
    };
    ends(a, b) || ends(b, a)
}

impl Plan {
    /// The steps that use each buffer, ascending.
    pub fn users(&self) -> Vec<Vec<usize>> {
        let mut users = vec![Vec::new(); self.buffers.len()];
        for (index, step) in self.steps.iter().enumerate() {
            let (reads, writes) = step.views();
            for BufferId(buffer) in reads.into_iter().chain(writes).map(|view| view.buffer) {
                if users[buffer].last() != Some(&index) {
                    users[buffer].push(index);
                }
            }
        }
        users
    }
}
