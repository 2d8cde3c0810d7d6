//! A stream's thread on a clock, with pipelines and clients of the API that are made up: the same code as in the product, step by step
//! as a seed says.
//!
//! Pipelines fail, stall, end, hang when they must stop, and load models for long; clients start the stream again and change it. Then all
//! is well, and the stream must play; then it is stopped, and must end. What must hold after each step is in `Story::check`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{TryRecvError, channel};

use cudainfer_fuzzing::{Tally, simulate};

use super::super::failure::Failure;
use super::super::run::ReportRun;
use super::*;
use crate::config::{Config, Restart};

/// Seeds of `cargo test`.
const SEEDS: u64 = 400;
/// As in the supervisor.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_LEFT_BEHIND: usize = 3;
/// Turns of the thread's loop without time passing; more are a loop that keeps a core busy.
const MOST_IDLE_TURNS: u32 = 3;

static SPEC: LazyLock<StreamSpec> = LazyLock::new(|| {
    cudainfer_tests::init();
    let text = "[pipeline.plain]\nline = \"identity\"\n[[source]]\nname = \"a\"\nuri = \"test://ball\"\npipeline = \"plain\"\n";
    let config = Config::read(text, Path::new("serve.toml")).unwrap();
    StreamSpec::new(&config, config.sources[0].clone(), &BTreeMap::new()).unwrap()
});

/// What a pipeline does by itself.
#[derive(Clone, Copy, Debug)]
enum Act {
    Frame,
    Fail(Reason),
    Wrong,
    End(bool),
    DecodeErrors,
    Busy,
}

/// A pipeline that is made up.
struct Pipeline {
    report: ReportRun,
    orders: Receiver<Order>,
    frames: Arc<AtomicU64>,
    /// Until it is down.
    alive: Option<Arc<()>>,
    /// What it does next, and when.
    acts: BTreeMap<Duration, Act>,
    must_stop: bool,
    is_abandoned: bool,
    down_at: Option<Duration>,
}

impl Pipeline {
    fn is_current(&self) -> bool {
        self.alive.is_some() && !self.is_abandoned
    }

    fn next(&self) -> Option<Duration> {
        self.alive.as_ref()?;
        self.acts.keys().next().copied().into_iter().chain(self.down_at).min()
    }
}

/// All pipelines of a stream.
struct Pipelines {
    all: Vec<Pipeline>,
    random: fastrand::Rng,
    now: Duration,
    /// From now on, sources play and pipelines stop.
    is_well: bool,
}

fn seconds(random: &mut fastrand::Rng, most: f64) -> Duration {
    Duration::from_secs_f64(random.f64() * most)
}

impl Pipelines {
    /// Frames from `first` on, one a second, and then something else.
    fn frames(acts: &mut BTreeMap<Duration, Act>, first: Duration, count: u32, then: Option<Act>) {
        acts.extend((0..count).map(|number| (first + number * Duration::from_secs(1), Act::Frame)));
        acts.extend(then.map(|act| (first + count * Duration::from_secs(1), act)));
    }

    fn start(&mut self, number: u64, shared: &Shared, report: ReportRun) -> Run {
        let (orders, receiver) = channel();
        let (random, now) = (&mut self.random, self.now);
        let mut acts = BTreeMap::new();
        let first = now + seconds(random, 3.0);
        if self.is_well {
            Self::frames(&mut acts, first, 600, None);
        } else {
            let lasts = random.u32(..90);
            match random.u8(..10) {
                0 | 1 => acts.extend([(now + seconds(random, 12.0), Act::Fail(Reason::Connection))]),
                2 if random.u8(..4) == 0 => acts.extend([(first, Act::Wrong)]),
                2 | 3 => (),
                4 => Self::frames(&mut acts, first, lasts, Some(Act::Fail(Reason::Gpu))),
                5 => Self::frames(&mut acts, first, lasts, Some(Act::Fail(Reason::Error))),
                6 => Self::frames(&mut acts, first, lasts, Some(Act::End(random.bool()))),
                7 => Self::frames(&mut acts, first, lasts, Some(Act::DecodeErrors)),
                8 => {
                    acts.extend((1..8).map(|number| (now + number * Duration::from_secs(6), Act::Busy)));
                    Self::frames(&mut acts, now + Duration::from_secs(45), lasts, None);
                }
                _ => Self::frames(&mut acts, first, lasts, None),
            }
        }
        let (frames, alive) = (Arc::<AtomicU64>::default(), Arc::new(()));
        let run = Run {
            number,
            frames: Arc::clone(&frames),
            source: shared.current.spec().source.clone(),
            orders,
            alive: Arc::downgrade(&alive),
        };
        self.all.push(Pipeline {
            report,
            orders: receiver,
            frames,
            alive: Some(alive),
            acts,
            must_stop: false,
            is_abandoned: false,
            down_at: None,
        });
        run
    }

