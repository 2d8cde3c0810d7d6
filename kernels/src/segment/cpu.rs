//! Masks from logits on the CPU: tiles of [`TILE`] cells, whose channels are processed one after the other. The work on a tile
//! compiles to vector code.

use std::borrow::Cow;

use half::f16;
use half::slice::HalfFloatSliceExt;
use multiversion::multiversion;

use super::SegmentError;
use super::plan::{SegmentPlan, Task};
use super::value::{activate, blend, byte, share, softmax};
use crate::preproc::Layout;
use crate::tensor::{TensorType, TensorView};

/// Cells of a tile: a channel of them is whole cache lines, and all their data stays in the first-level cache.
const TILE: usize = 256;

type Lane = [f32; TILE];

/// Values in one of the float types.
#[derive(Debug)]
enum Floats<'a> {
    Single(Cow<'a, [f32]>),
    Half(Cow<'a, [f16]>),
}

impl<'a> Floats<'a> {
    fn of(tensor: &TensorView<'a>) -> Self {
        fn all<'a, T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(bytes: &'a [u8]) -> Cow<'a, [T]> {
            match bytemuck::try_cast_slice(bytes) {
                Ok(values) => Cow::Borrowed(values),
                Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
            }
        }
        match tensor.ty {
            TensorType::Float16 => Self::Half(all(tensor.bytes())),
            _ => Self::Single(all(tensor.bytes())),
        }
    }

    /// Values `first`, `first + step` and so on.
    fn load(&self, first: usize, step: usize, to: &mut [f32]) {
        let n = to.len();
        match (self, step) {
            (Self::Single(values), 1) => to.copy_from_slice(&values[first..first + n]),
            (Self::Half(values), 1) => values[first..first + n].convert_to_f32_slice(to),
            (Self::Single(values), _) => {
                to.iter_mut().zip(values[first..].iter().step_by(step)).for_each(|(to, v)| *to = *v);
            }
            (Self::Half(values), _) => {
                let mut halves = [f16::ZERO; TILE];
                let halves = &mut halves[..n];
                halves.iter_mut().zip(values[first..].iter().step_by(step)).for_each(|(to, v)| *to = *v);
                halves.convert_to_f32_slice(to);
            }
        }
    }

    /// Stores `values` from `first` on, and rounds `values` to what was stored.
    fn store(&mut self, first: usize, values: &mut [f32]) {
        let n = values.len();
        match self {
            Self::Single(all) => all.to_mut()[first..first + n].copy_from_slice(values),
            Self::Half(all) => {
                let halves = &mut all.to_mut()[first..first + n];
                halves.convert_from_f32_slice(values);
                halves.convert_to_f32_slice(values);
            }
        }
    }
}

/// The state of the smoothing: `planes` times the cells, one channel after the other.
#[derive(Debug)]
pub(super) struct State {
    values: Floats<'static>,
    /// Nothing has been stored yet.
    fresh: bool,
}

impl State {
    /// Fails where memory is missing, because the sizes come from a model.
    pub fn new(plan: &SegmentPlan) -> Result<Self, SegmentError> {
        fn zeros<T: Clone>(n: usize, zero: T) -> Option<Vec<T>> {
            let mut values = Vec::new();
            values.try_reserve_exact(n).ok()?;
            values.resize(n, zero);
            Some(values)
        }
        let smoothed = plan.params.smoothing > 0.0;
        let n = if smoothed { plan.planes() * plan.announced.shape.cells() } else { 0 };
        let values = match plan.announced.tensor.ty {
            TensorType::Float16 => zeros(n, f16::ZERO).map(|values| Floats::Half(values.into())),
            _ => zeros(n, 0.0).map(|values| Floats::Single(values.into())),
        };
        let values = values.ok_or_else(|| SegmentError::Memory(plan.announced.tensor.to_string()))?;
        Ok(Self { values, fresh: true })
    }

    pub fn reset(&mut self) {
        self.fresh = true;
    }
}

/// One frame's logits and the state.
struct Source<'a> {
    plan: &'a SegmentPlan,
    logits: Floats<'a>,
    state: &'a mut State,
}

