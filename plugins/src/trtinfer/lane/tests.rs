use std::collections::HashMap;
use std::sync::Arc;

use super::*;

#[test]
fn frames_leave_in_order_whatever_order_they_are_finished_in() {
    gst::init().unwrap();
    let lane = Arc::new(Lane::new());
    let (sender, receiver) = std::sync::mpsc::channel::<(Ticket, u64)>();
    let receiver = Arc::new(Mutex::new(receiver));
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let (lane, receiver) = (lane.clone(), receiver.clone());
            std::thread::spawn(move || {
                loop {
                    let taken = receiver.lock().unwrap().recv();
                    let Ok((ticket, n)) = taken else { break };
                    // Later frames finish earlier.
                    (n % 8..7).for_each(|_| std::thread::yield_now());
                    lane.finish(ticket, Ok(n));
                }
            })
        })
        .collect();
    let feeder = {
        let lane = lane.clone();
        std::thread::spawn(move || {
            for n in 0..200u64 {
                sender.send((lane.enter(|| 8).unwrap(), n)).unwrap();
                if n == 99 {
                    assert!(lane.push_event(gst::event::FlushStart::new()));
                }
            }
        })
    };
    let mut seen = Vec::new();
    while seen.len() < 201 {
        match lane.pop().unwrap() {
            Item::Event(_) => {
                seen.push(u64::MAX);
                lane.pushed_event();
            }
            Item::Frame(n) => {
                seen.push(n.unwrap());
                lane.pushed(Ok(FlowSuccess::Ok));
            }
        }
    }
    feeder.join().unwrap();
    assert!(lane.drain());
    lane.stop();
    workers.into_iter().for_each(|w| w.join().unwrap());
    assert_eq!(seen.remove(100), u64::MAX);
    assert_eq!(seen, (0..200).collect::<Vec<_>>());
}

#[test]
fn a_flush_drops_what_is_being_inferred_and_frees_a_full_lane() {
    let lane = Arc::new(Lane::new());
    let old = lane.enter(|| 1).unwrap();
    assert!(lane.wants(old));
    assert_eq!(lane.try_enter(1), Ok(None));
    let blocked = {
        let lane = lane.clone();
        std::thread::spawn(move || lane.enter(|| 1))
    };
    assert!(lane.flush_start().is_empty());
    assert_eq!(blocked.join().unwrap(), Err(FlowError::Flushing));
    lane.flush_stop();
    assert!(!lane.wants(old));
    let new = lane.enter(|| 1).unwrap();
    lane.finish(old, Ok(1));
    lane.finish(new, Ok(3));
    assert!(matches!(lane.pop(), Some(Item::Frame(Ok(3)))));
    lane.pushed(Err(FlowError::Eos));
    assert_eq!(lane.enter(|| 1), Err(FlowError::Eos));
}

#[test]
fn frames_that_are_given_up_leave_no_gap() {
    let lane = Lane::new();
    let tickets: HashMap<u32, Ticket> = (0..3).map(|n| (n, lane.enter(|| 3).unwrap())).collect();
    lane.give_up(tickets[&0]);
    assert!(!lane.wants(tickets[&0]));
    let last = lane.try_enter(3).unwrap().unwrap();
    assert_eq!(lane.try_enter(3), Ok(None));
    lane.finish(tickets[&0], Ok(0));
    lane.finish(tickets[&2], Ok(2));
    assert_eq!(lane.drop_oldest_done(), Some(2));
    assert_eq!(lane.drop_oldest_done(), None);
    lane.finish(tickets[&1], Ok(1));
    lane.finish(last, Ok(3));
    for n in [1, 3] {
        assert!(matches!(lane.pop(), Some(Item::Frame(Ok(m))) if m == n));
        assert_eq!([lane.take_gap(), lane.take_gap()], [true, false], "0 and 2 are missing");
        lane.pushed(Ok(FlowSuccess::Ok));
    }
    assert_eq!(lane.lock().frames, 0);
    lane.give_up(lane.enter(|| 3).unwrap());
    let empty = std::thread::scope(|scope| {
        let popping = scope.spawn(|| lane.pop().is_none());
        let drained = lane.drain();
        lane.stop();
        drained && popping.join().unwrap()
    });
    assert!(empty);
}

