//! trtinfer's lane, queue, share of the cores and change of the model, compiled with loom's locks instead of std's: loom runs
//! each function again and again, with every order in which the threads can take turns, and finds threads that wait forever.
//!
//! Each function is an interaction of elements, as frames.rs, worker.rs and change.rs have it. Loom tries the orders in which a
//! thread is interrupted a few times where it does not wait ([`every_order`]).
//!
//! Loom has no time: a thread that waits for a deadline waits until something else wakes it. So no deadline saves a test here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this runs in tests only

use std::sync::Arc;
use std::time::Duration;

use gst::{FlowError, FlowSuccess};
use loom::thread::{JoinHandle, spawn};

use batcher::{Batcher, Client, Rules, StreamKey};
use cores::Cores;
use lane::{Item, Lane, Ticket};
use leaky::Leaky;
use slot::{Replaceable, Slot};
use switch::ModelSwitch;
use sync::{Mutex, lock};

#[allow(dead_code)] // what elements do besides
#[path = "../../plugins/src/trtinfer/batcher.rs"]
mod batcher;
#[allow(dead_code)]
#[path = "../../plugins/src/trtinfer/cores.rs"]
mod cores;
#[allow(dead_code)]
#[path = "../../plugins/src/trtinfer/lane.rs"]
mod lane;
#[path = "../../plugins/src/trtinfer/leaky.rs"]
mod leaky;
#[allow(dead_code)]
#[path = "../../plugins/src/trtinfer/slot.rs"]
mod slot;
#[allow(dead_code)]
#[path = "../../plugins/src/trtinfer/switch.rs"]
mod switch;

/// What the modules above find as `crate::sync`.
mod sync {
    pub use loom::sync::{Condvar, Mutex, MutexGuard};

    pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub fn wait<'a, T>(changed: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        changed.wait(guard).unwrap_or_else(|e| e.into_inner())
    }
}

/// Runs a function with every order of its threads in which these are interrupted at most `interruptions` times.
///
/// # Panics
/// The function panics with one of these orders, or its threads wait for each other.
pub fn every_order(interruptions: usize, run: fn()) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(interruptions);
    model.check(run);
}

/// A frame on its way through a queue, as trtinfer's `Batchable` is.
struct Frame {
    number: u32,
    ticket: Ticket,
    element: Arc<Element>,
}

impl batcher::Batchable for Frame {
    fn fits(&self, _: &Self) -> bool {
        true
    }

    fn stream(&self) -> Option<StreamKey> {
        self.element.stream
    }
}

/// An element: its lane, and what it has pushed.
struct Element {
    lane: Lane<u32>,
    pushed: Mutex<Vec<u32>>,
    /// Its stream, where the model remembers something of streams, and the frames that were run for it.
    stream: Option<StreamKey>,
    remembered: Mutex<Vec<u32>>,
}

type Queue = Arc<Batcher<Frame>>;

/// A queue whose batches have up to this many frames. Partial batches wait forever, or not at all.
fn queue(size: usize, waits: bool) -> Queue {
    let timeout = if waits { Duration::from_secs(1 << 20) } else { Duration::ZERO };
    Arc::new(Batcher::new(Rules { size, min: 0, timeout, in_flight: 2 * size }))
}

fn element() -> Arc<Element> {
    element_of(None)
}

fn element_of(stream: Option<StreamKey>) -> Arc<Element> {
    let (pushed, remembered) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    Arc::new(Element { lane: Lane::new(), pushed, stream, remembered })
}

impl Element {
    /// As `TrtInfer::chain`: takes a frame. Returns whether it was accepted.
    fn chain(
        self: &Arc<Self>,
        queue: &Queue,
        client: Client,
        leaky: Leaky,
        number: u32,
    ) -> Result<bool, FlowError> {
        let parts = |frame: Frame| (frame.ticket, frame.number);
        let ticket = leaky.enter(&self.lane, queue, client, parts, |_| ())?;
        if let Some(ticket) = ticket {
            queue.submit(client, 0, Frame { number, ticket, element: Arc::clone(self) });
        }
        Ok(ticket.is_some())
    }

    /// As `TrtInfer::drain`.
    fn drain(&self, queue: &Queue, client: Client) -> bool {
        queue.hurry(client);
        self.lane.drain()
    }

    /// As the source pad's task: pushes until it is flushed or stopped.
    fn task(self: &Arc<Self>) -> JoinHandle<()> {
        let this = Arc::clone(self);
        spawn(move || {
            while let Some(item) = this.lane.pop() {
                if let Item::Frame(Ok(number)) = item {
                    lock(&this.pushed).push(number);
                }
                this.lane.pushed(Ok(FlowSuccess::Ok));
            }
        })
    }

