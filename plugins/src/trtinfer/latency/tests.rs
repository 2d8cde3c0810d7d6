use gst::subclass::prelude::*;

use super::*;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A clock of the test's own.
fn clock() -> impl Fn(u64) -> Instant {
    let start = Instant::now();
    move |at| start + ms(at)
}

/// An element in PLAYING, since 0 ms.
fn playing(at: &impl Fn(u64) -> Instant) -> Delays {
    let delays = Delays::default();
    delays.reset(at(0));
    delays.pause(false, at(0));
    delays
}

/// How long the slowest frame took of those that are measured, however few.
fn slowest(delays: &Delays) -> Duration {
    std::mem::take(&mut lock(&delays.0).slowest)
}

#[test]
fn a_frame_takes_from_its_arrival_to_the_end_of_its_run() {
    let at = clock();
    let delays = playing(&at);
    // The frame waits until the model has room, in the queue, and for its run. What is pushed meanwhile belongs to others.
    let entry = delays.enter(delays.arrive(at(10)), at(40));
    delays.push(true, at(50));
    delays.finish(entry, at(90));
    assert_eq!(slowest(&delays), ms(80));
}

#[test]
fn waiting_for_downstream_is_no_delay_of_the_element() {
    let at = clock();
    let delays = playing(&at);
    // The frame arrives while another is being pushed, and waits for that, for the model, and for the next push.
    delays.push(true, at(0));
    let arrival = delays.arrive(at(10));
    delays.push(false, at(500));
    delays.push(true, at(530));
    delays.push(false, at(700));
    let entry = delays.enter(arrival, at(705));
    delays.finish(entry, at(715));
    assert_eq!(slowest(&delays), ms(30 + 5 + 10));
}

#[test]
fn time_in_paused_does_not_count_wherever_the_frame_is() {
    let at = clock();
    let delays = playing(&at);
    // One waits to come in, another in the queue; a third came while paused.
    let (waits, inside) = (delays.arrive(at(10)), delays.enter(delays.arrive(at(5)), at(10)));
    delays.pause(true, at(20));
    let came = delays.enter(delays.arrive(at(3000)), at(3000));
    // A sink that is paused blocks the push.
    delays.push(true, at(4000));
    delays.pause(false, at(9000));
    delays.push(false, at(9004));
    delays.finish(delays.enter(waits, at(9010)), at(9011));
    assert_eq!(slowest(&delays), ms(10 + 6 + 1));
    delays.finish(inside, at(9011));
    assert_eq!(slowest(&delays), ms(5 + 10 + 11));
    delays.finish(came, at(9011));
    assert_eq!(slowest(&delays), ms(11));
    // In PAUSED all the time.
    delays.pause(true, at(10_000));
    delays.finish(delays.enter(delays.arrive(at(11_000)), at(12_000)), at(15_000));
    assert_eq!(slowest(&delays), ms(0));
}

#[test]
fn an_element_begins_in_paused() {
    let at = clock();
    let delays = Delays::default();
    delays.reset(at(0));
    let waits = delays.arrive(at(0));
    delays.pause(false, at(700));
    delays.finish(delays.enter(waits, at(702)), at(703));
    assert_eq!(slowest(&delays), ms(3));
}

#[test]
fn the_slowest_frame_is_that_of_whole_windows() {
    let at = clock();
    let delays = playing(&at);
    let window = |slow: u64| {
        for n in 1..=WINDOW {
            assert_eq!(delays.take_window(), None);
            delays.finish(delays.enter(delays.arrive(at(0)), at(0)), at(slow * n / WINDOW));
        }
    };
    window(64);
    assert_eq!((delays.take_window(), delays.take_window()), (Some(ms(64)), None));
    window(3);
    assert_eq!(delays.take_window(), Some(ms(3)));
    // Windows that are not asked for in time are not forgotten.
    (0..2 * WINDOW).for_each(|n| delays.finish(delays.enter(delays.arrive(at(0)), at(0)), at(200 - n)));
    assert_eq!(delays.take_window(), Some(ms(200)));
}

/// Milliseconds.
fn times(own: u64, room: u64) -> (gst::ClockTime, gst::ClockTime) {
    (gst::ClockTime::from_mseconds(own), gst::ClockTime::from_mseconds(room))
}

/// What is announced.
fn own(latency: &Latency) -> u64 {
    latency.announced().0.mseconds()
}

