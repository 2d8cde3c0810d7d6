use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use cudainfer_kernels::device::{Counter as Count, Counters};
use cudainfer_kernels::identify::{Gallery, IdentifyParams, Identity, Unknowns, unit};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::notices::Notices;
use super::settings::{GALLERY, PROPERTIES, Settings};
use super::shared::{InUse, Shared};
use super::stream_tracks::StreamTracks;
use super::unknowns_file;
use crate::element::described;
use crate::log::IDENTIFY as CAT;
use crate::memory::cropping::{self, Use};
use crate::meta::object::{EmbeddingParam, Finding, IdentityParam, Object, attach, objects};
use crate::streams::{self, Streams};
use crate::sync::lock;
use crate::{caps, meta, notice, stats};

struct State {
    shared: Arc<Shared>,
    streams: Streams<StreamTracks>,
    params: IdentifyParams,
    output: Option<String>,
    notices: Notices,
    /// Whether an embedding could be compared since the start.
    has_compared: bool,
}

#[derive(Default)]
pub struct Identify {
    settings: Mutex<Settings>,
    /// Held while a gallery is read: of two that are set at once the last one stays.
    reading: Mutex<()>,
    /// Whether settings that frames use have been set since they were taken over.
    changed: AtomicBool,
    state: Mutex<Option<State>>,
    counters: Counters,
    /// Objects whose embedding was compared.
    objects: Count,
    known: Count,
    unknown: Count,
    ambiguous: Count,
    held: Count,
    not_compared: Count,
    left_out: Count,
    forgotten_streams: Count,
}

/// What a frame's objects are, and what must be reported when no lock is held any more.
#[derive(Default)]
struct Found {
    identities: Vec<(i32, IdentityParam)>,
    warnings: Vec<String>,
    error: Option<String>,
}

/// An object's identity in its stream, if it has one: tentative tracks share one.
fn identity(object: &Object) -> Option<u64> {
    object.tracking.as_ref().filter(|track| track.state != "tentative").map(|track| track.id)
}

/// The object's embedding: the one of the wanted output, else the first.
fn embedding<'a>(object: &'a Object, wanted: Option<&str>) -> Option<&'a EmbeddingParam> {
    object.embeddings.iter().find(|embedding| wanted.is_none_or(|output| embedding.output == output))
}

/// As metadata; none of somebody who has no name and no number.
fn param(identity: Identity, gallery: Option<&Gallery>, held: bool) -> Option<IdentityParam> {
    let (name, score, unknown) = match identity {
        Identity::Known { name, score } => (gallery?.names().get(name)?.clone(), score, None),
        Identity::Unknown { number, score } => (unknowns_file::name(number), score, Some(number)),
        Identity::Ambiguous | Identity::Nobody => return None,
    };
    Some(IdentityParam { name, score: score.into(), unknown, held })
}

impl Identify {
    /// Takes over what has been set since the last frame; all stays as it was, if a number cannot be used.
    fn apply_changes(&self, state: &mut State, found: &mut Found) {
        if !self.changed.swap(false, Ordering::AcqRel) {
            return;
        }
        let settings = lock(&self.settings).clone();
        state.output = settings.output();
        match settings.params() {
            Ok(params) => state.params = params,
            Err(why) => found.warnings.push(format!("{why}. The values before stay in use")),
        }
    }

    /// Uses another gallery from the next frame on; the one before stays, if it cannot be used.
    fn change_gallery(&self) {
        let one_at_a_time = lock(&self.reading);
        let Some(shared) = lock(&self.state).as_ref().map(|state| state.shared.clone()) else { return };
        let path = lock(&self.settings).gallery.clone();
        // No frame waits for a disk: no lock is held that it takes.
        let replaced = shared.replace(path.as_deref());
        // A handler of the message may set another one.
        drop(one_at_a_time);
        match replaced {
            Ok(()) => self.log_gallery(&shared.in_use()),
            Err(why) => self.warn([format!("{why}. The gallery before stays in use")]),
        }
    }

    fn log_gallery(&self, in_use: &InUse) {
        match &in_use.file {
            Some(file) => gst::info!(
                CAT,
                imp = self,
                "'{}' has {} names with {} embeddings of {} numbers",
                file.path.display(),
                file.gallery.names().len(),
                file.gallery.pictures(),
                file.gallery.length()
            ),
            None => gst::info!(CAT, imp = self, "without a gallery, all objects are unknown"),
        }
    }

