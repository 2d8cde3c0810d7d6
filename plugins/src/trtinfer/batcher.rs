//! The queue of an instance: frames of all elements that share it wait here until a batch is due.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, MutexGuard, lock};

/// When a batch is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    /// Frames of a batch, at most; at least 1.
    pub size: usize,
    /// Frames that are enough for a batch whenever the model is free; 0 leaves it to `timeout`.
    pub min: usize,
    /// How long a frame waits for others. 0: a batch is what waits when the model becomes free.
    pub timeout: Duration,
    /// Frames in flight that keep the model busy, of all elements together.
    pub in_flight: usize,
}

/// Something that is inferred in batches.
pub(super) trait Batchable {
    /// Whether both can be in one batch.
    fn fits(&self, other: &Self) -> bool;

    /// What the model remembers this one by, where it remembers something: those of one stream go one after the other, in the order in
    /// which they came.
    fn stream(&self) -> Option<StreamKey> {
        None
    }
}

/// Names a stream of which a model remembers something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct StreamKey(pub u64);

/// Names an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Client(u64);

/// A frame's place among those of its priority. Each element has one turn per round, so that an element with many waiting frames
/// gets no larger share than one with few: start-time fair queueing (Goyal, Vin and Cheng 1996) with frames that all cost the
/// same.
#[derive(Clone, Copy, Debug)]
struct Turn {
    round: u64,
    /// Frames of a round go in the order in which they came.
    arrival: u64,
    /// Its batch is due then, full or not.
    deadline: Instant,
}

#[derive(Debug)]
struct Waiting<B> {
    request: B,
    client: Client,
    priority: i32,
    turn: Turn,
}

impl<B> Waiting<B> {
    /// What the queue is sorted by.
    fn order(&self) -> (Reverse<i32>, u64, u64) {
        (Reverse(self.priority), self.turn.round, self.turn.arrival)
    }
}

#[derive(Debug)]
struct Inner<B> {
    /// By priority, and then by their turns.
    waiting: VecDeque<Waiting<B>>,
    /// The elements that have joined and not left.
    clients: HashMap<Client, Member>,
    /// The streams with one in a batch that was taken and is not done.
    in_run: HashMap<StreamKey, Client>,
    joined: u64,
    arrived: u64,
    /// The round of the frame that was taken last, by priority. An element that had nothing to send until now begins there.
    rounds: HashMap<i32, u64>,
    /// `rules.size`, or less while memory is short.
    size: usize,
    /// Times that batches were made smaller.
    step_downs: u64,
    stopped: bool,
}

/// What the queue knows of an element that has joined.
#[derive(Debug, Default)]
struct Member {
    /// Frames that the element has in flight at most, if it is limited.
    limit: Option<usize>,
    /// The element sends nothing more for now, so that no batch needs to wait for its frames.
    done: bool,
    /// The priority and the round of its last frame.
    last: Option<(i32, u64)>,
    /// The turn for its next frame: that of a frame that was dropped in its favour.
    vacant: Option<Turn>,
    /// Where the model remembers something of streams: of how many there were frames at the same time, at most.
    streams: Option<usize>,
}

/// The queue. Every method may be called from any thread.
#[derive(Debug)]
pub(super) struct Batcher<B> {
    rules: Rules,
    inner: Mutex<Inner<B>>,
    changed: Condvar,
}

