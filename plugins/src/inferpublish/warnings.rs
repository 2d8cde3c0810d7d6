//! What the user is warned of while and after records are written.

use std::time::{Duration, Instant};

use gst::prelude::*;
use gst::subclass::prelude::*;

use super::SecondPass;
use super::imp::{InferPublish, PATIENCE};
use super::settings::Settings;
use crate::meta::object::{Object, objects};
use crate::property::nick;
use crate::sync::lock;

/// How often records that are dropped are warned of.
const REMIND: Duration = Duration::from_secs(60);
/// Seconds that the clock of a camera may differ from this machine's before it is warned of: beyond what a network delays.
const CLOCKS_APART: f64 = 10.0;

impl InferPublish {
    /// Warns if records were dropped: of the first, and then not more often than [`REMIND`].
    pub(super) fn note_drop(&self) {
        let (first, again) = lock(&self.state).as_mut().map_or((false, false), |state| {
            let first = state.reported == 0;
            let again = !first && state.warned.is_none_or(|warned| warned.elapsed() >= REMIND);
            state.reported += u64::from(first);
            if first || again {
                state.warned = Some(Instant::now());
            }
            (first, again)
        });
        if first {
            self.warn_of_first_drop();
        } else if again {
            self.warn_of_drops();
        }
    }

    /// Warns of classes that the model upstream has not, when it is clear that the objects are its own.
    pub(super) fn compare_classes(&self, buffer: &gst::BufferRef) {
        let warnings = {
            let mut state = lock(&self.state);
            let Some(state) = state.as_mut().filter(|state| state.model.is_some()) else { return };
            let found = objects(buffer);
            let detected = |object: &Object| object.detection.is_some();
            if !found.iter().any(detected) {
                return;
            }
            let labels = state.model.take().map(|info| info.output.labels.clone()).unwrap_or_default();
            // A second model, whose classes are others, may stand between this element and the one that made the objects.
            if !found.iter().any(|object| labels.contains(&object.label)) {
                return;
            }
            let unknown = state.composer.selection().unknown(&labels);
            unknown
                .map(|class| {
                    format!("the model has no class '{class}' of classes; it has {}", labels.join(", "))
                })
                .collect::<Vec<_>>()
        };
        for warning in warnings {
            let name = self.obj().name();
            gst::element_imp_warning!(self, gst::ResourceError::Settings, ("{name}: {warning}"));
        }
    }

    /// Warns if tracks or events should be written and cannot have been.
    pub(super) fn warn_of_missing_elements(&self) {
        let missing = lock(&self.state)
            .as_ref()
            .map(|state| (state.composer.misses_identities(), state.composer.misses_zones()));
        let (identities, zones) = missing.unwrap_or_default();
        let tracker =
            "no object has had an identity, so no track was written. Put tracker before this element";
        let zonecount = "no frame has had zones, so no event was written. Put zonecount before this element";
        for (missing, text) in [(identities, tracker), (zones, zonecount)] {
            if missing {
                let name = self.obj().name();
                gst::element_imp_warning!(self, gst::StreamError::Failed, ("{name}: {text}"));
            }
        }
    }

    /// Counts frames that were lost before they came here, and warns of the first.
    pub(super) fn warn_of_missing(&self, pts: Option<gst::ClockTime>) {
        let (before, now) = {
            let mut state = lock(&self.state);
            let Some(state) = state.as_mut() else { return };
            let now = state.composer.missing();
            (std::mem::replace(&mut state.missing, now), now)
        };
        self.missing.add_size(usize::try_from(now - before).unwrap_or(0));
        if before == 0 && now > 0 {
            gst::element_imp_warning!(
                self,
                gst::StreamError::Failed,
                (
                    "{}: {now} frames are missing before the one at {}: the decoder or another element upstream has dropped them. \
                     Later frames keep the numbers that they have in the file, and the property stats counts what is missing as \
                     frames-missing",
                    self.obj().name(),
                    pts.display()
                )
            );
        }
    }

    /// Warns once if a camera's clock and this machine's are apart; `ahead` is by how many seconds.
    pub(super) fn warn_of_clock(&self, ahead: Option<f64>) {
        let Some(ahead) = ahead.filter(|ahead| ahead.abs() > CLOCKS_APART) else { return };
        let first = lock(&self.state)
            .as_mut()
            .is_some_and(|state| !std::mem::replace(&mut state.reported_of_clock, true));
        if first {
            let name = self.obj().name();
            gst::element_imp_warning!(
                self,
                gst::StreamError::Failed,
                (
                    "{name}: the clocks of the frames' sender and of this machine are {:.0} s apart, and the time in records is the \
                     sender's. Set both clocks, or have the source leave out add-reference-timestamp-meta for the time of arrival",
                    ahead.abs()
                )
            );
        }
    }

