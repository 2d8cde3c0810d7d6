//! The combination of the other algorithms that was the best on detectors' output, with ideas of other trackers, each of which has a number
//! in the environment (trial.rs). This is for trying them (`python3 tools evaluate.ideas`), and not for use: without numbers it is `auto`.
//!
//! b1, b2: C-BIoU's buffers of the first association and of a second one. hm, tcm, tcmv: Hybrid-SORT's overlap of heights and expected
//! confidence (matching.rs). dlo, soft, softq: BoostTrack's and BoostTrack++'s boosted confidences. duo: BoostTrack's unlikely objects. sh: its
//! similarity of shapes. joint, lowpen, greedy: TrackTrack's one association in which pairs that are each other's best match first. tai:
//! its track-aware initialisation. occ, occdamp, occlife: FastTracker's occluded objects. oru: OC-SORT's re-update (target.rs). nsa, noise,
//! rnoise, nsize, vsize, damp: noise and velocity of the filter (motion/sized.rs). lostbuf: buffers that grow while an object is lost. cm: the
//! camera's motion from the objects' own. softnew, unconf, dup, pre, lowmiss, ocr: what comes first, and what may start.

use super::lifecycle::Targets;
use super::matching::{Momentum, Rule, SearchBox};
use super::motion::WidthHeight;
use super::observation::FrameView;
use super::trial::x;
use super::{TrackParams, TrackerInput};
use crate::associate::{Gate, Similarity};

