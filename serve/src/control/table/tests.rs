use proptest::prelude::*;

use super::*;

fn peer(address: &str) -> Peer {
    Peer::from(address.parse::<IpAddr>().unwrap())
}

fn entries(descriptors: u64) -> Entries {
    Entries { limits: Limits::of(descriptors), turn: 0, all: HashMap::new() }
}

fn admit(entries: &mut Entries, peer: Peer) -> u64 {
    entries.make_room(peer);
    entries.add(peer)
}

#[test]
fn the_limits_follow_how_many_descriptors_there_may_be() {
    for (descriptors, expected) in
        [(0, [16, 4, 2]), (1024, [256, 64, 32]), (65_536, [512, 128, 64]), (u64::MAX, [512, 128, 64])]
    {
        let limits = Limits::of(descriptors);
        assert_eq!(
            [limits.connections, limits.connections_of_a_peer(), limits.requests_of_a_peer()],
            expected,
            "{descriptors}"
        );
    }
}

#[test]
fn all_addresses_that_one_machine_may_have_are_one_peer() {
    for (one, other, same) in [
        ("127.0.0.1", "127.9.9.9", true),
        ("127.0.0.1", "::1", true),
        ("::ffff:127.0.0.1", "::1", true),
        ("10.0.0.1", "::ffff:10.0.0.1", true),
        ("10.0.0.1", "10.0.0.2", false),
        ("2001:db8::1", "2001:db8::ffff:1:2:3", true),
        ("2001:db8::1", "2001:db8:0:1::1", false),
    ] {
        assert_eq!(peer(one) == peer(other), same, "{one} {other}");
    }
    assert_eq!(peer("2001:db8::1").to_string(), "2001:db8::/64");
}

#[test]
fn the_oldest_idle_one_of_the_heaviest_peer_is_closed_first() {
    let mut entries = entries(64);
    let (light, heavy) = (peer("10.0.0.1"), peer("10.0.0.2"));
    let of_the_light = admit(&mut entries, light);
    let [busy, asked, idle] = [0; 3].map(|_| admit(&mut entries, heavy));
    assert!(entries.begin(busy));
    entries.touch(asked, 0);
    for n in 0..12 {
        admit(&mut entries, peer(&format!("10.0.1.{n}")));
    }
    assert_eq!((entries.all.len(), entries.all.contains_key(&idle)), (16, true));
    admit(&mut entries, peer("10.0.0.3"));
    assert!(!entries.all.contains_key(&idle), "it has asked for nothing for the longest time");
    assert!([of_the_light, busy, asked].iter().all(|id| entries.all.contains_key(id)));
    // If no descriptor is left, an idle one of this peer is closed although there are fewer than allowed.
    assert_eq!(entries.close_one(), Some(heavy));
    assert!(entries.all.contains_key(&busy) && !entries.all.contains_key(&asked));
}

#[test]
fn this_machine_is_answered_when_others_have_as_many_requests_under_way_as_there_may_be() {
    let mut entries = entries(64);
    let begun = (0..8).filter(|n| {
        let id = admit(&mut entries, peer(&format!("10.0.0.{n}")));
        entries.begin(id) && entries.begin(id)
    });
    assert_eq!(begun.count(), 4, "of 8 requests, two of each peer");
    let local = admit(&mut entries, Peer::Loopback);
    assert!(entries.begin(local));
}

/// What clients do.
#[derive(Clone, Copy, Debug)]
enum Step {
    Connect(u8),
    Ask(usize),
    Answer(usize),
    Leave(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..9u8).prop_map(Step::Connect),
        2 => any::<usize>().prop_map(Step::Ask),
        1 => any::<usize>().prop_map(Step::Answer),
        1 => any::<usize>().prop_map(Step::Leave),
    ]
}

proptest! {
    #[test]
    fn whoever_comes_gets_in_and_no_request_under_way_is_cut(steps in proptest::collection::vec(step(), 0..400)) {
        let mut entries = entries(64);
        let limits = entries.limits;
        for step in steps {
            let mut ids: Vec<_> = entries.all.keys().copied().collect();
            ids.sort_unstable();
            let pick = |n: usize| ids.get(n % ids.len().max(1)).copied().unwrap_or_default();
            match step {
                Step::Connect(n) => {
                    let from = if n == 0 { Peer::Loopback } else { peer(&format!("10.0.0.{n}")) };
                    let busy: Vec<_> = ids.iter().filter(|id| entries.all[id].requests > 0).copied().collect();
                    let id = admit(&mut entries, from);
                    prop_assert!(entries.all.contains_key(&id));
                    prop_assert!(busy.iter().all(|id| entries.all.contains_key(id)), "one that is busy was closed");
                    prop_assert!(entries.all.len() <= limits.connections);
                    prop_assert!(entries.count(from) <= limits.connections_of_a_peer());
                }
                Step::Ask(n) => drop(entries.begin(pick(n))),
                Step::Answer(n) => entries.touch(pick(n), 1),
                Step::Leave(n) => drop(entries.all.remove(&pick(n))),
            }
        }
    }
}