    /// Warns once if all is kept until the stream ends, and the stream is a camera's.
    pub(super) fn warn_of_live(&self, sink: &gst::Pad) {
        let pass = lock(&self.settings).second_pass;
        if pass == SecondPass::None {
            return;
        }
        let mut query = gst::query::Latency::new();
        if !sink.peer_query(&mut query) || !query.result().0 {
            return;
        }
        let news =
            lock(&self.state).as_mut().is_some_and(|s| !std::mem::replace(&mut s.reported_of_live, true));
        if news {
            gst::element_imp_warning!(
                self,
                gst::ResourceError::Settings,
                (
                    "{}: the source is live, and second-pass={} writes nothing before the stream ends, or max-gathered boxes are \
                     there. Remove second-pass, and set it where the camera's recording is read",
                    self.obj().name(),
                    nick(pass)
                )
            );
        }
    }

    /// Warns of a second pass before the stream's end.
    pub(super) fn warn_of_early_pass(&self, pts: Option<gst::ClockTime>) {
        let most = lock(&self.settings).max_gathered;
        gst::element_imp_warning!(
            self,
            gst::ResourceError::Settings,
            (
                "{}: {most} boxes are gathered at {}, which is max-gathered: the second pass is made over them now, and no gap there is \
                 filled or joined over. Set max-gathered higher, at about 200 bytes a box. The property stats counts such passes as \
                 early-passes",
                self.obj().name(),
                pts.display()
            )
        );
    }

    /// Warns once if what is written cannot tell the streams apart, and once if there are more than are remembered.
    pub(super) fn warn_of_streams(&self) {
        let news = lock(&self.state).as_mut().map(|state| {
            let now = [state.composer.mixes_streams(), state.composer.forgotten() > 0];
            self.forgotten.add(state.composer.forgotten().saturating_sub(self.forgotten.get()));
            let before = std::mem::replace(&mut state.reported_of_streams, now);
            [now[0] && !before[0], now[1] && !before[1]]
        });
        let mixed = "frames of several streams go into one file, whose format has no stream: frame numbers and identities \
                     repeat. Put one inferpublish into the branch of each stream, or set format=json";
        let forgotten = "more than 256 streams take turns here: the one that has waited longest is forgotten, its tracks are \
                         ended and written, and its frames are numbered anew if it comes back. The property stats counts \
                         them as streams-forgotten. Put fewer streams into one pipeline";
        for (new, text) in news.unwrap_or_default().into_iter().zip([mixed, forgotten]) {
            if new {
                let name = self.obj().name();
                gst::element_imp_warning!(self, gst::StreamError::Failed, ("{name}: {text}"));
            }
        }
    }

    /// Warns of the first record that the queue drops.
    fn warn_of_first_drop(&self) {
        let Settings { location, queue_size, leaky, .. } = lock(&self.settings).clone();
        gst::element_imp_warning!(
            self,
            gst::ResourceError::Write,
            (
                "{}: a record was dropped, because {queue_size}, or 64 MiB of them, are waiting for '{}' (leaky={}). The property stats counts \
                 them as dropped. Set leaky=no to lose none, or a larger queue-size",
                self.obj().name(),
                location,
                nick(leaky.resolved(location.uri().is_some()))
            )
        );
    }

    /// Warns of the records that have been dropped since the last time, if there are more than the first.
    pub(super) fn warn_of_drops(&self) {
        let dropped = self.counts.dropped.get();
        let reported = lock(&self.state)
            .as_mut()
            .map_or(dropped, |state| std::mem::replace(&mut state.reported, dropped));
        if dropped > reported {
            gst::element_imp_warning!(
                self,
                gst::ResourceError::Write,
                (
                    "{}: {dropped} records of {} frames were dropped, because the queue was full",
                    self.obj().name(),
                    self.counters.frames.get()
                )
            );
        }
    }

    /// Warns of the records that could not be written since the last time.
    pub(super) fn warn_of_failures(&self) {
        let failed = self.counts.failed.get();
        let reported =
            lock(&self.state).as_mut().map_or(failed, |state| std::mem::replace(&mut state.failed, failed));
        if failed > reported {
            let (name, location, records) = (self.obj().name(), self.location(), self.records.get());
            gst::element_imp_warning!(
                self,
                gst::ResourceError::Write,
                ("{name}: {failed} of {records} records could not be written to '{location}', and are lost")
            );
        }
    }

    /// Warns of records that the destination has not accepted before the end of the stream.
    pub(super) fn warn_of_stalled(&self, left: usize) {
        let location = self.location();
        gst::element_imp_warning!(
            self,
            gst::ResourceError::Write,
            (
                "{}: the stream ends, and {left} records are not written: '{location}' has accepted none for {} s. They \
                 are lost unless it does before the pipeline stops",
                self.obj().name(),
                PATIENCE.as_secs()
            )
        );
    }

    /// Warns of records that the destination has not accepted before the element stopped.
    pub(super) fn warn_of_lost(&self, lost: usize) {
        let location = self.location();
        gst::element_imp_warning!(
            self,
            gst::ResourceError::Write,
            (
                "{}: {lost} records are lost: '{location}' has not accepted them in {} s. If it is a FIFO, start its \
                 reader before the pipeline",
                self.obj().name(),
                PATIENCE.as_secs()
            )
        );
    }
}