    /// Compares the frame's objects.
    fn recognise(&self, state: &mut State, objects: &[Object]) -> Found {
        let mut found = Found::default();
        self.apply_changes(state, &mut found);
        let in_use = state.shared.in_use();
        state.streams.current_mut().begin(in_use.generation, in_use.gallery());
        let mut has_embedding = false;
        for object in objects {
            let embedding = embedding(object, state.output.as_deref());
            has_embedding |= embedding.is_some();
            let values = match embedding {
                Some(embedding) => self.values(state, &in_use, embedding, &mut found),
                None => None,
            };
            if found.error.is_some() {
                return found;
            }
            let (who, held) = match values {
                Some(values) => (self.compare(state, &in_use, object, values), false),
                None => {
                    let track = identity(object).and_then(|id| state.streams.current_mut().known(id));
                    let Some(track) = track else { continue };
                    (track.identity(&state.params), true)
                }
            };
            if let Some(param) = param(who, in_use.gallery(), held) {
                self.held.add_size(usize::from(held));
                found.identities.push((object.id, param));
            }
        }
        found.warnings.extend(state.notices.examine(objects, has_embedding, state.output.as_deref()));
        found.warnings.extend(state.shared.unknowns.take_failure());
        found
    }

    /// The embedding as a vector of length 1, if it can be compared.
    fn values(
        &self,
        state: &mut State,
        in_use: &InUse,
        embedding: &EmbeddingParam,
        found: &mut Found,
    ) -> Option<Vec<f32>> {
        let mut values = Vec::with_capacity(embedding.length());
        let values = embedding.read(&mut values).ok().and_then(|()| unit(&values));
        let Some(values) = values else {
            self.not_compared.add(1);
            return None;
        };
        if let Err(why) = state.shared.check_length(in_use, values.len(), &embedding.model) {
            self.not_compared.add(1);
            if state.has_compared {
                found.warnings.extend(state.notices.length(in_use.generation, why));
            } else {
                found.error = Some(why);
            }
            return None;
        }
        state.has_compared = true;
        if let Some(file) = &in_use.file {
            found.warnings.extend(state.notices.model(in_use.generation, file, &embedding.model));
        }
        let mut collected = state.shared.unknowns.collected();
        if collected.model != embedding.model {
            collected.model.clone_from(&embedding.model);
        }
        drop(collected);
        Some(values)
    }

    /// Who an object with this embedding is.
    fn compare(&self, state: &mut State, in_use: &InUse, object: &Object, values: Vec<f32>) -> Identity {
        let State { shared, streams, params, .. } = state;
        let gallery = in_use.gallery();
        let mut collected = shared.unknowns.collected();
        let before = collected.unknowns.left_out();
        let who = match (identity(object), &object.tracking) {
            (Some(id), _) => {
                let track = streams.current_mut().see(id);
                track.look(values, gallery, &mut collected.unknowns, params);
                track.identity(params)
            }
            // What may be nothing is not collected.
            (None, Some(_)) => Identity::of_one(&values, gallery, &mut Unknowns::new(0), params),
            (None, None) => Identity::of_one(&values, gallery, &mut collected.unknowns, params),
        };
        self.left_out.add(collected.unknowns.left_out() - before);
        drop(collected);
        self.objects.add(1);
        match who {
            Identity::Known { .. } => self.known.add(1),
            Identity::Unknown { .. } => self.unknown.add(1),
            Identity::Ambiguous => self.ambiguous.add(1),
            Identity::Nobody => (),
        }
        who
    }

    fn warn(&self, warnings: impl IntoIterator<Item = String>) {
        for why in warnings {
            gst::element_imp_warning!(self, gst::LibraryError::Settings, ("{}: {why}", self.obj().name()));
        }
    }

    fn stats(&self) -> gst::Structure {
        let mut stats = stats::structure(&self.counters);
        for (name, count) in self.counts() {
            stats.set(name, count.get());
        }
        stats
    }

