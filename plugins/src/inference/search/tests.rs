//! What is chosen, with sessions that only have a name.

use std::collections::HashMap;

use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use super::*;
use crate::inference::{FedTensors, Outlook};

const VARIANTS: [&str; 3] = ["plain", "nhwc", "nhwc+fused"];

/// A session that is a variant's name.
#[derive(Debug)]
struct Named([TensorDesc; 1]);

impl Session for Named {
    fn inputs(&self) -> &[TensorDesc] {
        &[]
    }

    // Only the session's own name is ever asked for.
    fn outputs(&self) -> &[TensorDesc] {
        &self.0
    }

    fn stream(&self) -> Option<&Arc<CudaStream>> {
        None
    }

    fn reserve(&mut self, _: usize) {}

    fn sizes(&self, batch: usize) -> Vec<usize> {
        vec![batch]
    }

    fn warm_up_runs(&self) -> usize {
        1
    }

    fn rows(&self, _: &RunShape, frames: usize) -> usize {
        frames
    }

    fn run(
        &mut self,
        _: &Arc<RunShape>,
        _: &[&gst::BufferRef],
        _: &[Option<FedTensors>],
    ) -> Result<Vec<Tensor>, InferenceError> {
        Err(InferenceError::Run("it is only a name".into()))
    }

    fn run_on_host(
        &mut self,
        _: &RunShape,
        _: &[&gst::BufferRef],
        _: &[Option<FedTensors>],
    ) -> Result<Vec<Tensor>, InferenceError> {
        Err(InferenceError::Run("it is only a name".into()))
    }

    fn wait_for_turn(&mut self) -> Result<Outlook, InferenceError> {
        Ok(Outlook::default())
    }

    fn finish(&mut self) -> Result<(), InferenceError> {
        Ok(())
    }
}

fn session(name: &'static str) -> Box<dyn Session> {
    Box::new(Named([TensorDesc::fixed(name, TensorType::UInt8, &[1])]))
}

fn name(session: &dyn Session) -> String {
    session.outputs()[0].name.clone()
}

/// How a variant behaves.
#[derive(Clone, Copy)]
enum Behaves {
    /// Each run takes this many microseconds.
    Takes(u64),
    /// Its runs are quick, and wrong.
    Differs,
    FailsToOpen,
    FailsToRun,
    FindsNoMemory,
}

/// A runtime whose variants behave so.
struct Fake {
    variants: HashMap<&'static str, Behaves>,
    opened: Vec<&'static str>,
    timed: usize,
    /// Sessions for which there is memory.
    room: usize,
}

impl Fake {
    fn new(behaves: [Behaves; 3]) -> Self {
        gst::init().unwrap();
        let variants = VARIANTS.into_iter().zip(behaves).collect();
        Self { variants, opened: Vec::new(), timed: 0, room: 9 }
    }

    fn behaviour(&self, session: &dyn Session) -> Behaves {
        self.variants[name(session).as_str()]
    }
}

impl Bench for Fake {
    fn open(&mut self, variant: &'static str) -> Result<Box<dyn Session>, InferenceError> {
        self.opened.push(variant);
        match self.variants[variant] {
            Behaves::FailsToOpen => Err(InferenceError::Run("no such option".into())),
            _ => Ok(session(variant)),
        }
    }

    fn outputs(&mut self, session: &mut dyn Session) -> Result<Vec<Tensor>, InferenceError> {
        let value: f32 = match self.behaviour(session) {
            Behaves::FailsToRun => return Err(InferenceError::Failed("HEURISTIC_QUERY_FAILED".into())),
            Behaves::FindsNoMemory => return Err(InferenceError::Memory("another process has it".into())),
            Behaves::Differs => 0.9,
            _ => 0.5,
        };
        let desc = TensorDesc::fixed("scores", TensorType::Float32, &[1, 3]);
        let values: Vec<u8> = [0.0, value, 1.0].iter().flat_map(|v: &f32| v.to_ne_bytes()).collect();
        Ok(vec![Tensor { desc, data: gst::Buffer::from_slice(values) }])
    }