impl<B: Batchable> Batcher<B> {
    /// An empty queue.
    pub fn new(rules: Rules) -> Self {
        let inner = Inner {
            waiting: VecDeque::new(),
            clients: HashMap::new(),
            in_run: HashMap::new(),
            joined: 0,
            arrived: 0,
            rounds: HashMap::new(),
            size: rules.size,
            step_downs: 0,
            stopped: false,
        };
        Self { rules, inner: Mutex::new(inner), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<B>> {
        lock(&self.inner)
    }

    /// The rules that the queue was made with.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// An element joins that has at most `limit` frames in flight, or its share of what keeps the model busy.
    pub fn join(&self, limit: Option<usize>) -> Client {
        let mut inner = self.lock();
        inner.joined += 1;
        let client = Client(inner.joined);
        inner.clients.insert(client, Member { limit, ..Member::default() });
        client
    }

    /// Frames that the element may have in flight at most, with as many elements as there are now.
    pub fn limit(&self, client: Client) -> usize {
        let inner = self.lock();
        let set = inner.clients.get(&client).and_then(|member| member.limit);
        set.unwrap_or_else(|| inner.share(&self.rules))
    }

    /// An element leaves. Its frames that wait go at once.
    pub fn leave(&self, client: Client) {
        self.lock().clients.remove(&client);
        self.changed.notify_all();
    }

    /// A frame comes in.
    pub fn submit(&self, client: Client, priority: i32, request: B) {
        self.submit_at(Instant::now(), client, priority, request);
    }

    /// As [`Batcher::submit`], at this time.
    pub(super) fn submit_at(&self, now: Instant, client: Client, priority: i32, request: B) {
        let mut guard = self.lock();
        let inner = &mut *guard;
        inner.arrived += 1;
        let streams = request.stream().map(|stream| inner.streams_with(client, stream));
        let mine = inner.waiting.iter().filter(|other| (other.client, other.priority) == (client, priority));
        let waits = mine.map(|other| other.turn.round).max();
        let under_way = inner.rounds.get(&priority).copied().unwrap_or(0);
        let mut turn = Turn { round: under_way, arrival: inner.arrived, deadline: now + self.rules.timeout };
        if let Some(member) = inner.clients.get_mut(&client) {
            member.done = false;
            member.streams = member.streams.max(streams);
            let went = member.last.filter(|(class, _)| *class == priority).map(|(_, round)| round);
            turn.round = turn.round.max(waits.max(went).map_or(0, |round| round + 1));
            turn = member.vacant.take().unwrap_or(turn);
            member.last = Some((priority, turn.round));
        }
        let waiting = Waiting { request, client, priority, turn };
        let place = inner.waiting.partition_point(|other| other.order() < waiting.order());
        inner.waiting.insert(place, waiting);
        self.changed.notify_all();
    }

    /// The element sends nothing more until what it has sent is done: no batch waits for more of it.
    pub fn hurry(&self, client: Client) {
        if let Some(member) = self.lock().clients.get_mut(&client) {
            member.done = true;
        }
        self.changed.notify_all();
    }

    /// The frames of these streams that were taken are done: the next ones may go.
    pub fn done(&self, streams: &[StreamKey]) {
        if streams.is_empty() {
            return;
        }
        let mut inner = self.lock();
        for stream in streams {
            inner.in_run.remove(stream);
        }
        self.changed.notify_all();
    }

    /// Takes back a frame of an element that still waits, and its turn with it.
    pub fn take_back(&self, client: Client) -> Option<B> {
        let mut inner = self.lock();
        if let Some(member) = inner.clients.get_mut(&client) {
            (member.last, member.vacant) = (None, None);
        }
        let index = inner.waiting.iter().position(|waiting| waiting.client == client)?;
        inner.waiting.remove(index).map(|waiting| waiting.request)
    }

    /// Takes back the oldest waiting frame of an element, in favour of the frame that the element submits next. The element keeps
    /// its turns: its other frames move up, and the next frame gets the last of them. Otherwise an element that loses frames
    /// would begin again after all others each time, and one that loses many would seldom have its turn.
    pub fn take_oldest_back(&self, client: Client) -> Option<B> {
        let mut inner = self.lock();
        let mine = inner.waiting.iter().enumerate().filter(|(_, waiting)| waiting.client == client);
        let (oldest, _) = mine.min_by_key(|(_, waiting)| waiting.turn.arrival)?;
        let Waiting { request, mut turn, .. } = inner.waiting.remove(oldest)?;
        let mut younger: Vec<_> =
            inner.waiting.iter_mut().filter(|waiting| waiting.client == client).collect();
        younger.sort_by_key(|waiting| waiting.turn.arrival);
        for waiting in younger {
            std::mem::swap(&mut waiting.turn, &mut turn);
        }
        inner.waiting.make_contiguous().sort_by_key(Waiting::order);
        if let Some(member) = inner.clients.get_mut(&client) {
            member.vacant = Some(turn);
        }
        Some(request)
    }

    /// The next batch, once it is due, of frames that fit each other; `None` when the queue has been stopped. Until `busy_until`
    /// only a full one is due. Of the frames that fit, `portion` says how many are taken, unless those that are left would wait for
    /// their deadline again.
    pub fn take(&self, busy_until: Option<Instant>, portion: impl Fn(usize) -> usize) -> Option<Vec<B>> {
        let mut inner = self.lock();
        loop {
            if inner.stopped {
                return None;
            }
            let now = Instant::now();
            match inner.due(&self.rules, now, busy_until) {
                Due::Now(first) if self.rules.timeout.is_zero() => return Some(inner.batch(first, portion)),
                Due::Now(first) => return Some(inner.batch(first, |frames| frames)),
                Due::At(deadline) => {
                    let left = deadline.saturating_duration_since(now);
                    inner = self.changed.wait_timeout(inner, left).unwrap_or_else(|e| e.into_inner()).0;
                }
                Due::Never => inner = self.changed.wait(inner).unwrap_or_else(|e| e.into_inner()),
            }
        }
    }

    /// The batch that is due at this time.
    #[cfg(test)]
    pub(super) fn take_at(&self, now: Instant) -> Option<Vec<B>> {
        let mut inner = self.lock();
        match inner.due(&self.rules, now, None) {
            Due::Now(first) => Some(inner.batch(first, |frames| frames)),
            Due::At(_) | Due::Never => None,
        }
    }

    /// Makes batches half as large as one that did not fit in memory; returns how large they are now, or nothing if that
    /// was a single frame.
    pub fn step_down(&self, failed: usize) -> Option<usize> {
        let mut inner = self.lock();
        (failed > 1).then(|| {
            inner.step_downs += 1;
            inner.size = inner.size.min(failed / 2).max(1);
            inner.size
        })
    }

    /// Makes batches twice as large again; returns how large they are now, or nothing if they had their size.
    pub fn step_up(&self) -> Option<usize> {
        let mut inner = self.lock();
        (inner.size < self.rules.size).then(|| {
            inner.size = self.rules.size.min(2 * inner.size);
            inner.size
        })
    }

    /// How large batches are at most for now.
    pub fn size(&self) -> usize {
        self.lock().size
    }

    /// Times that batches were made smaller because memory was short.
    pub fn step_downs(&self) -> u64 {
        self.lock().step_downs
    }

    /// Elements that have joined and not left.
    pub fn clients(&self) -> usize {
        self.lock().clients.len()
    }

    /// Drops the waiting frames and wakes all waiting threads, for good.
    pub fn stop(&self) {
        let mut inner = self.lock();
        inner.stopped = true;
        let left = std::mem::take(&mut inner.waiting);
        self.changed.notify_all();
        drop(inner);
        drop(left);
    }
}

enum Due {
    /// The batch of the frame at this place.
    Now(usize),
    At(Instant),
    Never,
}

/// Frames that an element may have in flight, however many share the model: one that is inferred and one that arrives.
const LEAST: usize = 2;

impl<B: Batchable> Inner<B> {
    fn share(&self, rules: &Rules) -> usize {
        rules.in_flight.div_ceil(self.clients.len().max(1)).max(LEAST)
    }

    fn due(&self, rules: &Rules, now: Instant, busy_until: Option<Instant>) -> Due {
        let busy = busy_until.filter(|until| *until > now);
        // No more frames can come than all elements together may have in flight.
        let more = self.clients.iter().map(|(client, member)| {
            if member.done {
                self.waiting.iter().filter(|w| w.client == *client).count()
            } else {
                member.limit.unwrap_or_else(|| self.share(rules)).min(member.streams.unwrap_or(usize::MAX))
            }
        });
        let enough = self.size.min(more.sum::<usize>().max(1));
        let done = |waiting: &Waiting<B>| self.clients.get(&waiting.client).is_none_or(|member| member.done);
        // Frames that do not fit the first one make batches of their own, which do not wait for the first one's batch.
        let ready = || self.waiting.iter().enumerate().filter(|(_, waiting)| self.is_ready(waiting));
        let firsts = ready().filter(|(index, first)| {
            ready()
                .take_while(|(before, _)| before < index)
                .all(|(_, before)| !first.request.fits(&before.request))
        });
        for (index, first) in firsts {
            let batch = || ready().map(|(_, other)| other).filter(|other| other.request.fits(&first.request));
            let count = batch().take(self.size).count();
            let due = || {
                rules.min > 0 && count >= rules.min
                    || batch().any(|waiting| waiting.turn.deadline <= now || done(waiting))
            };
            if count >= enough || busy.is_none() && due() {
                return Due::Now(index);
            }
        }
        // When `busy` ends, everything is looked at again: what is due by then is taken, whatever its deadline.
        let deadline = ready().map(|(_, waiting)| waiting.turn.deadline).min();
        deadline.map_or(Due::Never, |deadline| Due::At(busy.unwrap_or(deadline)))
    }

    /// The frame at this place and the later ones that fit it, as many of them as `portion` says.
    fn batch(&mut self, first: usize, portion: impl Fn(usize) -> usize) -> Vec<B> {
        let fits = |other: &&Waiting<B>| {
            self.is_ready(other)
                && self.waiting.get(first).is_some_and(|first| other.request.fits(&first.request))
        };
        let count = self.waiting.iter().skip(first).filter(fits).take(self.size).count();
        let size = portion(count).clamp(1, count.max(1));
        let mut batch: Vec<B> = Vec::with_capacity(size);
        let mut index = first;
        while batch.len() < size && index < self.waiting.len() {
            let other = &self.waiting[index];
            let fits = self.is_ready(other) && batch.first().is_none_or(|first| other.request.fits(first));
            match if fits { self.waiting.remove(index) } else { None } {
                Some(Waiting { request, client, priority, turn }) => {
                    let round = self.rounds.entry(priority).or_default();
                    *round = turn.round.max(*round);
                    // The stream's later frames are not ready from now on.
                    self.in_run.extend(request.stream().map(|stream| (stream, client)));
                    batch.push(request);
                }
                None => index += 1,
            }
        }
        batch
    }

    /// Whether nothing of its stream has to go before it.
    fn is_ready(&self, waiting: &Waiting<B>) -> bool {
        let Some(stream) = waiting.request.stream() else { return true };
        let before = |other: &Waiting<B>| {
            other.turn.arrival < waiting.turn.arrival && other.request.stream() == Some(stream)
        };
        !self.in_run.contains_key(&stream) && !self.waiting.iter().any(before)
    }

    /// Streams of an element of which frames wait or are in a run, with this one.
    fn streams_with(&self, client: Client, stream: StreamKey) -> usize {
        let mine = self.waiting.iter().filter(|waiting| waiting.client == client);
        let waiting = mine.filter_map(|waiting| waiting.request.stream());
        let in_run = self.in_run.iter().filter(|(_, of)| **of == client).map(|(stream, _)| *stream);
        waiting.chain(in_run).chain([stream]).collect::<HashSet<_>>().len()
    }
}

#[cfg(test)]
#[path = "batcher/tests.rs"] // so that it is found from tests/interleavings, too
mod tests;
