//! The open connections, and which of them is closed to make room for another one.
//!
//! A connection is idle unless a request of it is under way: a request that may be answered, was received whole, and whose
//! answer has not been sent yet. More connections are allowed than requests, so there always is an idle one to close.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};

use tokio::task::AbortHandle;

use crate::unpoisoned::lock;

/// The most connections, whatever the limit on file descriptors.
const MOST: usize = 512;

/// How many connections are allowed if the process may have only few file descriptors.
const FEWEST: usize = 16;

/// How many connections and requests there may be at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Connections; a peer may have a quarter of them. Half as many requests may be under way as there may be connections.
    connections: usize,
}

impl Limits {
    /// For a process that may have this many file descriptors: the streams and files need most of them.
    pub(super) fn of(descriptors: u64) -> Self {
        let quarter = usize::try_from(descriptors / 4).unwrap_or(MOST);
        Self { connections: quarter.clamp(FEWEST, MOST) }
    }

    fn connections_of_a_peer(self) -> usize {
        self.connections / 4
    }

    fn requests(self) -> usize {
        self.connections / 2
    }

    /// Requests of one peer that may be under way.
    pub(super) fn requests_of_a_peer(self) -> usize {
        self.connections_of_a_peer() / 2
    }
}

/// Where connections come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Peer {
    /// This machine, by whichever of its loopback addresses.
    Loopback,
    /// An address; of IPv6 the network of 64 bits, all addresses of which one machine may have.
    Other(IpAddr),
}

impl From<IpAddr> for Peer {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            address if address.is_loopback() => Self::Loopback,
            IpAddr::V6(address) => {
                let network = address.to_bits() & !u128::from(u64::MAX);
                Self::Other(Ipv6Addr::from_bits(network).into())
            }
            address => Self::Other(address),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback => f.write_str("this machine"),
            Self::Other(IpAddr::V6(network)) => write!(f, "{network}/64"),
            Self::Other(address) => address.fmt(f),
        }
    }
}

/// A connection that is open.
#[derive(Debug)]
struct ConnectionEntry {
    peer: Peer,
    /// How many of its requests are under way.
    requests: usize,
    /// The turn in which it was opened, had its last request or its last answer.
    active: u64,
    task: Option<AbortHandle>,
}

/// The connections by their numbers.
#[derive(Debug)]
struct Entries {
    limits: Limits,
    /// Counts events, so that connections can be ordered by their last one.
    turn: u64,
    all: HashMap<u64, ConnectionEntry>,
}

impl Entries {
    fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    fn count(&self, peer: Peer) -> usize {
        self.all.values().filter(|entry| entry.peer == peer).count()
    }

    /// Closes a connection if that is necessary before another one of `peer` is admitted. Returns the peer of the closed one.
    fn make_room(&mut self, peer: Peer) -> Option<Peer> {
        if self.count(peer) >= self.limits.connections_of_a_peer() {
            let own = self.all.iter().filter(|(_, entry)| entry.peer == peer && entry.requests == 0);
            let oldest = own.min_by_key(|(_, entry)| entry.active).map(|(id, _)| *id);
            return self.close(oldest?);
        }
        if self.all.len() >= self.limits.connections { self.close_one() } else { None }
    }

    /// Closes the connection that has been idle longest, of the peer with the most connections. Returns that peer.
    fn close_one(&mut self) -> Option<Peer> {
        let mut counts = HashMap::<Peer, usize>::new();
        self.all.values().for_each(|entry| *counts.entry(entry.peer).or_default() += 1);
        let idle = self.all.iter().filter(|(_, entry)| entry.requests == 0);
        let found = idle.max_by_key(|(_, entry)| (counts.get(&entry.peer), Reverse(entry.active)));
        self.close(found.map(|(id, _)| *id)?)
    }

    fn close(&mut self, id: u64) -> Option<Peer> {
        let entry = self.all.remove(&id)?;
        if let Some(task) = entry.task {
            task.abort();
        }
        Some(entry.peer)
    }

    fn add(&mut self, peer: Peer) -> u64 {
        let id = self.next_turn();
        self.all.insert(id, ConnectionEntry { peer, requests: 0, active: id, task: None });
        id
    }

    /// Begins a request of a connection, if another one may be under way. Requests from this machine do not count for the limit
    /// of all peers: they are answered even if other peers have used it up.
    fn begin(&mut self, id: u64) -> bool {
        let Some(peer) = self.all.get(&id).map(|entry| entry.peer) else { return false };
        let requests = |of: &dyn Fn(Peer) -> bool| -> usize {
            self.all.values().filter(|entry| of(entry.peer)).map(|entry| entry.requests).sum()
        };
        let own = requests(&|other| other == peer);
        let of_others = requests(&|other| other != Peer::Loopback);
        if own >= self.limits.requests_of_a_peer()
            || (peer != Peer::Loopback && of_others >= self.limits.requests())
        {
            return false;
        }
        if let Some(entry) = self.all.get_mut(&id) {
            entry.requests += 1;
        }
        true
    }

    fn touch(&mut self, id: u64, ended: usize) {
        let turn = self.next_turn();
        if let Some(entry) = self.all.get_mut(&id) {
            entry.active = turn;
            entry.requests = entry.requests.saturating_sub(ended);
        }
    }
}

/// All connections of the server.
#[derive(Debug)]
pub(super) struct Table(Mutex<Entries>);

impl Table {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Entries { limits, turn: 0, all: HashMap::new() })))
    }

    /// Admits a connection, which `start` begins to serve. Returns the peer whose connection was closed for it.
    pub(super) fn admit(
        self: &Arc<Self>,
        peer: Peer,
        start: impl FnOnce(Admitted) -> AbortHandle,
    ) -> Option<Peer> {
        let (closed, id) = {
            let mut entries = lock(&self.0);
            (entries.make_room(peer), entries.add(peer))
        };
        let task = start(Admitted(Connection { table: Arc::clone(self), id }));
        if let Some(entry) = lock(&self.0).all.get_mut(&id) {
            entry.task = Some(task);
        }
        closed
    }

    /// Closes an idle connection, whose file descriptor is needed. Returns whether there was one.
    pub(super) fn close_one(&self) -> bool {
        lock(&self.0).close_one().is_some()
    }
}

/// A connection, for as long as it is open.
#[derive(Debug)]
pub(super) struct Admitted(Connection);

impl Admitted {
    /// The handle that its requests get.
    pub(super) fn connection(&self) -> Connection {
        self.0.clone()
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        lock(&self.0.table.0).all.remove(&self.0.id);
    }
}

/// The connection of a request.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    table: Arc<Table>,
    id: u64,
}

impl Connection {
    /// Notes a request, so that other connections have been idle for longer.
    pub(super) fn asked(&self) {
        lock(&self.table.0).touch(self.id, 0);
    }

    /// Begins a request: the connection stays open until it has been answered.
    ///
    /// # Errors
    /// The request must not be answered, because as many of the peer are under way as may be; the error is that number.
    pub(super) fn begin(&self) -> Result<UnderWay, usize> {
        let mut entries = lock(&self.table.0);
        let limit = entries.limits.requests_of_a_peer();
        entries.begin(self.id).then(|| UnderWay(self.clone())).ok_or(limit)
    }
}

/// A request that is being answered, for as long as its answer has not been sent.
#[derive(Debug)]
pub(super) struct UnderWay(Connection);

impl Drop for UnderWay {
    fn drop(&mut self) {
        lock(&self.0.table.0).touch(self.0.id, 1);
    }
}

#[cfg(test)]
mod tests;