    /// Takes the orders that have come.
    fn obey(&mut self) {
        let (random, now) = (&mut self.random, self.now);
        for pipeline in self.all.iter_mut().filter(|pipeline| pipeline.alive.is_some()) {
            loop {
                match pipeline.orders.try_recv() {
                    Ok(Order::Stop) => pipeline.must_stop = true,
                    Ok(Order::Drain) if self.is_well || random.u8(..4) > 0 => {
                        pipeline.acts.retain(|at, _| *at <= now);
                        pipeline.acts.insert(now + seconds(random, 5.0), Act::End(true));
                    }
                    Ok(_) => (),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        pipeline.is_abandoned = true;
                        break;
                    }
                }
            }
            if (pipeline.must_stop || pipeline.is_abandoned) && pipeline.down_at.is_none() {
                let hangs = !self.is_well && random.u8(..6) == 0;
                let takes = if hangs { 200.0 } else { 1.0 };
                pipeline.down_at = Some(now + seconds(random, takes));
            }
        }
    }

    /// From now on all is well: what runs fails at once, and what hangs stops.
    fn mend(&mut self) {
        self.is_well = true;
        let soon = self.now + Duration::from_millis(500);
        for pipeline in self.all.iter_mut().filter(|pipeline| pipeline.alive.is_some()) {
            pipeline.acts = BTreeMap::from([(soon, Act::Fail(Reason::Connection))]);
            pipeline.down_at = pipeline.down_at.map(|at| at.min(soon));
        }
    }

    /// Does what is due, and returns whether there was anything.
    fn act(&mut self, shared: &Shared) -> bool {
        let now = self.now;
        let Some(pipeline) = self.all.iter_mut().find(|pipeline| pipeline.next().is_some_and(|at| at <= now))
        else {
            return false;
        };
        if pipeline.down_at.is_some_and(|at| at <= now) {
            pipeline.alive = None;
            (pipeline.report)(RunReport::Down);
            return true;
        }
        let Some((_, act)) = pipeline.acts.pop_first() else { return false };
        let failed = |reason, permanent| Failure { reason, permanent, text: format!("{reason:?}") };
        match act {
            Act::Frame => {
                pipeline.frames.fetch_add(1, Ordering::Relaxed);
                shared.frames.fetch_add(1, Ordering::Relaxed);
            }
            Act::Fail(reason) => (pipeline.report)(RunReport::Failed(failed(reason, false))),
            Act::Wrong => (pipeline.report)(RunReport::Failed(failed(Reason::Error, true))),
            Act::End(may_end) => (pipeline.report)(RunReport::End(may_end)),
            Act::DecodeErrors => {
                (0..60).for_each(|_| (pipeline.report)(RunReport::DecodeError("cannot be read".to_owned())));
            }
            Act::Busy => (pipeline.report)(RunReport::Busy),
        }
        true
    }

    fn next(&self) -> Option<Duration> {
        self.all.iter().filter_map(Pipeline::next).min()
    }

    fn left_behind(&self) -> usize {
        self.all.iter().filter(|pipeline| pipeline.alive.is_some() && pipeline.is_abandoned).count()
    }
}

/// A stream and what is around it.
struct Story {
    thread: Thread,
    shared: Arc<Shared>,
    events: Receiver<StreamEvent>,
    sender: Sender<StreamEvent>,
    pipelines: Arc<Mutex<Pipelines>>,
    began: Instant,
    longest: f64,
    idle_turns: u32,
    goes_on: bool,
    most_left_behind: usize,
}

fn limits(random: &mut fastrand::Rng) -> Restart {
    let first = 0.1 + random.f64() * 5.0;
    Restart {
        stall: 2.0 + random.f64() * 15.0,
        first,
        longest: first + random.f64() * 60.0,
        jitter: random.f64() * 0.9,
        steady: random.f64() * 40.0,
        decode_errors: 50,
    }
}

