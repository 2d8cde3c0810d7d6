//! What the next frame of a stream depends on: the points that peakfind finds downstream of fusedpreproc, for `roi-from=track`.
//!
//! fusedpreproc puts a [`Question`] on each frame, in the untagged custom meta `GstCudaInferQuestionMeta`, and sends an event directly
//! after it. peakfind answers the question when it has read the frame. When only the event gets there, the frame was dropped between,
//! and where the event does not get there either, it is released: in each case the fusedpreproc that waits is woken, so that nothing has to wait for a
//! length of time. Frames are known by what they carry, and not by their order, so that queues, tees and funnels change nothing.

use std::sync::Arc;
use std::time::Duration;

use gst::meta::CustomMeta;
use gst::prelude::*;

use crate::meta::object::{KeypointsParam, Object};
use crate::sync::{Condvar, Mutex, lock};

/// The meta's name, and its field.
const META: &str = "GstCudaInferQuestionMeta";
const QUESTION: &str = "question";

/// The names of the event's and the query's structures.
const EVENT: &str = "cudainfer-question";
const QUERY: &str = "cudainfer-answers";

/// How often a fusedpreproc that waits looks whether its pad is flushing, which wakes nobody.
const LOOK: Duration = Duration::from_millis(50);

/// Registers the meta; called once, when the plugin loads.
pub fn register() {
    if !CustomMeta::is_registered(META) {
        CustomMeta::register_simple(META);
    }
}

/// An object whose points were found in a frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundObject {
    /// What was known of it in that frame.
    pub object: Object,
    /// The points, by the model that was asked.
    pub points: KeypointsParam,
}

impl FoundObject {
    /// The score of all points together, or their mean.
    pub fn score(&self) -> f64 {
        let scores = &self.points.score;
        self.points.pose_score.unwrap_or_else(|| scores.iter().sum::<f64>() / scores.len().max(1) as f64)
    }
}

/// What became of a frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// The objects that points were found of.
    Found(Vec<FoundObject>),
    /// The frame never came to a peakfind.
    Lost,
}

/// Asked about one frame.
#[derive(Clone, Debug, glib::Boxed)]
#[boxed_type(name = "GstCudaInferQuestion")]
pub(crate) struct Question(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    answer: Mutex<Option<Answer>>,
    answered: Condvar,
    /// Objects that were put on the frame because they are followed: they are there only if their points are found.
    expected: Vec<i32>,
}

/// In the event after a frame: nobody else will answer.
#[derive(Clone, Debug, glib::Boxed)]
#[boxed_type(name = "GstCudaInferQuestionEnd")]
struct QuestionEnd(Arc<End>);

#[derive(Debug)]
struct End(Question);

impl Drop for End {
    fn drop(&mut self) {
        self.0.answer(Answer::Lost);
    }
}

impl Question {
    /// Puts a question on a frame, which has none. `expected` are the ids of the objects that are on the frame because
    /// they are followed.
    pub fn ask(frame: &mut gst::BufferRef, expected: Vec<i32>) -> Self {
        let inner = Inner { answer: Mutex::new(None), answered: Condvar::new(), expected };
        let question = Self(Arc::new(inner));
        if let Ok(mut meta) = CustomMeta::add(frame, META) {
            meta.mut_structure().set(QUESTION, &question);
        }
        question
    }

    /// Removes the question from a frame.
    pub fn take(frame: &mut gst::BufferRef) -> Option<Self> {
        let meta = CustomMeta::from_mut_buffer(frame, META).ok()?;
        let question = meta.structure().get::<Self>(QUESTION).ok();
        let _ = meta.remove();
        question
    }

    /// The event to send directly after the frame.
    pub fn end(&self) -> gst::Event {
        let end = QuestionEnd(Arc::new(End(self.clone())));
        gst::event::CustomDownstream::new(gst::Structure::builder(EVENT).field("end", end).build())
    }