impl Source<'_> {
    /// Loads and smooths `n` cells of a channel; returns how many of its values are not finite. The rest of the lane
    /// becomes 0.
    fn lane(&mut self, channel: usize, first: usize, n: usize, store: bool, lane: &mut Lane) -> u32 {
        let SegmentPlan { announced, params, task, .. } = self.plan;
        let shape = announced.shape;
        let (start, step) = match shape.layout {
            Layout::Nchw => (channel * shape.cells() + first, 1),
            Layout::Nhwc => (first * shape.channels + channel, shape.channels),
        };
        lane[n..].fill(0.0);
        self.logits.load(start, step, &mut lane[..n]);
        let bad = non_finite(lane);
        if params.smoothing > 0.0 {
            let plane = if *task == Task::Value { 0 } else { channel };
            let at = plane * shape.cells() + first;
            let mut old = [f32::NAN; TILE];
            if !self.state.fresh {
                self.state.values.load(at, 1, &mut old[..n]);
            }
            smooth(lane, &old, params.smoothing);
            if store {
                self.state.values.store(at, &mut lane[..n]);
            } else if matches!(self.state.values, Floats::Half(_)) {
                let halves: [f16; TILE] = std::array::from_fn(|i| f16::from_f32(lane[i]));
                halves.convert_to_f32_slice(lane);
            }
        }
        bad
    }
}

/// Writes the mask, before clean-up; returns how many values are not finite. Both sizes have been checked.
pub(super) fn run(plan: &SegmentPlan, logits: &TensorView<'_>, state: &mut State, mask: &mut [u8]) -> usize {
    let mut source = Source { plan, logits: Floats::of(logits), state };
    let SegmentPlan { announced, params, task, gate } = plan;
    let channels = 0..announced.shape.channels;
    let (mut lane, mut of, mut sums) = ([0.0; TILE], [0.0; TILE], [0.0; TILE]);
    let mut non_finite = 0;
    let mut values = Vec::with_capacity(if params.stretched { mask.len() } else { 0 });
    for (tile, bytes) in mask.chunks_mut(TILE).enumerate() {
        let (first, n) = (tile * TILE, bytes.len());
        match task {
            // Class maps have no floats: see map.rs.
            Task::ClassMap => continue,
            Task::Argmax => {
                let mut best = ([f32::NEG_INFINITY; TILE], [0; TILE]);
                for channel in channels.clone() {
                    non_finite += source.lane(channel, first, n, true, &mut lane) as usize;
                    take_greatest(&lane, channel as u32, &mut best);
                }
                bytes.iter_mut().zip(best.1).for_each(|(byte, class)| *byte = class as u8);
                continue;
            }
            Task::Value => {
                non_finite += source.lane(params.channel, first, n, true, &mut lane) as usize;
                if params.soft || params.stretched {
                    lane.iter_mut().for_each(|v| *v = activate(params.activation, *v));
                }
            }
            Task::Softmax => {
                source.lane(params.channel, first, n, false, &mut of);
                sums.fill(0.0);
                for channel in channels.clone() {
                    non_finite += source.lane(channel, first, n, true, &mut lane) as usize;
                    add_shares(&lane, &of, &mut sums);
                }
                lane = std::array::from_fn(|i| softmax(of[i], sums[i]));
            }
        }
        if params.stretched {
            values.extend_from_slice(&lane[..n]);
            continue;
        }
        for (to, v) in bytes.iter_mut().zip(lane) {
            *to = if params.soft { byte(v) } else { u8::from(v >= *gate) };
        }
    }
    if params.stretched {
        let (least, greatest) = bounds(&values);
        let factor = if greatest > least { 1.0 / (greatest - least) } else { 0.0 };
        for (to, v) in mask.iter_mut().zip(&values) {
            let v = (v - least) * factor;
            *to = if params.soft { byte(v) } else { u8::from(v >= *gate) };
        }
    }
    source.state.fresh = false;
    non_finite
}

/// The least and the greatest finite value; nothing lies between where there is none.
fn bounds(values: &[f32]) -> (f32, f32) {
    let finite = values.iter().copied().filter(|v| v.is_finite());
    finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(least, greatest), v| (v.min(least), v.max(greatest)))
}

#[multiversion(targets("x86_64+avx2"))]
fn non_finite(lane: &Lane) -> u32 {
    lane.iter().map(|v| u32::from(!v.is_finite())).sum()
}

#[multiversion(targets("x86_64+avx2"))]
fn smooth(lane: &mut Lane, old: &Lane, keep: f32) {
    let take = 1.0 - keep;
    for (v, old) in lane.iter_mut().zip(old) {
        *v = blend(*old, *v, keep, take);
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn take_greatest(lane: &Lane, class: u32, best: &mut (Lane, [u32; TILE])) {
    let (values, classes) = best;
    for ((v, best), of) in lane.iter().zip(values).zip(classes) {
        let greater = *v > *best;
        *best = if greater { *v } else { *best };
        *of = if greater { class } else { *of };
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn add_shares(lane: &Lane, of: &Lane, sums: &mut Lane) {
    for ((v, of), sum) in lane.iter().zip(of).zip(sums) {
        *sum += share(*v, *of);
    }
}
