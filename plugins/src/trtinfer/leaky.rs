//! Which frame is dropped if the model is too slow for a live source.

use gst::{FlowError, glib};

use super::batcher::{self, Batcher, Client};
use super::lane::{Lane, Ticket};

/// Which frame is dropped when `max-in-flight` is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferLeaky")]
pub enum Leaky {
    /// None: the elements upstream wait.
    #[default]
    #[enum_value(name = "Lose nothing: what is before this element waits", nick = "no")]
    No,
    /// The one that arrives.
    #[enum_value(name = "Lose the frame that comes", nick = "upstream")]
    Upstream,
    /// The oldest that is not being inferred.
    #[enum_value(name = "Lose the oldest frame that is not being inferred", nick = "downstream")]
    Downstream,
}

impl Leaky {
    /// A place in an element's lane for a frame that arrives; `None` if this frame is the one to be dropped. `lost` gets each
    /// other frame that is dropped in its favour; `parts` takes apart what waits in the queue.
    ///
    /// # Errors
    /// Those of [`Lane::enter`].
    pub(super) fn enter<F, B: batcher::Batchable>(
        self,
        lane: &Lane<F>,
        queue: &Batcher<B>,
        client: Client,
        parts: impl Fn(B) -> (Ticket, F),
        mut lost: impl FnMut(F),
    ) -> Result<Option<Ticket>, FlowError> {
        let limit = || queue.limit(client);
        match self {
            Self::No => lane.enter(limit).map(Some),
            Self::Upstream => lane.try_enter(limit()),
            Self::Downstream => loop {
                if let Some(ticket) = lane.try_enter(limit())? {
                    return Ok(Some(ticket));
                }
                if let Some(request) = queue.take_oldest_back(client) {
                    let (ticket, frame) = parts(request);
                    lane.give_up(ticket);
                    lost(frame);
                } else if let Some(frame) = lane.drop_oldest_done() {
                    lost(frame);
                } else {
                    // All the others are being inferred or pushed.
                    return Ok(None);
                }
            },
        }
    }
}

#[cfg(test)]
#[path = "leaky/tests.rs"] // so that it is found from tests/interleavings, too
mod tests;
