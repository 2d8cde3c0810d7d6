//! Everything after decoding: ranking, and what suppresses.

use crate::device::{CudaStream, Kernel};

use super::super::candidates::Gate;
use super::super::{DetectError, DetectParams, Nms};
use super::buffers::{Buffers, WINDOW};
use super::params::{Gathered, MOST_SMALL, Suppress, SuppressRotated, SuppressSmall};
use super::table::Table;

/// Threads of a block of `rank`, candidates that it ranks in one go, and the most blocks.
const RANKERS: u32 = 128;
const RANKED: usize = 16;
const MAX_RANK_BLOCKS: usize = 2048;
/// Threads of a block of `suppress`, and the words that its warps make at the same time.
const SUPPRESSORS: u32 = 256;
const WORDS: u32 = 8;
/// Threads of `select`, `soften` and `decide_small`.
const SELECTORS: u32 = 1024;
/// Threads of a block of `compare_small`; its blocks for a row, the most and the least, and for a batch. A block compares 32
/// candidates with 32 at a time.
const COMPARERS: u32 = 256;
const MOST_BLOCKS: usize = 1024;
const LEAST_BLOCKS: usize = 16;
const BLOCKS: usize = 2048;

/// `Among` and `Decay` in the kernels.
const SAME_CLASS: u32 = 0;
const ANY_CLASS: u32 = 1;
const NOTHING: u32 = 2;
const LINEAR: u32 = 0;
const GAUSSIAN: u32 = 1;

/// The kernels of `cuda/nms.cu` and `cuda/soft_nms.cu` that one kind of suppression takes, and its parameters.
#[derive(Debug)]
pub struct Suppressor {
    rank: Kernel,
    steps: Steps,
    limits: Table,
    /// What `top_k_before` comes to.
    ranked: usize,
    top_k_after: u32,
    iou: f32,
}

/// What follows ranking.
#[derive(Debug)]
enum Steps {
    /// `suppress` and `select`, among the same class or all; instead of them and of ranking `compare_small` and `decide_small`.
    Greedy { suppress: Kernel, select: Kernel, small: [Kernel; 2], among: u32 },
    /// `suppress_rotated` and `select`, among the same class or all.
    Rotated { suppress: Kernel, select: Kernel, among: u32 },
    /// `soften`.
    Soft { soften: Kernel, decay: u32, sigma: f32 },
    /// `select` alone.
    Nothing { select: Kernel },
}

impl Suppressor {
    /// Suppression of rotated boxes or upright ones.
    pub fn new(
        rotated: bool,
        params: &DetectParams,
        gate: &Gate,
        stream: &CudaStream,
    ) -> Result<Self, DetectError> {
        let nms = params.nms;
        let load = |name| Kernel::load(stream.context(), "nms", name);
        let soften = || Kernel::load(stream.context(), "soft_nms", "soften");
        let steps = match nms {
            Nms::ClassWise | Nms::Agnostic => {
                let among = if nms == Nms::Agnostic { ANY_CLASS } else { SAME_CLASS };
                let select = load("select")?;
                if rotated {
                    let suppress = Kernel::load(stream.context(), "nms_rotated", "suppress_rotated")?;
                    Steps::Rotated { suppress, select, among }
                } else {
                    let small = |name| Kernel::load(stream.context(), "nms_small", name);
                    let small = [small("compare_small")?, small("decide_small")?];
                    Steps::Greedy { suppress: load("suppress")?, select, small, among }
                }
            }
            Nms::SoftLinear => Steps::Soft { soften: soften()?, decay: LINEAR, sigma: 1.0 },
            Nms::SoftGaussian { sigma } => Steps::Soft { soften: soften()?, decay: GAUSSIAN, sigma },
            Nms::None => Steps::Nothing { select: load("select")? },
        };
        let limits = match nms {
            Nms::ClassWise => {
                let mut by_class = params.class_iou.clone();
                by_class.sort_unstable_by_key(|(class, _)| *class);
                Table::new(stream, &by_class, params.iou)?
            }
            Nms::SoftLinear | Nms::SoftGaussian { .. } => {
                let (exceptions, other, _) = gate.parts();
                Table::new(stream, exceptions, other)?
            }
            Nms::Agnostic | Nms::None => Table::new(stream, &[], params.iou)?,
        };
        // Without suppression the strongest are the detections: no more need be ranked.
        let ranked = match nms {
            Nms::None => params.top_k_before.min(params.top_k_after),
            _ => params.top_k_before,
        };
        let (top_k_after, iou) = (count(params.top_k_after), params.iou);
        Ok(Self { rank: load("rank")?, steps, limits, ranked, top_k_after, iou })
    }

    /// The most candidates that are ranked of that many of a frame.
    pub fn ranked_of(&self, candidates: usize) -> usize {
        candidates.min(self.ranked)
    }