pub(super) fn step(
    targets: &mut Targets<WidthHeight<70>>,
    params: &TrackParams,
    seen: FrameView<'_>,
    usable: Vec<usize>,
    similarity: &mut Similarity,
) {
    let frame = targets.begin_frame(seen, params.max_lost);
    let mut detections = seen.input().detections.to_vec();
    let (dlo, soft, q) = (x("dlo", 0.0) as f32, x("soft", 0.0) as f32, x("softq", 1.5) as f32);
    let boostlost = x("boostlost", 1.0) as u32;
    if dlo > 0.0 || soft > 0.0 {
        for &i in &usable {
            let r = detections[i].rect;
            let best = targets
                .all_mut()
                .iter()
                .filter(|t| t.was_confirmed() && t.misses <= boostlost)
                .map(|t| t.rect().iou(&r))
                .fold(0.0, f32::max);
            let c = detections[i].confidence;
            let mut n = c;
            if dlo > 0.0 {
                n = n.max(dlo * best);
            }
            if soft > 0.0 {
                n = n.max(soft * c + (1.0 - soft) * best.powf(q));
            }
            detections[i].confidence = n;
        }
    }
    let duo = x("duo", 0.0) as f32;
    let input = TrackerInput { detections: &detections, ..*seen.input() };
    let boosted = FrameView::new(&input);
    let use_boost = x("boostall", 1.0) > 0.0;
    let view = if use_boost { boosted } else { seen };
    let (mut high, mut low) = boosted.split(usable, params.high_confidence);
    let base = Rule {
        momentum: Some(Momentum::of(params)),
        x: true,
        low_at: params.high_confidence,
        ..Rule::new(Gate::Before(params.iou), params)
    };
    let unconf = x("unconf", 0.0) > 0.0;
    let (b1, b2) = (x("b1", 0.0) as f32, x("b2", 0.0) as f32);
    let b2lost = x("b2lost", 1000.0) as u32;
    if x("joint", 0.0) > 0.0 {
        let mut all = high.clone();
        all.extend(&low);
        all.sort();
        let lowat = params.high_confidence;
        let first = Rule { weigh_confidence: x("jw", 1.0) > 0.0, buffer: b1, ..base };
        targets.round(view, &mut all, first, similarity, |t| !unconf || t.was_confirmed());
        (high, low) = boosted.split(all, lowat);
        if unconf {
            targets.round(view, &mut high, Rule { weigh_confidence: true, ..base }, similarity, |t| {
                !t.was_confirmed()
            });
        }
    } else {
        let cm = x("cm", 0.0);
        fn med(mut v: Vec<f64>) -> f64 {
            v.sort_by(f64::total_cmp);
            v[v.len() / 2]
        }
        if cm == 2.0 {
            let mut d = [Vec::new(), Vec::new()];
            for t in targets.all_mut().iter().filter(|t| t.was_confirmed() && t.misses <= 1) {
                let r = t.rect();
                let best = high
                    .iter()
                    .map(|&i| (seen.input().detections[i].rect.iou(&r), i))
                    .max_by(|a, b| a.0.total_cmp(&b.0));
                if let Some((iou, i)) = best
                    && iou > 0.3
                {
                    let (a, b) =
                        (super::motion::centre(&r), super::motion::centre(&seen.input().detections[i].rect));
                    d[0].push(b[0] - a[0]);
                    d[1].push(b[1] - a[1]);
                }
            }
            if d[0].len() >= x("cmn", 3.0) as usize {
                let s = [med(d[0].clone()), med(d[1].clone())];
                for t in targets.all_mut().iter_mut() {
                    t.shift(s, [0.0; 2]);
                }
            }
        }
        let w = x("weigh", 1.0) > 0.0;
        let pre = x("pre", 0.0) as f32;
        if pre > 0.0 {
            targets.round(
                view,
                &mut high,
                Rule { weigh_confidence: w, ..Rule { gate: Gate::Before(pre), ..base } },
                similarity,
                |t| (!unconf || t.was_confirmed()) && t.misses <= 1,
            );
        }
        targets.round(view, &mut high, Rule { weigh_confidence: w, buffer: b1, ..base }, similarity, |t| {
            !unconf || t.was_confirmed()
        });
        if b2 > 0.0 && x("b2after", 0.0) == 0.0 {
            targets.round(
                view,
                &mut high,
                Rule { weigh_confidence: w, buffer: b2, ..base },
                similarity,
                |t| t.misses <= b2lost && (!unconf || t.was_confirmed()),
            );
        }
        if cm == 1.0 || cm == 3.0 {
            let mut d = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
            for t in targets.all_mut().iter().filter(|t| t.detection.is_some() && t.track_hits() >= 3) {
                let det = seen.input().detections[t.detection.unwrap()].rect;
                let (a, b) = (super::motion::centre(&t.before.0), super::motion::centre(&det));
                d[0].push(b[0] - a[0]);
                d[1].push(b[1] - a[1]);
                let v = t.velocity();
                d[2].push(v[0] - t.before.1[0]);
                d[3].push(v[1] - t.before.1[1]);
            }
            if d[0].len() >= x("cmn", 3.0) as usize {
                let m: Vec<f64> = d.iter().map(|v| med(v.clone())).collect();
                let kv = x("cmv", 0.0);
                for t in targets.all_mut().iter_mut().filter(|t| t.detection.is_none()) {
                    t.shift([m[0], m[1]], [kv * m[2], kv * m[3]]);
                }
                if cm == 1.0 {
                    targets.round(
                        view,
                        &mut high,
                        Rule { weigh_confidence: w, buffer: b1, ..base },
                        similarity,
                        |t| !unconf || t.was_confirmed(),
                    );
                }
            }
        }
        let low_misses = x("lowmiss", 1.0) as u32;
        let second = Rule {
            appearance: None,
            x: x("lowx", 0.0) > 0.0,
            buffer: x("b3", 0.0) as f32,
            ..Rule::new(Gate::Before(params.iou_low), params)
        };
        targets.round(view, &mut low, second, similarity, |t| t.was_confirmed() && t.misses <= low_misses);
        if b2 > 0.0 && x("b2after", 0.0) > 0.0 {
            targets.round(
                view,
                &mut high,
                Rule { weigh_confidence: w, buffer: b2, ..base },
                similarity,
                |t| t.misses <= b2lost && (!unconf || t.was_confirmed()),
            );
        }
        if unconf {
            targets.round(
                view,
                &mut high,
                Rule { weigh_confidence: w, gate: Gate::Before(x("uncgate", 0.3) as f32), ..base },
                similarity,
                |t| !t.was_confirmed(),
            );
        }
        let ocr = x("ocr", 0.0) as f32;
        if ocr > 0.0 {
            targets.round(
                view,
                &mut high,
                Rule {
                    search_box: SearchBox::LastSeen,
                    momentum: None,
                    weigh_confidence: w,
                    buffer: x("ocrb", 0.0) as f32,
                    ..Rule { gate: Gate::Before(ocr), ..base }
                },
                similarity,
                |t| t.was_confirmed(),
            );
        }
    }
    // occlusion
    let occ = x("occ", 0.0) as f32;
    if occ > 0.0 {
        let rects: Vec<_> =
            targets.all_mut().iter().filter(|t| t.detection.is_some()).map(|t| t.rect()).collect();
        for t in targets.all_mut().iter_mut().filter(|t| t.detection.is_none() && t.was_confirmed()) {
            let r = t.rect();
            let covered = rects
                .iter()
                .map(|o| {
                    let c = o.common(&r);
                    if c.w > 0.0 && c.h > 0.0 { c.w * c.h / r.area().max(1e-6) } else { 0.0 }
                })
                .fold(0.0, f32::max);
            if covered > occ {
                t.hidden = true;
                t.damp(x("occdamp", 1.0));
            }
        }
    }
    let softnew = x("softnew", 0.0) as f32;
    let tai = x("tai", 0.0) as f32;
    let mut start = view.split(high.clone(), params.new_confidence).0;
    if duo > 0.0 {
        // BoostTrack: what is like no known object may start one from a lower confidence on
        start = high
            .iter()
            .copied()
            .filter(|&i| {
                let d = seen.input().detections[i];
                let best = targets.all_mut().iter().map(|t| t.rect().iou(&d.rect)).fold(0.0, f32::max);
                d.confidence >= params.new_confidence
                    || (best < duo && d.confidence >= params.high_confidence)
            })
            .collect();
    }
    if tai > 0.0 {
        let cands = start.clone();
        start.retain(|&i| {
            let d = seen.input().detections[i];
            let known = targets
                .all_mut()
                .iter()
                .filter(|t| {
                    if x("tailost", 0.0) > 0.0 {
                        t.was_confirmed() && t.misses <= x("tailost", 0.0) as u32
                    } else {
                        t.detection.is_some()
                    }
                })
                .map(|t| t.rect().iou(&d.rect))
                .fold(0.0, f32::max);
            let better = cands
                .iter()
                .filter(|&&j| {
                    let o = seen.input().detections[j];
                    o.confidence > d.confidence || (o.confidence == d.confidence && j < i)
                })
                .map(|&j| seen.input().detections[j].rect.iou(&d.rect))
                .fold(0.0, f32::max);
            known < tai && better < tai
        });
    }
    let taic = x("taic", 0.0) as f32; // containment
    if taic > 0.0 {
        start.retain(|&i| {
            let d = seen.input().detections[i];
            let known = targets
                .all_mut()
                .iter()
                .filter(|t| t.detection.is_some())
                .map(|t| {
                    let c = t.rect().common(&d.rect);
                    if c.w > 0.0 && c.h > 0.0 { c.w * c.h / d.rect.area().max(1e-6) } else { 0.0 }
                })
                .fold(0.0, f32::max);
            known < taic
        });
    }
    let dup = x("dup", 0.0) as f32;
    if dup > 0.0 {
        let seen_now: Vec<_> = targets
            .all_mut()
            .iter()
            .filter(|t| t.detection.is_some())
            .map(|t| (t.rect(), t.track_hits()))
            .collect();
        targets.all_mut().retain(|t| {
            t.detection.is_some()
                || !seen_now.iter().any(|(r, h)| r.iou(&t.rect()) > dup && *h > t.track_hits())
        });
    }
    if softnew > 0.0 {
        start = view.split(high.clone(), softnew.max(params.high_confidence)).0;
    }
    targets.start(view, &start);
    targets.update_states(|target| {
        target.was_confirmed()
            || target.streak
                >= if softnew > 0.0 && target.first_conf < params.new_confidence {
                    x("softhits", 3.0) as u32
                } else {
                    params.min_hits
                }
            || (frame == 1 && target.first_conf >= params.new_confidence)
    });
    let life = x("occlife", 1.0);
    targets.keep(|t| {
        t.misses
            <= if t.was_confirmed() {
                if t.hidden { (params.max_lost as f64 * life) as u32 } else { params.max_lost }
            } else {
                x("unclost", 0.0) as u32
            }
    });
}
