//! The network between a delivery and its broker goes down without a word, and comes back.

use std::sync::{Arc, Mutex};

use crate::brokers::{ALL, Broker, Kind, subscribe};
use crate::feeding::{Feed, assert_all_in_order, first_of_each, options, spooled, until};
use crate::namespaces::{Own, run_in_own, set_network};

const HALF: usize = 300;

#[test]
fn every_message_arrives_in_order_though_the_network_is_parted() {
    run_in_own(Own::Network, "partitions::in_a_network_of_its_own");
}

#[test]
#[ignore = "another test starts it"]
fn in_a_network_of_its_own() {
    set_network(true);
    let folders = tempfile::tempdir().unwrap();
    let mut rigs = Vec::new();
    for kind in ALL {
        for on_disk in [false, true] {
            let broker = Broker::started(kind);
            broker.make_stream();
            let own = Arc::<Mutex<Vec<String>>>::default();
            if kind == Kind::Mosquitto {
                subscribe(broker.port, &own);
            }
            let folder = folders.path().join(format!("{kind:?}"));
            let location = broker.location();
            let how = if on_disk { spooled(&location, &folder, 1 << 20) } else { options(&location) };
            let mut feed = Feed::start(&how);
            feed.feed(HALF);
            until("the first", || feed.counts.acknowledged.get() > 0);
            rigs.push((kind, on_disk, broker, feed, own));
        }
    }
    set_network(false);
    for (_, _, _, feed, _) in &mut rigs {
        for _ in 0..3 {
            feed.offer(2 * HALF);
        }
    }
    // Until each has given up its connection, of which the network says nothing.
    for (kind, on_disk, _, feed, _) in &rigs {
        until(&format!("{kind:?}, {on_disk}: the outage is reported"), || feed.has_said("takes no messages"));
    }
    set_network(true);
    for (kind, on_disk, broker, feed, own) in &mut rigs {
        feed.feed(2 * HALF);
        feed.settle();
        let which = format!("{kind:?}, {on_disk}");
        if *kind == Kind::Mosquitto {
            // The subscriber's connection waits for as long as its system tries to send again.
            until(&which, || first_of_each(own.lock().unwrap().clone()).len() == 2 * HALF);
            assert_all_in_order(own.lock().unwrap().clone(), 2 * HALF, &which);
        } else {
            assert_all_in_order(broker.stored(), 2 * HALF, &which);
        }
    }
}
