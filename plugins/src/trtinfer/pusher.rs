//! The thread that pushes on the source pad what leaves an element's lane.
//!
//! It is not a `GstTask`: if the system has no thread for it, GStreamer 1.22 takes the task for running all the same, and
//! stopping the pad then waits for it forever.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread::{JoinHandle, ThreadId};

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::lane::Lane;
use super::look::Outgoing;
use super::owner::Owner;
use crate::log::TRTINFER as CAT;

/// The thread, from the pad's activation to its deactivation.
#[derive(Debug)]
pub(super) struct Pusher {
    thread: JoinHandle<()>,
}

impl Pusher {
    /// Starts pushing what leaves the owner's lane, until that is stopped.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(element: &super::TrtInfer, owner: &Arc<Owner>) -> Result<Self, std::io::Error> {
        let (element, owner) = (element.downgrade(), Arc::clone(owner));
        let push = move || push_all(&element, &owner.lane);
        std::thread::Builder::new().name("trtinfer:src".into()).spawn(push).map(|thread| Self { thread })
    }

    /// Which thread it is.
    pub fn id(&self) -> ThreadId {
        self.thread.thread().id()
    }

    /// Waits until the thread has ended. The lane must have been stopped.
    pub fn join(self) {
        // An element downstream may stop this element from the thread that pushes: then the thread ends when that call returns.
        if self.id() != std::thread::current().id() && self.thread.join().is_err() {
            gst::error!(CAT, "the thread that pushes has panicked");
        }
    }
}

fn push_all(element: &glib::WeakRef<super::TrtInfer>, lane: &Lane<Outgoing>) {
    post_stream_status(element, gst::StreamStatusType::Enter);
    loop {
        let Some(item) = lane.pop() else {
            if lane.wait_for_flush_stop() {
                continue;
            }
            break;
        };
        let Some(element) = element.upgrade() else {
            lane.stop();
            break;
        };
        // A panic must not leave the lane waiting for the item that was being pushed.
        let pushed = panic::catch_unwind(AssertUnwindSafe(|| element.imp().push(lane, item)));
        if pushed.is_err() {
            lane.pushed(Err(gst::FlowError::Error));
            if let Some(running) = element.imp().flow.running() {
                running.owner.is_first_failure(lane.epoch());
            }
            gst::element_error!(
                element,
                gst::LibraryError::Failed,
                ("{}: pushing a frame panicked; this is a bug of cudainfer", element.name())
            );
        }
    }
    post_stream_status(element, gst::StreamStatusType::Leave);
}

/// Announces the streaming thread to the application from that thread, as every source pad's task does: the application may want
/// another priority for it.
fn post_stream_status(element: &glib::WeakRef<super::TrtInfer>, status: gst::StreamStatusType) {
    let Some(element) = element.upgrade() else { return };
    let pad = &element.imp().src;
    let message = gst::message::StreamStatus::builder(status, element.upcast_ref::<gst::Element>());
    // Applications read the message's object without asking whether there is one.
    let message = message.status_object(pad.to_send_value()).src(pad).build();
    // Refused only where nobody listens to the bus.
    let _ = element.post_message(message);
}