    /// Enqueues all of it, for that many frames of that many candidates at most. A row of which more than `reach` must be ranked
    /// reports so, unless enough is found among these; the buffers have room for them. `rotated` is where rotated boxes lie, and how many
    /// candidates an anchor may become.
    pub fn start(
        &self,
        stream: &CudaStream,
        buffers: &Buffers,
        rows: usize,
        candidates: usize,
        reach: usize,
        rotated: Option<(&Gathered, u32)>,
    ) -> Result<(), DetectError> {
        // As many windows as these candidates may need; a window without candidates is over at once.
        let ranked = self.ranked_of(candidates).min(reach).max(1);
        let mut params = Suppress { top_k_before: count(ranked), ..self.params(buffers, candidates) };
        let launch = |kernel: &Kernel, [x, y]: [u32; 2], threads: u32, params: &Suppress| {
            // SAFETY: the kernels' parameter is this struct; the buffers hold what it says, and they stay until the
            // driver has seen the work on them done. The kernels wait before they touch what those before them write.
            unsafe { stream.launch_overlapping(kernel, [x, y, count(rows)], [threads, 1, 1], 0, params) }
        };
        let blocks = count(candidates.div_ceil(RANKED).clamp(1, MAX_RANK_BLOCKS));
        launch(&self.rank, [blocks, 1], RANKERS, &params)?;
        match &self.steps {
            Steps::Soft { soften, .. } => launch(soften, [1, 1], SELECTORS, &params)?,
            Steps::Greedy { select, .. } | Steps::Rotated { select, .. } | Steps::Nothing { select } => {
                for start in (0..ranked).step_by(WINDOW) {
                    params.start = count(start);
                    params.last = u32::from(ranked - start <= WINDOW);
                    let chunks = count((ranked - start).min(WINDOW).div_ceil(32));
                    let pairs = [chunks, chunks.div_ceil(WORDS)];
                    let mut selection = params;
                    match (&self.steps, rotated) {
                        (Steps::Greedy { suppress, .. }, _) => launch(suppress, pairs, SUPPRESSORS, &params)?,
                        (Steps::Rotated { suppress, .. }, Some((boxes, per_anchor))) => {
                            // It says itself what goes; there is no matrix to compare with.
                            selection.among = NOTHING;
                            let params =
                                SuppressRotated { nms: params, boxes: *boxes, per_anchor, padding: 0 };
                            let grid = [pairs[0], pairs[1], count(rows)];
                            // SAFETY: as above; the boxes lie in a tensor that is as large as the decoder has checked,
                            // and that stays as `CudaDetector::start` demands.
                            unsafe {
                                stream.launch_overlapping(suppress, grid, [SUPPRESSORS, 1, 1], 0, &params)?;
                            };
                        }
                        _ => {}
                    }
                    launch(select, [1, 1], SELECTORS, &selection)?;
                }
            }
        }
        Ok(())
    }

    /// Enqueues the same in two launches, if there are kernels for it. A row of more than [`MOST_SMALL`] candidates
    /// reports so. Blocks are launched as for `expected` candidates of a frame; where there are more, each takes longer.
    pub fn start_small(
        &self,
        stream: &CudaStream,
        buffers: &Buffers,
        rows: usize,
        candidates: usize,
        expected: usize,
    ) -> Result<(), DetectError> {
        let Steps::Greedy { small: [compare, decide], .. } = &self.steps else { return Ok(()) };
        let params = SuppressSmall {
            nms: self.params(buffers, candidates),
            ranks: buffers.ranks,
            marks: buffers.marks,
            room: count(buffers.capacity.room()),
            padding: 0,
        };
        let pairs = |candidates: usize| {
            let chunks = candidates.min(MOST_SMALL).div_ceil(32);
            chunks * (chunks + 1) / 2
        };
        // After frames without any, the first with many must not wait for one block.
        let wanted = pairs(expected).max(LEAST_BLOCKS).min(pairs(candidates)).max(1);
        let blocks = count((BLOCKS / rows.max(1)).clamp(LEAST_BLOCKS, MOST_BLOCKS).min(wanted));
        let rows = count(rows);
        // SAFETY: as above.
        unsafe {
            stream.launch_overlapping(compare, [blocks, 1, rows], [COMPARERS, 1, 1], 0, &params)?;
            stream.launch_overlapping(decide, [1, 1, rows], [SELECTORS, 1, 1], 0, &params)?;
        }
        Ok(())
    }

    /// Whether [`Suppressor::start_small`] does it, too.
    pub fn has_small(&self) -> bool {
        matches!(self.steps, Steps::Greedy { .. })
    }

    /// The kernels' parameters, for the first window.
    fn params(&self, buffers: &Buffers, candidates: usize) -> Suppress {
        let window = count(buffers.capacity.window());
        let (among, decay, sigma) = match &self.steps {
            Steps::Greedy { among, .. } | Steps::Rotated { among, .. } => (*among, LINEAR, 1.0),
            Steps::Soft { decay, sigma, .. } => (SAME_CLASS, *decay, *sigma),
            Steps::Nothing { .. } => (NOTHING, LINEAR, 1.0),
        };
        Suppress {
            row_bytes: buffers.row_bytes as u64,
            report_bytes: buffers.report_bytes as u64,
            counts: buffers.counts,
            frame: buffers.frame(),
            candidates: buffers.candidates,
            boxes: buffers.boxes,
            ranked: buffers.ranked,
            softened: buffers.softened,
            found: buffers.found,
            selected: buffers.selected,
            matrix: buffers.matrix,
            gone: buffers.gone,
            report: buffers.report.pointer(),
            limits: self.limits.params(),
            top_k_before: count(self.ranked),
            top_k_after: self.top_k_after,
            start: 0,
            window,
            among,
            decay,
            iou: self.iou,
            sigma,
            last: 1,
            capacity: count(candidates),
            delivered: buffers.delivered,
            wanted: count(self.ranked),
            padding: 0,
        }
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