#[test]
fn what_is_announced_is_what_is_known_and_more_while_frames_take_longer() {
    let mut latency = Latency::default();
    assert_eq!(latency.know(ms(40), gst::ClockTime::from_mseconds(100)), Change::Model);
    assert_eq!(latency.announced(), times(40, 100));
    // Faster than announced: the frames may become slower again.
    assert!((0..20).all(|_| !latency.measure(ms(10))));
    assert_eq!(own(&latency), 40);
    // With a margin of a quarter, so that a little more changes nothing.
    assert!(latency.measure(ms(80)));
    assert_eq!(latency.announced(), times(100, 100));
    assert!([81, 95, 100].iter().all(|slow| !latency.measure(ms(*slow))));
    assert!(latency.measure(ms(160)));
    assert_eq!(latency.announced(), times(200, 200));
    // Less only when several windows were faster.
    assert_eq!([20, 20, 20, 20].map(|slow| latency.measure(ms(slow))), [false, false, false, true]);
    assert_eq!(own(&latency), 40);
}

#[test]
fn a_latency_that_goes_up_and_down_a_little_is_announced_once() {
    let mut latency = Latency::default();
    latency.know(ms(10), gst::ClockTime::ZERO);
    let changes = (0..400).filter(|n| latency.measure(ms([100, 90, 120, 80, 110][n % 5]))).count();
    assert_eq!((changes, own(&latency)), (1, 125));
    // A change that nobody would notice is not announced either.
    let mut latency = Latency::default();
    latency.know(Duration::from_micros(100), gst::ClockTime::ZERO);
    let changes = (0..400u64)
        .filter(|n| latency.measure(Duration::from_micros([150, 700, 300, 120][(n / 8 % 4) as usize])))
        .count();
    assert_eq!(changes, 1);
}

#[test]
fn another_model_is_measured_anew_and_the_same_with_other_caps_is_not() {
    let mut latency = Latency::default();
    let room = gst::ClockTime::from_mseconds;
    latency.know(ms(10), room(20));
    latency.measure(ms(80));
    assert_eq!(latency.know(ms(10), room(20)), Change::Nothing);
    assert_eq!(latency.know(ms(10), room(300)), Change::Room);
    assert_eq!(latency.announced(), times(100, 300));
    assert_eq!(latency.know(ms(30), room(300)), Change::Model);
    assert_eq!(latency.announced(), times(30, 300));
}

#[test]
fn an_element_posts_a_message_for_each_change_and_answers_with_what_it_announced() {
    gst::init().unwrap();
    let element = gst::glib::Object::new::<super::super::TrtInfer>();
    let pipeline = gst::Pipeline::new();
    pipeline.add(&element).unwrap();
    let bus = pipeline.bus().unwrap();
    let source = gst::Pad::builder(gst::PadDirection::Src)
        .query_function(|_, _, query| {
            let gst::QueryViewMut::Latency(latency) = query.view_mut() else { return false };
            latency.set(true, gst::ClockTime::from_mseconds(5), gst::ClockTime::NONE);
            true
        })
        .build();
    source.set_active(true).unwrap();
    source.link_full(&element.static_pad("sink").unwrap(), gst::PadLinkCheck::empty()).unwrap();
    let this = element.imp();
    let at = clock();
    this.tally.delays.pause(false, at(0));
    this.flow.set_latency(ms(40));
    let answer = || {
        let mut query = gst::query::Latency::new();
        assert!(element.static_pad("src").unwrap().query(&mut query));
        query.result().1.mseconds()
    };
    let windows = |count, slow| {
        for _ in 0..count * WINDOW {
            this.tally
                .delays
                .finish(this.tally.delays.enter(this.tally.delays.arrive(at(0)), at(0)), at(slow));
            this.announce_latency();
        }
        let messages = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Latency]));
        messages.filter(|message| message.src() == Some(element.upcast_ref())).count()
    };
    // No latency is announced for a stream that is not live.
    assert_eq!(windows(2, 80), 0);
    assert_eq!(answer(), 45);
    assert_eq!([windows(3, 80), windows(3, 90), windows(8, 1)], [1, 0, 1]);
    assert_eq!(answer(), 45);
    assert_eq!((windows(1, 1000), answer()), (1, 1255));
}

#[test]
fn the_room_is_what_the_frames_in_flight_last_and_nothing_without_a_rate() {
    gst::init().unwrap();
    let of = |rate: (i32, i32), frames| {
        let caps = gst::Caps::builder("video/x-raw").field("framerate", gst::Fraction::new(rate.0, rate.1));
        duration(&caps.build(), frames)
    };
    assert_eq!(of((30, 1), 6), gst::ClockTime::from_mseconds(200));
    assert_eq!(of((30_000, 1001), 3), gst::ClockTime::from_nseconds(100_100_000));
    assert_eq!(of((0, 1), 6), gst::ClockTime::ZERO);
    assert_eq!(of((1, i32::MAX), 1024), gst::ClockTime::ZERO);
    assert_eq!(duration(&gst::Caps::new_empty_simple("video/x-raw"), 6), gst::ClockTime::ZERO);
}
