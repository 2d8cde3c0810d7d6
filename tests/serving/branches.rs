//! Branches with a model of their own that come and go while the others play.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use cudainfer_tests::{TestPipeline, init, model, within};
use gst::prelude::*;

use cudainfer_tests::dice::Dice;
use cudainfer_tests::stream::alone;

/// How many criticals GStreamer and GLib have logged; there must be none.
static CRITICALS: AtomicUsize = AtomicUsize::new(0);

/// Counts criticals from now on.
fn count_criticals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for domain in ["GStreamer", "GLib", "GLib-GObject"] {
            glib::log_set_handler(
                Some(domain),
                glib::LogLevels::LEVEL_CRITICAL,
                false,
                false,
                |domain, _, text| {
                    if CRITICALS.fetch_add(1, Ordering::SeqCst) < 20 {
                        eprintln!("{}: {text}", domain.unwrap_or_default());
                    }
                },
            );
        }
    });
}

struct Branch {
    bin: gst::Element,
    tee: gst::Pad,
}

struct Walk {
    pipeline: TestPipeline,
    dice: Dice,
    branches: Vec<Branch>,
    count: usize,
}

impl Walk {
    fn add(&mut self) {
        let shared = ["", "instance=walk"][self.dice.roll(2)];
        let queue = ["queue !", ""][self.dice.roll(2)];
        let bin = gst::parse::bin_from_description(
            &format!(
                "{queue} fusedpreproc ! trtinfer name=infer {shared} model={} ! gpunms ! fakesink async=false",
                model("detector")
            ),
            true,
        )
        .unwrap();
        bin.set_property("name", format!("branch{}", self.count));
        self.count += 1;
        let bin: gst::Element = bin.upcast();
        self.pipeline.add(&bin).unwrap();
        let tee = self.pipeline.element("t").request_pad_simple("src_%u").unwrap();
        tee.link(&bin.static_pad("sink").unwrap()).unwrap();
        bin.sync_state_with_parent().unwrap();
        self.branches.push(Branch { bin, tee });
    }

    /// Removes a branch, in one of the orders of steps that applications use.
    fn remove(&mut self) {
        if self.branches.is_empty() {
            return;
        }
        let Branch { bin, tee } = self.branches.swap_remove(self.dice.roll(self.branches.len()));
        let pipeline = self.pipeline.clone();
        let order = self.dice.roll(3);
        within(move || {
            let splitter = tee.parent_element().unwrap();
            let unlink = || {
                let _ = tee.unlink(&bin.static_pad("sink").unwrap());
                splitter.release_request_pad(&tee);
            };
            match order {
                0 => {
                    unlink();
                    bin.set_state(gst::State::Null).unwrap();
                    pipeline.remove(&bin).unwrap();
                }
                1 => {
                    bin.set_locked_state(true);
                    bin.set_state(gst::State::Null).unwrap();
                    unlink();
                    pipeline.remove(&bin).unwrap();
                }
                _ => {
                    unlink();
                    pipeline.remove(&bin).unwrap();
                    bin.set_state(gst::State::Null).unwrap();
                }
            }
        });
    }

    fn flush(&mut self) {
        if self.branches.is_empty() {
            return;
        }
        let index = self.dice.roll(self.branches.len());
        let pad = self.branches[index].bin.static_pad("sink").unwrap();
        within(move || {
            pad.send_event(gst::event::FlushStart::new());
            pad.send_event(gst::event::FlushStop::new(true));
        });
    }

    fn state(&mut self) {
        let states = [
            gst::State::Playing,
            gst::State::Paused,
            gst::State::Playing,
            gst::State::Ready,
            gst::State::Null,
            gst::State::Playing,
        ];
        let state = states[self.dice.roll(states.len())];
        let pipeline = self.pipeline.clone();
        within(move || {
            let _ = pipeline.set_state(state);
        });
    }
}

#[test]
fn branches_come_and_go_in_any_order_without_a_word_of_gstreamers() {
    let _alone = alone();
    init();
    count_criticals();
    for seed in 1..=4 {
        let pipeline = TestPipeline::new(
            "videotestsrc ! video/x-raw,width=32,height=32 ! tee name=t allow-not-linked=true ! queue ! fakesink async=false",
        );
        pipeline.play();
        let mut walk = Walk { pipeline, dice: Dice::new(seed), branches: Vec::new(), count: 0 };
        for _ in 0..60 {
            match walk.dice.roll(8) {
                0..=2 => walk.add(),
                3..=4 => walk.remove(),
                5 => walk.flush(),
                6 => walk.state(),
                _ => std::thread::yield_now(),
            }
        }
        walk.pipeline.stop();
    }
    assert_eq!(CRITICALS.load(Ordering::SeqCst), 0);
}