    fn time(&mut self, session: &mut dyn Session) -> Result<Duration, InferenceError> {
        self.timed += 1;
        match self.behaviour(session) {
            Behaves::Takes(time) => Ok(Duration::from_micros(time)),
            _ => Ok(Duration::from_micros(1)),
        }
    }

    fn has_room(&self) -> bool {
        self.opened.len() < self.room
    }
}

/// The variant that a session of the first variant becomes, and the result of the search.
fn search(fake: &mut Fake) -> (String, Found) {
    let (mut session, mut current) = (session(VARIANTS[0]), VARIANTS[0]);
    let found = choose(fake, Tolerance::Float32, None, &mut session, &mut current, &VARIANTS).unwrap();
    assert_eq!(name(session.as_ref()), current);
    (current.to_owned(), found.unwrap())
}

use Behaves::{Differs, FailsToOpen, FailsToRun, FindsNoMemory, Takes};

#[test]
fn the_fastest_variant_takes_over_wherever_it_stands() {
    for (times, best) in [([900, 700, 600], 2), ([900, 600, 700], 1), ([600, 900, 700], 0)] {
        let (chosen, found) = search(&mut Fake::new(times.map(Takes)));
        assert_eq!((chosen.as_str(), found.chosen), (VARIANTS[best], VARIANTS[best]));
        let times: Vec<_> = VARIANTS.into_iter().zip(times.map(Duration::from_micros)).collect();
        assert_eq!(found.times, times);
    }
}

#[test]
fn a_difference_of_less_than_two_percent_is_chance() {
    assert_eq!(search(&mut Fake::new([Takes(1000), Takes(985), Takes(990)])).0, "plain");
    assert_eq!(search(&mut Fake::new([Takes(1000), Takes(979), Takes(965)])).0, "nhwc");
    assert_eq!(search(&mut Fake::new([Takes(30), Takes(25), Takes(21)])).0, "plain", "nor is it worth it");
}

#[test]
fn what_fails_or_differs_is_left_out_and_the_others_are_still_tried() {
    for wrong in [Differs, FailsToOpen, FailsToRun] {
        let (chosen, found) = search(&mut Fake::new([Takes(900), wrong, Takes(600)]));
        assert_eq!(chosen, "nhwc+fused");
        assert_eq!(found.times.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["plain", "nhwc+fused"]);
    }
    let (chosen, found) = search(&mut Fake::new([Takes(900), FailsToOpen, Differs]));
    assert_eq!((chosen.as_str(), found.times.len()), ("plain", 0));
    assert_eq!(found.sentence(1), "the model runs as plain");
}

#[test]
fn a_first_variant_that_does_not_run_is_the_models_error() {
    let (mut session, mut current) = (session(VARIANTS[0]), VARIANTS[0]);
    let mut fake = Fake::new([FailsToRun, Takes(1), Takes(1)]);
    let failed = choose(&mut fake, Tolerance::Float32, None, &mut session, &mut current, &VARIANTS);
    assert!(failed.unwrap_err().to_string().contains("HEURISTIC_QUERY_FAILED"));
}

#[test]
fn without_memory_for_another_session_the_best_so_far_stays_and_that_is_reported() {
    let mut fake = Fake { room: 1, ..Fake::new([900, 700, 600].map(Takes)) };
    let (chosen, found) = search(&mut fake);
    assert_eq!((chosen.as_str(), fake.opened.as_slice(), found.complete), ("nhwc", &["nhwc"][..], false));
    assert!(found.sentence(16).contains("device memory is short"), "{}", found.sentence(16));
}

