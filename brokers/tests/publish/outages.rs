//! Brokers that stop, die, come back and are slow: every message arrives, in order.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::brokers::{Broker, Kind, subscribe};
use crate::feeding::{Feed, WINDOW, assert_all_in_order, first_of_each, message, options, spooled, until};
use crate::relay::Relay;

const THIRD: usize = 400;

/// Feeds while the broker is held up, killed in the middle and started again, which `restart` does.
fn through_an_outage(feed: &mut Feed, broker: &mut Broker, restart: impl FnOnce(&mut Broker)) {
    feed.feed(THIRD);
    // What is spooled is fed before anything is sent: there is no outage without a connection.
    until("the first", || feed.counts.acknowledged.get() > 0);
    broker.stop();
    for _ in 0..3 {
        feed.offer(2 * THIRD);
    }
    broker.go_on();
    feed.feed(2 * THIRD);
    for _ in 0..2 {
        feed.offer(3 * THIRD);
    }
    broker.kill();
    for _ in 0..3 {
        feed.offer(3 * THIRD);
    }
    restart(broker);
    feed.feed(3 * THIRD);
    feed.settle();
    assert!(feed.counts.reconnects.get() >= 1);
    assert!(feed.counts.sent.get() >= feed.counts.acknowledged.get());
    let said = feed.said.lock().unwrap().join("\n");
    assert!(said.contains("takes no messages") && said.contains("takes messages again"), "{said}");
}

#[test]
fn every_message_reaches_redis_and_nats_in_order_though_they_stop_and_are_killed() {
    for kind in [Kind::Redis, Kind::Nats] {
        for on_disk in [false, true] {
            let mut broker = Broker::started(kind);
            broker.make_stream();
            let folder = tempfile::tempdir().unwrap();
            let location = broker.location();
            let how = if on_disk { spooled(&location, folder.path(), 1 << 20) } else { options(&location) };
            let mut feed = Feed::start(&how);
            through_an_outage(&mut feed, &mut broker, Broker::start);
            assert_all_in_order(broker.stored(), 3 * THIRD, &format!("{kind:?}, {on_disk}"));
            assert_eq!(feed.counts.spooled.get() > 0, on_disk);
        }
    }
}

#[test]
fn every_message_reaches_an_mqtt_broker_in_order_though_it_stops_and_is_killed() {
    for on_disk in [false, true] {
        let mut broker = Broker::started(Kind::Mosquitto);
        let (relay, arrived) = (Relay::start(Duration::ZERO, 1 << 16), Arc::<Mutex<Vec<String>>>::default());
        subscribe(broker.port, &arrived);
        relay.lead_to(Some(broker.port));
        let folder = tempfile::tempdir().unwrap();
        let location = broker.location_at(relay.port);
        let how = if on_disk { spooled(&location, folder.path(), 1 << 20) } else { options(&location) };
        let mut feed = Feed::start(&how);
        through_an_outage(&mut feed, &mut broker, |broker| {
            // A broker without its subscriber would acknowledge what nobody gets.
            relay.lead_to(None);
            broker.start();
            subscribe(broker.port, &arrived);
            relay.lead_to(Some(broker.port));
        });
        let ids = || arrived.lock().unwrap().clone();
        until("the last", || first_of_each(ids()).len() == 3 * THIRD);
        assert_all_in_order(ids(), 3 * THIRD, &format!("{on_disk}"));
    }
}

#[test]
fn a_subject_without_a_stream_is_published_all_the_same() {
    let broker = Broker::started(Kind::Nats);
    let mut feed = Feed::start(&options(&broker.location()));
    feed.feed(200);
    feed.settle();
    assert_eq!(feed.counts.acknowledged.get(), 200);
    assert_eq!(feed.counts.refused.get(), 0);
}

#[test]
fn a_slow_broker_is_offered_no_more_than_is_kept_for_it() {
    let broker = Broker::started(Kind::Redis);
    let relay = Relay::start(Duration::from_millis(2), 4096);
    relay.lead_to(Some(broker.port));
    let mut feed = Feed::start(&options(&broker.location_at(relay.port)));
    while feed.accepted() < 500 {
        feed.offer(500);
        assert!(feed.counts.waiting.get() <= 2 * WINDOW as u64, "those that wait and those that are sent");
    }
    feed.settle();
    assert_all_in_order(broker.stored(), 500, "slow");
}

#[test]
fn a_broker_that_comes_later_gets_everything() {
    let mut broker = Broker::new(Kind::Redis, Default::default());
    let folder = tempfile::tempdir().unwrap();
    let mut feed = Feed::start(&spooled(&broker.location(), folder.path(), 1 << 20));
    feed.feed(300);
    until("the outage is reported", || !feed.said.lock().unwrap().is_empty());
    assert_eq!((feed.counts.waiting.get(), feed.counts.acknowledged.get()), (300, 0));
    broker.start();
    feed.settle();
    assert_all_in_order(broker.stored(), 300, "late");
}

#[test]
fn a_redis_stream_keeps_no_more_than_maxlen() {
    let broker = Broker::started(Kind::Redis);
    let mut feed = Feed::start(&options(&format!("{}?maxlen=100", broker.location())));
    feed.feed(1000);
    feed.settle();
    let stored = first_of_each(broker.stored());
    // About: whole nodes of the stream are removed.
    assert!(stored.len() < 400 && stored.last() == Some(&999), "{} entries", stored.len());
}

#[test]
fn a_message_under_a_topic_that_is_forbidden_is_counted_and_the_others_come() {
    let broker = Broker::started(Kind::Mosquitto);
    let mut feed = Feed::start(&options(&broker.location()));
    let mut messages: Vec<_> = (0..4).map(message).collect();
    messages[0].topic = "cams/#".into();
    messages[2].topic = "cams/+/frame".into();
    messages.into_iter().for_each(|message| feed.push(message));
    feed.settle();
    assert_eq!((feed.counts.refused.get(), feed.counts.acknowledged.get()), (2, 2));
    assert!(feed.said.lock().unwrap().join("\n").contains("wildcard"));
}