    /// What has been pushed.
    fn pushed(&self) -> Vec<u32> {
        lock(&self.pushed).clone()
    }
}

/// A worker of the instance, as `worker::work`.
fn worker(queue: &Queue) -> JoinHandle<()> {
    let queue = Arc::clone(queue);
    spawn(move || {
        while let Some(mut batch) = queue.take(None, |frames| frames) {
            let streams: Vec<_> = batch.iter().filter_map(batcher::Batchable::stream).collect();
            batch.retain(|frame| frame.element.lane.wants(frame.ticket));
            for Frame { number, ticket, element } in batch {
                if element.stream.is_some() {
                    lock(&element.remembered).push(number);
                }
                element.lane.finish(ticket, Ok(number));
            }
            queue.done(&streams);
        }
    })
}

/// As the element's and the instance's end.
fn end(queue: &Queue, element: &Element, client: Client, threads: impl IntoIterator<Item = JoinHandle<()>>) {
    element.lane.stop();
    while queue.take_back(client).is_some() {}
    queue.leave(client);
    queue.stop();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Frames leave in their order, however many workers there are, and a drain waits for all of them.
pub fn frames_leave_in_order() {
    let (queue, element) = (queue(1, false), element());
    let client = queue.join(Some(2));
    let threads = [worker(&queue), worker(&queue), element.task()];
    for number in 0..2 {
        assert_eq!(element.chain(&queue, client, Leaky::No, number), Ok(true));
    }
    assert!(element.drain(&queue, client));
    assert_eq!(element.pushed(), [0, 1]);
    end(&queue, &element, client, threads);
}

/// Frames of a stream of which the model remembers something are run in their order by any number of workers, none of which waits
/// forever for another.
pub fn what_is_remembered_goes_from_frame_to_frame() {
    let (queue, element) = (queue(1, false), element_of(Some(StreamKey(1))));
    let client = queue.join(Some(2));
    let threads = [worker(&queue), worker(&queue), element.task()];
    for number in 0..2 {
        assert_eq!(element.chain(&queue, client, Leaky::No, number), Ok(true));
    }
    assert!(element.drain(&queue, client));
    assert_eq!((element.pushed(), lock(&element.remembered).clone()), (vec![0, 1], vec![0, 1]));
    end(&queue, &element, client, threads);
}

/// A new frame waits while the lane is full, and is taken when there is room.
pub fn a_full_lane_lets_a_frame_in_when_one_has_left() {
    let (queue, element) = (queue(1, false), element());
    let client = queue.join(Some(1));
    let threads = [worker(&queue), element.task()];
    for number in 0..3 {
        assert_eq!(element.chain(&queue, client, Leaky::No, number), Ok(true));
    }
    assert!(element.drain(&queue, client));
    assert_eq!(element.pushed(), [0, 1, 2]);
    end(&queue, &element, client, threads);
}

/// A batch that waits for more frames runs when no more can come.
pub fn the_end_does_not_wait_for_a_batch_to_fill() {
    let (queue, element) = (queue(4, true), element());
    let client = queue.join(Some(4));
    let threads = [worker(&queue), element.task()];
    for number in 0..2 {
        assert_eq!(element.chain(&queue, client, Leaky::No, number), Ok(true));
    }
    assert!(element.drain(&queue, client));
    assert_eq!(element.pushed(), [0, 1]);
    end(&queue, &element, client, threads);
}

/// Two elements fill a batch; when one of them leaves, the batch does not wait for its frames.
pub fn who_leaves_is_not_waited_for() {
    let (queue, element) = (queue(2, true), element());
    let (client, other) = (queue.join(Some(1)), queue.join(Some(1)));
    let threads = [worker(&queue), element.task()];
    let leaves = {
        let queue = Arc::clone(&queue);
        spawn(move || queue.leave(other))
    };
    assert_eq!(element.chain(&queue, client, Leaky::No, 0), Ok(true));
    // There is room for the second frame when the first has left.
    assert_eq!(element.chain(&queue, client, Leaky::No, 1), Ok(true));
    leaves.join().unwrap();
    assert!(element.drain(&queue, client));
    assert_eq!(element.pushed(), [0, 1]);
    end(&queue, &element, client, threads);
}

/// A flush while frames are in flight and another waits to be taken: no frame from before the flush is pushed after it.
pub fn a_flush_drops_what_is_on_its_way_and_nothing_that_comes_after() {
    let (queue, element) = (queue(1, false), element());
    let client = queue.join(Some(1));
    let threads = [worker(&queue)];
    let task = element.task();
    let feeder = {
        let (queue, element) = (Arc::clone(&queue), Arc::clone(&element));
        spawn(move || {
            let flows = [0, 1].map(|number| element.chain(&queue, client, Leaky::No, number));
            assert!(flows.iter().all(|flow| matches!(flow, Ok(true) | Err(FlowError::Flushing))));
        })
    };
    assert!(element.lane.flush_start().is_empty());
    while queue.take_back(client).is_some() {}
    // As with the pad, the flush begins anew only after the task has ended and the streaming thread has returned.
    task.join().unwrap();
    feeder.join().unwrap();
    let before = element.pushed().len();
    element.lane.flush_stop();
    let task = element.task();
    assert_eq!(element.chain(&queue, client, Leaky::No, 7), Ok(true));
    assert!(element.drain(&queue, client));
    assert_eq!(element.pushed()[before..], [7]);
    end(&queue, &element, client, threads.into_iter().chain([task]));
}

/// All threads that wait return when the element and its instance are stopped.
pub fn a_stop_lets_everybody_go() {
    // The worker waits for a batch to fill, the task for a frame, the feeder for room.
    let (queue, element) = (queue(2, true), element());
    let (client, _other) = (queue.join(Some(1)), queue.join(Some(1)));
    let threads = [worker(&queue), element.task()];
    let feeder = {
        let (queue, element) = (Arc::clone(&queue), Arc::clone(&element));
        spawn(move || {
            let flows = [0, 1].map(|number| element.chain(&queue, client, Leaky::No, number));
            assert_eq!(flows[1], Err(FlowError::Flushing));
        })
    };
    end(&queue, &element, client, threads.into_iter().chain([feeder]));
}

/// Another model between two frames: frames that wait for the earlier model run at once, and all frames stay in order.
pub fn a_change_of_the_model_loses_nothing() {
    let (before, after, element) = (queue(2, true), queue(1, false), element());
    // Another thread uses the earlier instance, too: its batch of two would wait forever.
    let (client, _other) = (before.join(Some(2)), before.join(Some(2)));
    let threads = [worker(&before), worker(&after), element.task()];
    assert_eq!(element.chain(&before, client, Leaky::No, 0), Ok(true));
    before.leave(client);
    let client = after.join(Some(2));
    assert_eq!(element.chain(&after, client, Leaky::No, 1), Ok(true));
    assert!(element.drain(&after, client));
    assert_eq!(element.pushed(), [0, 1]);
    before.stop();
    end(&after, &element, client, threads);
}

/// A frame that must give way to a new one is either lost or pushed, whatever the worker does meanwhile; the newest frame is not
/// lost while an older one waits.
pub fn frames_that_give_way_are_lost_once() {
    let (queue, element) = (queue(1, false), element());
    let client = queue.join(Some(1));
    let threads = [worker(&queue), element.task()];
    let taken: Vec<_> =
        (0..3).filter(|number| element.chain(&queue, client, Leaky::Downstream, *number).unwrap()).collect();
    assert!(element.drain(&queue, client));
    let pushed = element.pushed();
    assert!(pushed.is_sorted_by(|a, b| a < b) && !pushed.is_empty(), "{pushed:?}");
    // No frame came after the last one, so it is not lost.
    assert_eq!(pushed.last(), taken.last());
    assert!(pushed.iter().all(|number| taken.contains(number)), "{pushed:?} {taken:?}");
    end(&queue, &element, client, threads);
}

/// Two elements of a queue: one is stopped while it has frames there, and the other's frames are pushed.
pub fn an_element_that_stops_takes_nobody_with_it() {
    let (queue, element, stops) = (queue(2, true), element(), self::element());
    let (client, other) = (queue.join(Some(1)), queue.join(Some(1)));
    let threads = [worker(&queue), element.task()];
    let stopping = {
        let queue = Arc::clone(&queue);
        spawn(move || {
            assert_eq!(stops.chain(&queue, other, Leaky::No, 100), Ok(true));
            stops.lane.stop();
            while queue.take_back(other).is_some() {}
            queue.leave(other);
        })
    };
    assert_eq!(element.chain(&queue, client, Leaky::No, 0), Ok(true));
    stopping.join().unwrap();
    assert!(element.drain(&queue, client));
    assert_eq!(element.pushed(), [0]);
    end(&queue, &element, client, threads);
}

/// A thread that waits for cores gets them, however many the others want.
pub fn everybody_gets_cores() {
    let cores = Arc::new(Cores::new(2));
    let busy = Arc::new(Mutex::new(0));
    let threads = [2, 1, 1].map(|wanted| {
        let (cores, busy) = (Arc::clone(&cores), Arc::clone(&busy));
        spawn(move || {
            let taken = cores.take(wanted);
            *lock(&busy) += wanted;
            assert!(*lock(&busy) <= 2);
            *lock(&busy) -= wanted;
            drop(taken);
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// An instance of a model, by the model's number.
struct Instance(u32);

impl Replaceable for Instance {
    type Selection = u32;

    fn selection(&self) -> u32 {
        self.0
    }

    fn is_used(&self) -> bool {
        false
    }
}

type Switch = ModelSwitch<Instance, JoinHandle<()>>;

/// An element that uses the instance in the slot, as `TrtInfer::open` and `TrtInfer::start`.
fn changing(slot: &Arc<Slot<Instance>>) -> Arc<Switch> {
    let instance = slot.open(|_, _| Ok::<_, ()>(true), || Ok(Arc::new(Instance(0)))).unwrap();
    let switch = Arc::new(Switch::default());
    switch.open(Arc::clone(slot), instance);
    switch.begin();
    switch
}

/// As `TrtInfer::change_model`: loads the model that `wanted` names when the load begins.
fn change_model(switch: &Arc<Switch>, wanted: &Arc<Mutex<u32>>) {
    let (this, wanted) = (Arc::clone(switch), Arc::clone(wanted));
    let load = move || {
        while let Some(load) = this.take_request() {
            let instance = Arc::new(Instance(*lock(&wanted)));
            drop(this.offer(load, &instance, None));
        }
    };
    switch.request(|| Ok::<_, ()>(spawn(load)), |ended| ended.join().unwrap()).unwrap();
}

/// As `TrtInfer::follow`.
fn follow(switch: &Switch) {
    if let Some(next) = switch.next() {
        drop(switch.take(&next).released);
    }
}

/// Waits for the loader, as on the way to NULL.
fn wait_for_loader(switch: &Switch) {
    if let Some(thread) = switch.take_thread() {
        thread.join().unwrap();
    }
}

fn in_use(switch: &Switch) -> u32 {
    switch.in_use().unwrap().0
}

/// The model that was set last is in use in the end, whenever the others were loaded and frames came.
pub fn the_model_that_was_set_last_is_in_use() {
    let (slot, wanted) = (Arc::new(Slot::new(None)), Arc::new(Mutex::new(0)));
    let switch = changing(&slot);
    for number in [1, 2] {
        *lock(&wanted) = number;
        change_model(&switch, &wanted);
        follow(&switch);
    }
    wait_for_loader(&switch);
    follow(&switch);
    assert_eq!(in_use(&switch), 2);
}

/// A model that loads while the element stops and starts again is either next before the stop or not at all.
pub fn a_load_from_before_a_stop_changes_nothing_after_it() {
    let (slot, wanted) = (Arc::new(Slot::new(None)), Arc::new(Mutex::new(1)));
    let switch = changing(&slot);
    change_model(&switch, &wanted);
    switch.stop();
    let before = switch.next().map(|next| next.0);
    switch.begin();
    wait_for_loader(&switch);
    assert_eq!(switch.next().map(|next| next.0), before);
}

/// Two elements that share a slot end with the same instance, whoever of them changes the model.
pub fn elements_that_share_an_instance_end_with_the_same() {
    let (slot, wanted) = (Arc::new(Slot::new(Some("shared".to_owned()))), Arc::new(Mutex::new(1)));
    let [one, other] = [changing(&slot), changing(&slot)];
    change_model(&one, &wanted);
    let follows = {
        let other = Arc::clone(&other);
        spawn(move || follow(&other))
    };
    follow(&one);
    follows.join().unwrap();
    wait_for_loader(&one);
    follow(&one);
    follow(&other);
    assert_eq!([&one, &other].map(|element| in_use(element)), [1, 1]);
    assert!(Arc::ptr_eq(&one.in_use().unwrap(), &other.in_use().unwrap()));
}

/// Elements that open one slot at the same time get the same instance, and who only looks at it waits for nobody.
pub fn elements_that_start_together_open_one_instance() {
    let slot = Arc::new(Slot::new(Some("shared".to_owned())));
    let opens = [(); 2].map(|()| {
        let slot = Arc::clone(&slot);
        spawn(move || drop(changing(&slot)))
    });
    drop(slot.current());
    let third = changing(&slot);
    opens.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(Arc::ptr_eq(&third.in_use().unwrap(), &slot.current().unwrap()));
}