#[test]
fn a_flush_hands_back_the_sticky_events_that_nobody_would_send_again() {
    gst::init().unwrap();
    let lane = Lane::<u32>::new();
    lane.enter(|| 8).unwrap();
    let caps = gst::event::Caps::new(&gst::Caps::new_empty_simple("video/x-raw"));
    assert!(lane.push_event(caps.clone()));
    assert!(lane.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new())));
    assert!(lane.push_event(gst::event::Gap::new(gst::ClockTime::ZERO, None)));
    assert!(lane.push_event(gst::event::Eos::new()));
    let kept = lane.flush_start();
    assert_eq!(kept.iter().map(|e| e.seqnum()).collect::<Vec<_>>(), [caps.seqnum()]);
    assert!(lane.flush_start().is_empty());
}

/// Sends one frame through; downstream answers `flow`.
fn pass(lane: &Lane<u32>, flow: Result<FlowSuccess, FlowError>) {
    lane.finish(lane.enter(|| 8).unwrap(), Ok(1));
    assert!(lane.pop().is_some());
    lane.pushed(flow);
}

#[test]
fn a_push_that_outlasts_a_flush_leaves_no_failure() {
    let lane = Lane::new();
    lane.finish(lane.enter(|| 2).unwrap(), Ok(1));
    assert!(lane.pop().is_some());
    let _ = lane.flush_start();
    lane.flush_stop();
    lane.enter(|| 2).unwrap();
    lane.pushed(Err(FlowError::Flushing));
    assert_eq!(lane.flow(), Ok(FlowSuccess::Ok));
    lane.enter(|| 2).unwrap();
    assert_eq!(lane.lock().frames, 2);
}

#[test]
fn a_new_segment_ends_eos_and_a_new_link_ends_not_linked() {
    gst::init().unwrap();
    let lane = Lane::new();
    pass(&lane, Err(FlowError::Eos));
    assert_eq!(lane.enter(|| 2), Err(FlowError::Eos));
    lane.relinked();
    assert_eq!(lane.enter(|| 2), Err(FlowError::Eos));
    assert!(lane.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new())));
    assert!(lane.pop().is_some());
    lane.pushed_event();
    pass(&lane, Err(FlowError::NotLinked));
    assert_eq!(lane.enter(|| 2), Err(FlowError::NotLinked));
    lane.relinked();
    pass(&lane, Ok(FlowSuccess::Ok));
}

#[test]
fn frames_that_only_wait_leave_in_order_and_take_no_places() {
    let lane = Lane::new();
    let first = lane.enter(|| 1).unwrap();
    assert_eq!(lane.try_enter(1).unwrap(), None);
    for n in 1..=3 {
        assert!(lane.pass(n, || 3, false).unwrap());
    }
    assert!(!lane.pass(4, || 3, false).unwrap(), "there are three");
    assert!(lane.try_pop().is_none(), "the first frame has not come back");
    lane.finish(first, Ok(0));
    let mut seen = Vec::new();
    while let Some(Item::Frame(frame)) = lane.try_pop() {
        seen.push(frame.unwrap());
        // One that only waited frees no place when it has been pushed, and the first one does.
        let second = (seen.len() == 1).then(|| lane.try_enter(1).unwrap());
        assert_eq!(second.flatten(), None);
        lane.pushed(Ok(FlowSuccess::Ok));
        assert_eq!(lane.try_enter(1).unwrap().map(|ticket| lane.give_up(ticket)), Some(()));
    }
    assert_eq!(seen, [0, 1, 2, 3]);
    assert!(lane.pass(5, || 3, false).unwrap());
    let _ = lane.flush_start();
    assert_eq!(lane.pass(6, || 3, true), Err(FlowError::Flushing));
    lane.flush_stop();
    assert!(lane.pass(7, || 1, true).unwrap());
    assert!(matches!(lane.try_pop(), Some(Item::Frame(Ok(7)))));
}
