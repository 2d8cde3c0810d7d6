//! Events as they are written, for clients that listen. Nobody waits for a client: one that is too slow loses events, which it is
//! shown as their number.

use std::sync::{Arc, Mutex};

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::event::Event;
use crate::unpoisoned::lock;

/// Events that wait for each client.
const WAITING: usize = 256;

/// What a client gets.
#[derive(Clone, Debug, PartialEq)]
pub enum LiveEvent {
    /// A new event.
    New(Arc<Event>),
    /// An event of which more is known now.
    Update(Arc<Event>),
    /// As many were lost, because the client was too slow.
    Lost(u64),
}

/// Announces events to all clients.
#[derive(Clone, Debug)]
pub(super) struct Announcer(Arc<Mutex<Option<broadcast::Sender<LiveEvent>>>>);

impl Announcer {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Some(broadcast::channel(WAITING).0))))
    }

    pub fn announce(&self, event: LiveEvent) {
        if let Some(sender) = &*lock(&self.0) {
            // Nobody may be listening.
            let _ = sender.send(event);
        }
    }

    pub fn listen(&self) -> Option<LiveEvents> {
        Some(LiveEvents(lock(&self.0).as_ref()?.subscribe()))
    }

    /// Ends the clients' events.
    pub fn end(&self) {
        *lock(&self.0) = None;
    }
}

/// The events that a client has not got yet.
#[derive(Debug)]
pub struct LiveEvents(broadcast::Receiver<LiveEvent>);

impl LiveEvents {
    /// The next one; none when the service ends.
    pub async fn next(&mut self) -> Option<LiveEvent> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(RecvError::Lagged(count)) => Some(LiveEvent::Lost(count)),
            Err(RecvError::Closed) => None,
        }
    }
}
