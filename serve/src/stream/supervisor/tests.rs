use super::*;

const HALF: f64 = 0.5;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A stream that has begun at 0 and whose first frame came at 1.
fn playing() -> Supervisor {
    let mut stream = Supervisor::new(Restart::default(), false);
    assert_eq!(stream.handle(at(0), Input::Begin, HALF), [Action::Start]);
    assert_eq!(stream.state(), State::Starting);
    assert_eq!(stream.handle(at(1), Input::Tick(1), HALF), []);
    assert_eq!(stream.state(), State::Playing);
    stream
}

fn failed(reason: Reason) -> Input {
    Input::Failed(reason, "lost".into())
}

#[test]
fn a_stalled_stream_is_stopped_and_started_again_after_the_wait() {
    let mut stream = playing();
    assert_eq!(stream.handle(at(10), Input::Tick(1), HALF), []);
    assert_eq!(stream.handle(at(11), Input::Tick(1), HALF), [Action::Stop]);
    assert_eq!((stream.state(), stream.reason()), (State::Stalled, Some(Reason::Stall)));
    assert_eq!(stream.handle(at(12), Input::Tick(1), HALF), [], "not while it is still being stopped");
    assert_eq!(stream.handle(at(13), Input::Down, HALF), []);
    assert_eq!(stream.state(), State::Waiting);
    assert_eq!(stream.handle(at(13), Input::Tick(0), HALF), [Action::Start]);
    assert_eq!(stream.restarts()[&Reason::Stall], 1);
}

#[test]
fn work_on_a_model_is_no_stall() {
    let mut stream = Supervisor::new(Restart { stall: 2.0, ..Restart::default() }, false);
    stream.handle(at(0), Input::Begin, HALF);
    for second in 1..100 {
        assert_eq!(stream.handle(at(second), Input::Busy, HALF), []);
        assert_eq!(stream.handle(at(second), Input::Tick(0), HALF), []);
    }
    assert_eq!(
        stream.handle(at(108), Input::Tick(0), HALF),
        [],
        "a first frame may take longer than a later one"
    );
    assert_eq!(stream.handle(at(109), Input::Tick(0), HALF), [Action::Stop]);
}

#[test]
fn waits_grow_until_frames_have_come_for_long_enough() {
    let mut stream = playing();
    let mut now = at(2);
    let mut fail = |stream: &mut Supervisor, expected: u64| {
        assert_eq!(stream.handle(now, failed(Reason::Connection), HALF), [Action::Stop]);
        assert_eq!(stream.handle(now, failed(Reason::Error), HALF), [], "the first error is the cause");
        stream.handle(now, Input::Down, HALF);
        assert_eq!(stream.start_at(), Some(now + at(expected)));
        now += at(expected);
        assert_eq!(stream.handle(now, Input::Tick(0), HALF), [Action::Start]);
        now += at(1);
        stream.handle(now, Input::Tick(1), HALF);
        now
    };
    fail(&mut stream, 1);
    fail(&mut stream, 2);
    let last = fail(&mut stream, 4);
    assert_eq!(stream.attempt(), 3);
    for second in 1..=30 {
        stream.handle(last + at(second), Input::Tick(1 + second), HALF);
    }
    assert_eq!((stream.attempt(), stream.is_steady(last + at(30))), (0, true));
}

#[test]
fn an_error_of_a_pipeline_that_is_stopped_counts_for_nothing() {
    let mut stream = playing();
    stream.handle(at(2), failed(Reason::Error), HALF);
    stream.handle(at(2), Input::Down, HALF);
    assert_eq!(stream.handle(at(2), failed(Reason::Error), HALF), []);
    assert_eq!(stream.restarts()[&Reason::Error], 1);
}

#[test]
fn decode_errors_count_for_a_minute() {
    let mut stream = playing();
    stream.configure(Restart { decode_errors: 3, ..Restart::default() }, false);
    for second in [10, 20, 75] {
        assert_eq!(stream.handle(at(second), Input::DecodeError, HALF), []);
    }
    assert_eq!(stream.handle(at(76), Input::DecodeError, HALF), [Action::Stop]);
    assert_eq!(stream.reason(), Some(Reason::Decode));
}

#[test]
fn a_file_ends_a_loop_begins_again_and_a_camera_comes_back() {
    let mut file = playing();
    assert_eq!(file.handle(at(5), Input::End(true), HALF), [Action::Stop]);
    assert_eq!(file.handle(at(5), Input::Down, HALF), []);
    assert_eq!((file.state(), file.start_at()), (State::Ended, None));
    assert_eq!(file.handle(at(500), Input::Tick(9), HALF), []);
    let mut looping = playing();
    looping.configure(Restart::default(), true);
    assert_eq!(looping.handle(at(5), Input::End(true), HALF), [Action::Rewind]);
    assert_eq!(looping.state(), State::Playing);
    let mut camera = playing();
    assert_eq!(camera.handle(at(5), Input::End(false), HALF), [Action::Stop]);
    assert_eq!((camera.state(), camera.reason()), (State::Waiting, Some(Reason::End)));
}

#[test]
fn a_wrong_configuration_is_not_tried_again_but_by_request() {
    let mut stream = playing();
    assert_eq!(stream.handle(at(5), Input::Wrong("no model".into()), HALF), [Action::Stop]);
    stream.handle(at(5), Input::Down, HALF);
    assert_eq!(stream.handle(at(500), Input::Tick(0), HALF), []);
    assert_eq!((stream.state(), stream.error()), (State::Failed, Some("no model")));
    assert_eq!(stream.handle(at(501), Input::Restart(Reason::Request), HALF), []);
    assert_eq!(stream.handle(at(501), Input::Tick(0), HALF), [Action::Start]);
}

