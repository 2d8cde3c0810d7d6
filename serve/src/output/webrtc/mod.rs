//! Live video for browsers by WebRTC: the clients, and the encoders that they share.
//!
//! A client sends an offer and gets an answer ([`LiveVideo::open`]). A stream's frames are encoded once for all clients that want the same
//! drawn on them with the same codec, and only while there are any ([`broadcast`]). Each client has a pipeline of its own with a payloader,
//! because each offer numbers its codecs itself, and with a webrtcbin, so that one that fails or is slow harms no other one ([`viewer`]).

mod broadcast;
mod codec;
mod description;
mod encoder;
mod entrance;
mod offer;
mod viewer;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};

use gst::glib;

use super::Outputs;
use super::picture::Drawn;
use crate::log;
use crate::unpoisoned::lock;
use broadcast::Broadcast;
pub use broadcast::LastFrame;
pub use description::{SdpType, text as description_text, to_value as description_value};
use encoder::Encoder;
pub use offer::OfferError;
use offer::{Format, Offer};
use viewer::Viewer;

/// The most clients of one stream.
pub const MOST_OF_A_STREAM: usize = 8;

/// The most clients in all.
pub const MOST: usize = 32;

/// Why a client gets no video.
#[derive(Debug, PartialEq, Eq)]
pub enum LiveVideoError {
    /// What it needs is not installed: a sentence.
    Missing(String),
    /// Its offer cannot be answered.
    Offer(OfferError),
    /// The stream of this name has no frame yet.
    NoFrame(String),
    /// There are too many clients: a sentence.
    Busy(String),
    /// An element has failed: a sentence.
    Failed(String),
}

/// A client, and the encoder whose pictures it gets.
#[derive(Debug)]
struct Session {
    viewer: Viewer,
    broadcast: Arc<Broadcast>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.broadcast.remove(&self.viewer.entrance);
    }
}