    fn counts(&self) -> [(&'static str, &Count); 8] {
        [
            ("objects", &self.objects),
            ("known", &self.known),
            ("unknown", &self.unknown),
            ("ambiguous", &self.ambiguous),
            ("held", &self.held),
            ("not-compared", &self.not_compared),
            ("left-out", &self.left_out),
            ("forgotten-streams", &self.forgotten_streams),
        ]
    }
}

#[glib::object_subclass]
impl ObjectSubclass for Identify {
    const NAME: &'static str = "GstCudaInferIdentify";
    type Type = super::Identify;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for Identify {
    fn constructed(&self) {
        self.parent_constructed();
        crate::element::name_after_factory(self.obj().upcast_ref());
    }

    fn properties() -> &'static [glib::ParamSpec] {
        PROPERTIES.specs()
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        PROPERTIES.set(&*self.obj(), &self.settings, value, pspec);
        if pspec.name() == GALLERY {
            self.change_gallery();
        } else {
            self.changed.store(true, Ordering::Release);
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        if pspec.name() == "stats" {
            return self.stats().to_value();
        }
        let value = PROPERTIES.get(&lock(&self.settings), pspec);
        value.unwrap_or_else(|| pspec.default_value().clone())
    }
}

impl GstObjectImpl for Identify {}

impl ElementImpl for Identify {
    described! {
        "Recognition by embeddings",
        "Filter/Analyzer/Video",
        "Gives objects the names of a gallery that their embeddings are most similar to, and numbers those that are unknown",
        sink: caps::any_memory(),
        src: caps::any_memory(),
    }
}

impl BaseTransformImpl for Identify {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let wrong =
            |why: String| gst::error_msg!(gst::LibraryError::Settings, ("{}: {why}", self.obj().name()));
        self.changed.store(false, Ordering::Release);
        let settings = lock(&self.settings).clone();
        let params = settings.params().map_err(wrong)?;
        let (shared, warning) = Shared::join(&settings).map_err(wrong)?;
        self.log_gallery(&shared.in_use());
        self.counters.reset();
        self.counts().iter().for_each(|(_, count)| count.reset());
        let mut notices = Notices::default();
        notices.begin();
        *lock(&self.state) = Some(State {
            shared,
            streams: Streams::new(StreamTracks::default()),
            params,
            output: settings.output(),
            notices,
            has_compared: false,
        });
        self.warn(warning);
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        let state = lock(&self.state).take();
        if let Some(state) = state {
            self.warn(state.shared.unknowns.save().err());
        }
        Ok(())
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        let mut warnings = Vec::new();
        let mut forgotten = false;
        let is_end = event.type_() == gst::EventType::Eos;
        if is_end || streams::concerns(&event) {
            let mut ended = None;
            if let Some(state) = lock(&self.state).as_mut() {
                if state.streams.see(&event) {
                    state.notices.begin();
                }
                forgotten = state.streams.take_came_back();
                if is_end {
                    warnings.extend(state.notices.end(state.output.as_deref()));
                    ended = Some(state.shared.clone());
                }
            }
            // Who waits for EOS finds the file.
            warnings.extend(ended.and_then(|shared| shared.unknowns.save().err()));
        }
        if forgotten {
            self.forgotten_streams.add(1);
            if self.forgotten_streams.get() == 1 {
                notice::streams_forgotten(&*self.obj(), "the identities of their tracks");
            }
        }
        self.warn(warnings);
        self.parent_sink_event(event)
    }

    fn prepare_output_buffer(
        &self,
        input: InputBuffer,
    ) -> Result<PrepareOutputBufferSuccess, gst::FlowError> {
        Ok(meta::share(input))
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        cropping::withhold(query, Use::Metadata);
        Ok(())
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        cropping::refuse(&*self.obj(), buffer)?;
        let found = {
            let _frame = stats::frame(&*self.obj(), &self.counters);
            let mut state = lock(&self.state);
            let state = state.as_mut().ok_or(gst::FlowError::Flushing)?;
            let left_out = self.left_out.get();
            let mut found = self.recognise(state, &objects(buffer));
            if self.left_out.get() > left_out {
                let most = state.shared.unknowns.collected().unknowns.count();
                found.warnings.extend(state.notices.full(most).filter(|_| most > 0));
            }
            for (object, identity) in &found.identities {
                gst::log!(CAT, imp = self, "object {object} is {identity:?}");
                attach(buffer, *object, &Finding::Identity(identity.clone()));
            }
            found
        };
        self.warn(found.warnings);
        if let Some(why) = found.error {
            gst::element_imp_error!(self, gst::LibraryError::Settings, ("{}: {why}", self.obj().name()));
            return Err(gst::FlowError::Error);
        }
        Ok(gst::FlowSuccess::Ok)
    }
}