impl Story {
    fn begin(random: &mut fastrand::Rng) -> Self {
        let mut spec = SPEC.clone();
        spec.restart = limits(random);
        spec.source.loops = random.u8(..4) == 0;
        let (longest, spec) = (spec.restart.longest, Arc::new(spec));
        let shared = Arc::new(Shared::new(Arc::clone(&spec)));
        let pipelines =
            Pipelines { all: Vec::new(), random: random.fork(), now: Duration::ZERO, is_well: false };
        let pipelines = Arc::new(Mutex::new(pipelines));
        let own = Arc::clone(&pipelines);
        let runs =
            Runs(Arc::new(move |_, number, shared, _, report| lock(&own).start(number, &shared, report)));
        let try_again: TryAgain = Arc::new(|_| None);
        let (sender, events) = channel();
        let began = Instant::now();
        let mut thread = Thread::new(
            Arc::clone(&spec),
            Arc::clone(&shared),
            sender.clone(),
            output::SharedOutputs::default(),
            Box::new(|_| ()),
            (try_again, runs),
            began,
        );
        // The outputs write files of their own.
        thread.wanted = Some(output::Wanted::of(&spec.source, &spec.description.text));
        let goes_on = thread.begin();
        Self {
            thread,
            shared,
            events,
            sender,
            pipelines,
            began,
            longest,
            idle_turns: 0,
            goes_on,
            most_left_behind: 0,
        }
    }

    fn now(&self) -> Duration {
        lock(&self.pipelines).now
    }

    fn status(&self) -> SupervisorStatus {
        lock(&self.shared.supervisor).clone()
    }

    fn step(&mut self, event: Option<StreamEvent>) {
        let now = self.began + self.now();
        self.goes_on = self.thread.step(now, event);
        lock(&self.pipelines).obey();
    }

    /// Lets everything happen until `end`, or until the stream is over.
    fn run(&mut self, end: Duration) {
        while self.goes_on {
            if let Ok(event) = self.events.try_recv() {
                self.step(Some(event));
                continue;
            }
            self.check();
            let now = self.now();
            if lock(&self.pipelines).act(&self.shared) {
                continue;
            }
            if now >= end {
                return;
            }
            let wait = self.thread.wait(self.began + now);
            let deadline = now + wait;
            let next = lock(&self.pipelines).next().unwrap_or(end).min(end);
            if next < deadline {
                lock(&self.pipelines).now = next;
                self.idle_turns = 0;
                continue;
            }
            self.idle_turns = if wait.is_zero() { self.idle_turns + 1 } else { 0 };
            assert!(
                self.idle_turns <= MOST_IDLE_TURNS,
                "the thread keeps a core busy: {:?}",
                self.thread.supervisor
            );
            lock(&self.pipelines).now = deadline;
            self.step(None);
        }
    }

    /// What holds whenever all events are handled.
    fn check(&mut self) {
        let status = self.status();
        let pipelines = lock(&self.pipelines);
        let now = pipelines.now;
        let current: Vec<&Pipeline> = pipelines.all.iter().filter(|pipeline| pipeline.is_current()).collect();
        let what = || format!("{now:?}: {status:?}");
        assert!(current.len() <= 1, "{} pipelines at once, {}", current.len(), what());
        let left_behind = pipelines.left_behind();
        assert!(left_behind <= MOST_LEFT_BEHIND, "{left_behind} were given up, {}", what());
        assert_eq!(usize::try_from(status.left_behind).unwrap(), left_behind, "given up, {}", what());
        self.most_left_behind = self.most_left_behind.max(left_behind);
        let runs = current.first().is_some_and(|pipeline| !pipeline.must_stop);
        match status.state {
            State::Starting => assert!(runs, "nothing starts, {}", what()),
            State::Playing => {
                let frames = current.first().map_or(0, |pipeline| pipeline.frames.load(Ordering::Relaxed));
                assert!(runs && frames > 0, "nothing plays, {}", what());
            }
            State::Waiting | State::Stalled => {
                assert!(!runs && status.start_at.is_some(), "nothing is waited for, {}", what());
            }
            State::Ended | State::Failed => {
                assert!(!runs && status.start_at.is_none(), "it is not over, {}", what());
            }
            State::Stopping => assert!(status.start_at.is_none(), "it starts again, {}", what()),
        }
        if let Some(at) = status.start_at {
            let wait = at.saturating_duration_since(self.began + now).as_secs_f64();
            assert!(wait <= self.longest + 1e-6, "waits {wait} s of {}, {}", self.longest, what());
            // What is due happens in the next turn.
            let is_due = self.thread.wait(self.began + now).is_zero();
            assert!(
                !current.is_empty() || at >= self.began + now || is_due,
                "it should have been started, {}",
                what()
            );
        }
        let starts = u64::try_from(pipelines.all.len()).unwrap();
        let restarts: u64 = status.restarts.values().sum();
        assert!(restarts + 1 >= starts, "{starts} starts, {}", what());
        assert_eq!(self.shared.status().frames, self.shared.frames.load(Ordering::Relaxed));
    }