/// A client that ends when it is dropped. That takes time.
#[derive(Debug)]
pub struct Ended(#[expect(dead_code, reason = "it is dropped")] Option<Arc<Session>>);

/// A client in the list.
#[derive(Debug)]
struct Entry {
    stream: String,
    /// None while its offer is being answered.
    session: Option<Arc<Session>>,
}

/// All clients.
#[derive(Debug)]
pub struct LiveVideo {
    /// The encoders that are installed, best first, or what is missing.
    encoders: Result<Vec<&'static Encoder>, String>,
    /// Those that have failed before their first picture.
    unusable: Mutex<HashSet<&'static str>>,
    clients: Mutex<HashMap<String, Entry>>,
    /// Locked while an encoder is chosen or started, so that two clients do not start two.
    broadcasts: Mutex<Vec<Weak<Broadcast>>>,
}

/// A client that was answered.
#[derive(Debug)]
pub struct Opened {
    /// What names it.
    pub id: String,
    /// The answer, SDP.
    pub answer: String,
}

impl LiveVideo {
    /// Finds out what is installed, and logs it.
    pub fn new() -> Self {
        let encoders = encoder::installed();
        match &encoders {
            Ok(found) => {
                log::info(format_args!("live video on the page: by WebRTC, encoded by {}", found[0].name))
            }
            Err(missing) => {
                log::info(format_args!("live video on the page: as JPEG pictures, because {missing}"))
            }
        }
        Self { encoders, unusable: Mutex::default(), clients: Mutex::default(), broadcasts: Mutex::default() }
    }

    /// The encoders that may be used, best first.
    ///
    /// # Errors
    /// A sentence: what is missing, and what to install.
    pub fn encoders(&self) -> Result<Vec<&'static str>, String> {
        self.encoders
            .as_ref()
            .map(|list| list.iter().map(|encoder| encoder.name).collect())
            .map_err(Clone::clone)
    }

    /// Answers the offer of a client that wants to see a stream. This blocks.
    ///
    /// # Errors
    /// See [`LiveVideoError`].
    pub fn open(
        &self,
        stream: &str,
        outputs: &Outputs,
        drawn: Drawn,
        last: LastFrame,
        offer: &str,
    ) -> Result<Opened, LiveVideoError> {
        let offer = Offer::read(offer).map_err(LiveVideoError::Offer)?;
        let installed = self.encoders.as_ref().map_err(|missing| LiveVideoError::Missing(missing.clone()))?;
        let (encoder, format) = self.choose(installed, &offer)?;
        let caps = last().and_then(|last| last.caps_owned());
        let caps = caps.ok_or_else(|| LiveVideoError::NoFrame(stream.to_owned()))?;
        let place = Place::take(&self.clients, stream)?;
        let failed = |why| LiveVideoError::Failed(format!("live video by WebRTC has failed: {why}"));
        let broadcast = {
            let mut broadcasts = lock(&self.broadcasts);
            broadcasts.retain(|broadcast| broadcast.strong_count() > 0);
            let running = broadcasts.iter().filter_map(Weak::upgrade);
            let found = { running }.find(|broadcast| broadcast.is_of(&outputs.feed, drawn, encoder));
            match found {
                Some(found) => found,
                None => {
                    let started = Broadcast::start(&outputs.feed, &caps, drawn, encoder, last);
                    let started = Arc::new(started.map_err(failed)?);
                    broadcasts.push(Arc::downgrade(&started));
                    started
                }
            }
        };
        let (viewer, answer) =
            Viewer::new(&offer, format, &Arc::downgrade(&broadcast.audience)).map_err(failed)?;
        broadcast.add(&viewer.entrance);
        let id = place.keep(Session { viewer, broadcast });
        Ok(Opened { id, answer })
    }

    /// The best encoder whose codec the client takes.
    fn choose<'a>(
        &self,
        installed: &[&'static Encoder],
        offer: &'a Offer,
    ) -> Result<(&'static Encoder, &'a Format), LiveVideoError> {
        let unusable = lock(&self.unusable);
        let usable = installed.iter().filter(|encoder| !unusable.contains(encoder.name));
        let format =
            offer.format(usable.clone().map(|encoder| encoder.codec)).map_err(LiveVideoError::Offer)?;
        let encoder = { usable }.find(|encoder| encoder.codec == format.codec);
        let encoder = encoder.ok_or_else(|| LiveVideoError::Failed("no encoder can be used".into()))?;
        Ok((encoder, format))
    }

    /// Takes a client of a stream out of the list; none if there is no such client.
    pub fn close(&self, stream: &str, id: &str) -> Option<Ended> {
        let mut clients = lock(&self.clients);
        clients.get(id).filter(|entry| entry.stream == stream && entry.session.is_some())?;
        clients.remove(id).map(|entry| Ended(entry.session))
    }

    /// Whether a client is still in the list.
    pub fn has(&self, id: &str) -> bool {
        lock(&self.clients).contains_key(id)
    }

    /// How many clients there are.
    pub fn count(&self) -> usize {
        lock(&self.clients).len()
    }

    /// Takes a client out of the list if it is gone, has never connected, or has nothing to look at any more.
    pub fn take_over(&self, id: &str) -> Option<Ended> {
        let session = lock(&self.clients).get(id)?.session.clone()?;
        if let Some(why) = session.broadcast.new_failure() {
            self.encoder_failed(&session.broadcast, &why);
        }
        if !session.viewer.is_over() && !session.broadcast.is_over() {
            return None;
        }
        lock(&self.clients).remove(id).map(|entry| Ended(entry.session))
    }

    /// An encoder that never gave a picture, as those of the hardware do when it has no room for another one, is not used again if there
    /// is another one.
    fn encoder_failed(&self, broadcast: &Broadcast, why: &str) {
        let name = broadcast.encoder.name;
        log::warning(format_args!("live video: {name} has failed: {why}"));
        let mut unusable = lock(&self.unusable);
        let others = self
            .encoders
            .iter()
            .flatten()
            .filter(|other| other.name != name && !unusable.contains(other.name));
        if !broadcast.has_encoded() && others.count() > 0 {
            log::warning(format_args!(
                "live video: {name} is not used again before the service is started anew"
            ));
            unusable.insert(name);
        }
    }
}

impl Default for LiveVideo {
    fn default() -> Self {
        Self::new()
    }
}

/// A place among the clients, which is given back unless it is kept.
struct Place<'a> {
    clients: &'a Mutex<HashMap<String, Entry>>,
    id: Option<String>,
}

impl<'a> Place<'a> {
    fn take(clients: &'a Mutex<HashMap<String, Entry>>, stream: &str) -> Result<Self, LiveVideoError> {
        let mut list = lock(clients);
        let of_stream = list.values().filter(|entry| entry.stream == stream).count();
        if of_stream >= MOST_OF_A_STREAM || list.len() >= MOST {
            return Err(LiveVideoError::Busy(format!(
                "{of_stream} clients look at '{stream}' by WebRTC, and {} at all streams: expected {MOST_OF_A_STREAM} and {MOST} at most. \
                 Use live.jpg, or ask again when others have gone",
                list.len()
            )));
        }
        let id = glib::uuid_string_random().to_string();
        list.insert(id.clone(), Entry { stream: stream.to_owned(), session: None });
        Ok(Self { clients, id: Some(id) })
    }

    fn keep(mut self, session: Session) -> String {
        let id = self.id.take().unwrap_or_default();
        if let Some(entry) = lock(self.clients).get_mut(&id) {
            entry.session = Some(Arc::new(session));
        }
        id
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            lock(self.clients).remove(id);
        }
    }
}
