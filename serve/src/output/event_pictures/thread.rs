//! The thread that makes the pictures of the events of all streams, one after the other.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::super::cropper::Cropper;
use crate::log;
use crate::unpoisoned::lock;

/// Frames of all streams that wait: each holds memory.
const WAITING: usize = 32;
/// The most pixels of a picture's longer edge.
const LONGEST: u32 = 640;
/// Croppers that are kept for the next frame of the same caps: most cameras of a service have the same ones.
const CROPPERS: usize = 4;
/// How long the end may take.
const END: Duration = Duration::from_secs(2);

/// What is done with a frame.
type Job = Box<dyn FnOnce(&mut Croppers) + Send>;

/// The thread. Clones are the same one; the default has none, and takes nothing.
#[derive(Clone, Debug, Default)]
pub struct PictureThread(Option<Arc<Worker>>);

#[derive(Debug)]
struct Worker {
    jobs: Mutex<Option<SyncSender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl PictureThread {
    /// Starts it. That there is none is logged.
    pub fn start() -> Self {
        let (jobs, waiting) = sync_channel::<Job>(WAITING);
        let work = move |waiting: Receiver<Job>| {
            let mut croppers = Croppers::default();
            waiting.iter().for_each(|job| job(&mut croppers));
        };
        let thread = std::thread::Builder::new().name("event pictures".to_owned());
        match thread.spawn(move || work(waiting)) {
            Ok(thread) => Self(Some(Arc::new(Worker {
                jobs: Mutex::new(Some(jobs)),
                thread: Mutex::new(Some(thread)),
            }))),
            Err(e) => {
                log::warning(format_args!("events have no pictures of their own, for want of a thread: {e}"));
                Self::default()
            }
        }
    }

    /// Has something done with a frame. Never waits: returns whether there is room for it.
    pub fn push(&self, job: impl FnOnce(&mut Croppers) + Send + 'static) -> bool {
        let jobs = self.0.as_ref().and_then(|worker| lock(&worker.jobs).clone());
        jobs.is_some_and(|jobs| jobs.try_send(Box::new(job)).is_ok())
    }

    /// Makes what waits, for no longer than a while.
    pub fn close(&self) {
        let Some(worker) = &self.0 else { return };
        *lock(&worker.jobs) = None;
        let Some(thread) = lock(&worker.thread).take() else { return };
        let until = Instant::now() + END;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Croppers of the caps that came last.
#[derive(Default)]
pub struct Croppers(VecDeque<(gst::Caps, Cropper)>);

impl Croppers {
    /// A picture of `[left, top, right, bottom]` of a frame of `size`.
    ///
    /// # Errors
    /// A sentence.
    pub fn picture(
        &mut self,
        frame: &gst::Buffer,
        caps: &gst::Caps,
        part: [u32; 4],
        size: [u32; 2],
    ) -> Result<Vec<u8>, String> {
        let known = self.0.iter().position(|(known, _)| known == caps).and_then(|place| self.0.remove(place));
        let (caps, cropper) = match known {
            Some(known) => known,
            None => (caps.clone(), Cropper::up_to(LONGEST)?),
        };
        // One that has failed cannot be used any more.
        let jpeg = cropper.picture(frame.clone(), &caps, part, size)?;
        self.0.push_back((caps, cropper));
        if self.0.len() > CROPPERS {
            self.0.pop_front();
        }
        Ok(jpeg)
    }
}