    /// A client does something.
    fn request(&mut self, random: &mut fastrand::Rng) {
        let event = match random.u8(..4) {
            0 | 1 => StreamEvent::Input(Input::Restart(Reason::Request)),
            _ => {
                let mut spec = (*self.shared.current.spec()).clone();
                spec.restart = limits(random);
                self.longest = self.longest.max(spec.restart.longest);
                self.shared.current.change(spec);
                StreamEvent::Changed(*random.choice(&[Effect::Restart, Effect::Live, Effect::Later]).unwrap())
            }
        };
        self.sender.send(event).unwrap();
    }
}

fn story(seed: u64) -> Tally {
    log::quiet();
    let mut random = fastrand::Rng::with_seed(seed);
    fastrand::seed(seed);
    let mut story = Story::begin(&mut random);
    lock(&story.pipelines).obey();
    for _ in 0..random.u32(1..8) {
        let end = story.now() + seconds(&mut random, 120.0);
        story.run(end);
        if random.bool() {
            story.request(&mut random);
        }
    }
    let mut over = false;
    if random.u8(..4) > 0 {
        lock(&story.pipelines).mend();
        // Its wait, the pipeline that stops, and the first frame.
        let end = story.now() + Duration::from_secs_f64(story.longest + 20.0);
        story.run(end);
        let status = story.status();
        over = matches!(status.state, State::Failed | State::Ended);
        assert!(over || status.state == State::Playing, "it does not come back: {status:?}");
        let steady = story.shared.current.spec().restart.steady;
        story.run(end + Duration::from_secs_f64(steady + 2.0));
        assert!(over || story.status().attempt == 0, "{:?}", story.status());
    }
    let drain = random.bool().then(|| seconds(&mut random, 10.0));
    let limit = story.now() + drain.unwrap_or_default() + PATIENCE + BEAT;
    story.sender.send(StreamEvent::Input(Input::Stop(drain))).unwrap();
    story.run(limit);
    if story.goes_on {
        // With as many abandoned pipelines, the last one is waited for.
        let left_behind = lock(&story.pipelines).left_behind();
        assert_eq!(left_behind, MOST_LEFT_BEHIND, "it does not end: {:?}", story.status());
        story.run(limit + Duration::from_secs(300));
        assert!(!story.goes_on, "it never ends: {:?}", story.status());
    }
    let (status, time) = (story.status(), story.now());
    let starts = u64::try_from(lock(&story.pipelines).all.len()).unwrap();
    let count = |reason| status.restarts.get(&reason).copied().unwrap_or(0);
    Tally::from([
        ("starts", starts),
        ("stalls", count(Reason::Stall)),
        ("errors", count(Reason::Error) + count(Reason::Gpu) + count(Reason::Connection)),
        ("ends", count(Reason::End)),
        ("decode-errors", count(Reason::Decode)),
        ("requests", count(Reason::Request) + count(Reason::Change)),
        ("over", u64::from(over)),
        ("left-behind", u64::try_from(story.most_left_behind).unwrap()),
        ("simulated-seconds", time.as_secs()),
    ])
}

#[test]
fn a_stream_has_one_pipeline_comes_back_in_time_and_ends_and_its_state_is_true() {
    let tally = simulate("supervisor", SEEDS, story);
    if tally["starts"] > 1000 {
        let missing: Vec<_> = tally.iter().filter(|(_, count)| **count == 0).collect();
        assert!(missing.is_empty(), "the simulation has none of these: {missing:?}");
    }
}