    /// Answers; only the first answer counts.
    pub fn answer(&self, answer: Answer) {
        lock(&self.0.answer).get_or_insert(answer);
        self.0.answered.notify_all();
    }

    /// Objects that were put on the frame because they are followed.
    pub fn expected(&self) -> &[i32] {
        &self.0.expected
    }

    /// Waits for the answer; `None` where `pad` is flushing.
    pub fn wait(&self, pad: &gst::Pad) -> Option<Answer> {
        let mut answer = lock(&self.0.answer);
        loop {
            if let Some(answer) = answer.clone() {
                return Some(answer);
            }
            if pad.pad_flags().contains(gst::PadFlags::FLUSHING) {
                return None;
            }
            answer = self.0.answered.wait_timeout(answer, LOOK).unwrap_or_else(|e| e.into_inner()).0;
        }
    }
}

/// Whether this is the event after a frame that was asked about. Until the answer is there, its stream sends no other frame.
pub(crate) fn is_end(event: &gst::EventRef) -> bool {
    event.type_() == gst::EventType::CustomDownstream && event.structure().is_some_and(|s| s.name() == EVENT)
}

/// Ends the question of an event that [`is_end`]: a frame that was not answered has not come.
pub(crate) fn end(event: &gst::EventRef) {
    let end = event.structure().and_then(|s| s.get::<QuestionEnd>("end").ok());
    if let Some(QuestionEnd(end)) = end {
        end.0.answer(Answer::Lost);
    }
}

/// Whether an element downstream of `src` answers questions.
pub(crate) fn is_answered(src: &gst::Pad) -> bool {
    src.peer_query(&mut gst::query::Custom::new(gst::Structure::new_empty(QUERY)))
}

/// Whether this is the query of [`is_answered`], to which an element that answers says yes.
pub(crate) fn is_asked(query: &gst::QueryRef) -> bool {
    matches!(query.view(), gst::QueryView::Custom(query) if query.structure().is_some_and(|s| s.name() == QUERY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> (gst::Buffer, Question) {
        gst::init().unwrap();
        register();
        let mut frame = gst::Buffer::new();
        let question = Question::ask(frame.get_mut().unwrap(), vec![3]);
        (frame, question)
    }

    fn answer(question: &Question) -> Option<Answer> {
        lock(&question.0.answer).clone()
    }

    #[test]
    fn a_frames_copy_can_be_answered_and_the_first_answer_counts() {
        let (frame, question) = asked();
        let event = question.end();
        let mut copy = frame.copy();
        let taken = Question::take(copy.get_mut().unwrap()).unwrap();
        assert_eq!((taken.expected(), Question::take(copy.get_mut().unwrap()).is_none()), (&[3][..], true));
        taken.answer(Answer::Found(vec![]));
        end(&event);
        drop(event);
        assert_eq!(question.wait(&gst::Pad::new(gst::PadDirection::Sink)), Some(Answer::Found(vec![])));
    }

    #[test]
    fn a_frame_is_lost_where_only_its_event_comes_or_that_is_released() {
        let (_frame, question) = asked();
        let event = question.end();
        let (other, copy) = (event.clone(), event.copy());
        assert!(is_end(&event) && !is_end(&gst::event::Eos::new()));
        end(&event);
        assert_eq!(answer(&question), Some(Answer::Lost));
        drop((event, other, copy));
        // The frame is held somewhere, and the event is gone.
        let (_frame, question) = asked();
        let event = question.end();
        let other = event.clone();
        drop(event);
        assert_eq!(answer(&question), None, "another branch has it");
        drop(other);
        assert_eq!(answer(&question), Some(Answer::Lost));
    }

    #[test]
    fn nobody_waits_on_a_pad_that_is_flushing() {
        let (_frame, question) = asked();
        let pad = gst::Pad::new(gst::PadDirection::Sink);
        pad.set_pad_flags(gst::PadFlags::FLUSHING);
        assert_eq!(question.wait(&pad), None);
    }
}