#[test]
fn a_pipeline_that_does_not_stop_is_abandoned_up_to_a_number() {
    let mut stream = playing();
    let mut now = at(2);
    for number in 1..=3 {
        assert_eq!(stream.handle(now, failed(Reason::Error), HALF), [Action::Stop]);
        assert_eq!(stream.handle(now + at(9), Input::Tick(1), HALF), []);
        assert_eq!(stream.handle(now + at(10), Input::Tick(1), HALF), [Action::LeaveBehind]);
        assert_eq!(stream.left_behind(), number);
        now += at(100);
        assert_eq!(stream.handle(now, Input::Tick(0), HALF), [Action::Start]);
    }
    assert_eq!(stream.handle(now, failed(Reason::Error), HALF), [Action::Stop]);
    assert_eq!(stream.handle(now + at(1000), Input::Tick(0), HALF), [], "a fourth would be too many");
    stream.handle(now + at(1000), Input::LateDown, HALF);
    assert_eq!(stream.handle(now + at(1001), Input::Tick(0), HALF), [Action::LeaveBehind]);
}

#[test]
fn a_stream_drains_before_it_finishes_and_not_for_ever() {
    let mut stream = playing();
    assert_eq!(stream.handle(at(5), Input::Stop(Some(at(3))), HALF), [Action::Drain]);
    assert_eq!(stream.state(), State::Stopping);
    assert_eq!(stream.handle(at(6), Input::End(true), HALF), [Action::Stop]);
    assert_eq!(stream.handle(at(6), Input::Down, HALF), [Action::Finish]);
    let mut stream = playing();
    stream.handle(at(5), Input::Stop(Some(at(3))), HALF);
    assert_eq!(stream.handle(at(7), Input::Restart(Reason::Gpu), HALF), [], "it is over");
    assert_eq!(stream.handle(at(8), Input::Tick(9), HALF), [Action::Stop]);
    assert_eq!(stream.handle(at(18), Input::Tick(9), HALF), [Action::LeaveBehind, Action::Finish]);
}

#[test]
fn a_stream_without_frames_or_pipeline_does_not_drain() {
    let mut starting = Supervisor::new(Restart::default(), false);
    starting.handle(at(0), Input::Begin, HALF);
    assert_eq!(starting.handle(at(1), Input::Stop(Some(at(3))), HALF), [Action::Stop]);
    let mut waiting = playing();
    waiting.handle(at(2), failed(Reason::Error), HALF);
    waiting.handle(at(2), Input::Down, HALF);
    assert_eq!(waiting.handle(at(2), Input::Stop(Some(at(3))), HALF), [Action::Finish]);
}

#[test]
fn a_stop_while_the_pipeline_is_being_stopped_waits_for_that() {
    let mut stream = playing();
    stream.handle(at(2), failed(Reason::Error), HALF);
    assert_eq!(stream.handle(at(3), Input::Stop(Some(at(3))), HALF), []);
    assert_eq!(stream.handle(at(4), Input::Down, HALF), [Action::Finish]);
}

#[test]
fn what_is_held_is_not_started_but_by_request() {
    let mut stream = Supervisor::new(Restart::default(), false);
    assert_eq!(stream.handle(at(0), Input::Hold("not allowed".into()), HALF), []);
    assert_eq!((stream.state(), stream.error()), (State::Failed, Some("not allowed")));
    assert_eq!(stream.handle(at(100), Input::Tick(0), HALF), []);
    assert_eq!(stream.handle(at(101), Input::Restart(Reason::Change), HALF), []);
    assert_eq!(stream.handle(at(101), Input::Tick(0), HALF), [Action::Start]);
    // A stream that plays is stopped by this change.
    assert_eq!(stream.handle(at(102), Input::Hold("not allowed".into()), HALF), [Action::Stop]);
    assert_eq!(stream.handle(at(103), Input::Down, HALF), []);
    assert_eq!(stream.handle(at(200), Input::Tick(0), HALF), []);
    assert_eq!(stream.handle(at(201), Input::Stop(None), HALF), [Action::Finish]);
}

#[test]
fn nothing_wakes_the_thread_for_what_waits_until_a_pipeline_has_stopped() {
    let mut stream = playing();
    for left_behind in 0..MOST_LEFT_BEHIND {
        let now = at(100 + 100 * u64::from(left_behind));
        stream.handle(now, Input::Restart(Reason::Request), HALF);
        assert_eq!(stream.start_at(), Some(now));
        assert_eq!(stream.deadline(), Some(now + PATIENCE), "the start waits for the pipeline");
        stream.handle(now + PATIENCE, Input::Tick(0), HALF);
        assert_eq!(stream.left_behind(), left_behind + 1);
        assert_eq!(stream.deadline(), Some(now), "there is no pipeline any more");
        assert_eq!(stream.handle(now + PATIENCE, Input::Tick(0), HALF), [Action::Start]);
    }
    stream.handle(at(900), Input::Restart(Reason::Request), HALF);
    stream.handle(at(900) + PATIENCE, Input::Tick(0), HALF);
    assert_eq!(stream.deadline(), None, "no other pipeline may be abandoned");
    stream.handle(at(950), Input::LateDown, HALF);
    assert_eq!(stream.deadline(), Some(at(900) + PATIENCE));
}