#[test]
fn a_variant_for_which_there_was_no_memory_just_now_is_tried_again_at_the_next_start() {
    let (chosen, found) = search(&mut Fake::new([Takes(100), FindsNoMemory, Takes(90)]));
    assert_eq!((chosen.as_str(), found.complete), (VARIANTS[2], false));
    let (_, found) = search(&mut Fake::new([Takes(100), FailsToRun, Takes(90)]));
    assert!(found.complete, "it would fail again");
}

#[test]
fn a_variant_that_is_known_is_neither_measured_nor_are_the_others_opened() {
    let mut fake = Fake::new([900, 700, 600].map(Takes));
    let (mut session, mut current) = (session("nhwc+fused"), "nhwc+fused");
    let known = Some("nhwc+fused");
    let found = choose(&mut fake, Tolerance::Float32, known, &mut session, &mut current, &VARIANTS).unwrap();
    assert!(found.is_none() && fake.opened.is_empty() && fake.timed == 0);
    // The variant known for this shape is not the one that was opened.
    let found = choose(&mut fake, Tolerance::Float32, Some("nhwc"), &mut session, &mut current, &VARIANTS);
    assert!(found.unwrap().is_none() && fake.timed == 0);
    assert_eq!(
        (name(session.as_ref()).as_str(), current, fake.opened.as_slice()),
        ("nhwc", "nhwc", &["nhwc"][..])
    );
}

#[test]
fn a_known_variant_that_fails_now_is_searched_for_again() {
    for fails in [FailsToOpen, FailsToRun] {
        for opened in ["plain", "nhwc"] {
            let mut fake = Fake::new([Takes(900), fails, Takes(600)]);
            let (mut session, mut current) = (session(opened), opened);
            let known = Some("nhwc");
            let found = choose(&mut fake, Tolerance::Float32, known, &mut session, &mut current, &VARIANTS);
            // One that is open already fails when it runs.
            if opened == "plain" || matches!(fails, FailsToRun) {
                assert_eq!((found.unwrap().unwrap().chosen, current), ("nhwc+fused", "nhwc+fused"));
                assert_eq!(name(session.as_ref()), "nhwc+fused");
            }
        }
    }
}

#[test]
fn for_another_shape_the_search_begins_with_the_first_variant_again() {
    let mut fake = Fake::new([600, 900, 700].map(Takes));
    let (mut session, mut current) = (session("nhwc"), "nhwc");
    let known = Some("of another version");
    let found = choose(&mut fake, Tolerance::Float32, known, &mut session, &mut current, &VARIANTS).unwrap();
    assert_eq!((found.unwrap().chosen, current), ("plain", "plain"));
    assert_eq!(name(session.as_ref()), "plain");
}

#[test]
fn the_sentence_has_the_times_of_all() {
    let (_, found) = search(&mut Fake::new([925, 757, 676].map(Takes)));
    assert_eq!(
        found.sentence(1),
        "the model runs as nhwc+fused; a frame takes 0.676 ms, and 0.925 ms as plain, 0.757 ms as nhwc"
    );
    assert!(found.sentence(16).contains("a batch of 16 frames takes 0.676 ms"));
}

#[test]
fn frames_that_wait_for_the_best_have_the_model_opened_as_what_was_the_best_last() {
    use WarmUp::{Background, Complete};
    let mut choices = Choices::default();
    let opened = |choices: &Choices, variants: &[&'static str], warm_up| {
        open_first(choices, variants, warm_up, Ok)
            .map(|(opened, name)| (opened == name).then_some(name))
            .unwrap()
    };
    assert_eq!(opened(&choices, &VARIANTS, Complete), Some("plain"));
    choices.add("images", "nhwc");
    assert_eq!(opened(&choices, &VARIANTS, Complete), Some("nhwc"));
    assert_eq!(opened(&choices, &VARIANTS, Background), Some("plain"));
    assert_eq!(opened(&choices, &VARIANTS[..1], Complete), Some("plain"), "there is no such variant");
}
