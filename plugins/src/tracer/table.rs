//! The measurements of each element.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use gst::prelude::*;

/// Why a pipeline's accounts are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The end of its stream.
    Eos,
    /// An error.
    Error,
    /// It left PAUSED.
    Stopped,
}

/// One element's account.
#[derive(Debug)]
pub(super) struct Account {
    element: glib::WeakRef<gst::Element>,
    /// When the first buffer reached it, in ns: the rows' order.
    first: u64,
    /// Buffers that reached it.
    pub buffers: u64,
    /// Their time there.
    pub cpu: Duration,
}

/// The accounts of one pipeline, closed.
#[derive(Debug)]
pub(super) struct Closed {
    /// From the first buffer on.
    pub seconds: f64,
    /// In the order in which the first buffer reached the elements.
    pub accounts: Vec<(Account, gst::Element)>,
}

/// The accounts of all elements.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// By the element's address.
    accounts: HashMap<usize, Account>,
    /// Pipelines, by address, that have failed: buffers that still flow in them until they stop do not count.
    failed: HashSet<usize>,
}

impl Table {
    /// `buffers` buffers have gone through `element`, which they reached at `began` and where they took `cpu`. Returns how many
    /// had before.
    pub fn add(&mut self, element: &gst::Element, began: u64, buffers: u64, cpu: Duration) -> u64 {
        let account = self.accounts.entry(element.as_ptr().addr()).or_insert_with(|| Account {
            element: element.downgrade(),
            first: began,
            buffers: 0,
            cpu: Duration::ZERO,
        });
        let before = account.buffers;
        account.first = account.first.min(began);
        account.buffers += buffers;
        account.cpu += cpu;
        before
    }

    /// A pipeline starts anew.
    pub fn start(&mut self, pipeline: &gst::Element) {
        self.failed.remove(&pipeline.as_ptr().addr());
    }

    /// Closes the accounts of the elements inside `pipeline`, and returns them if they are worth a report.
    pub fn close(&mut self, pipeline: &gst::Element, now: u64, end: End) -> Option<Closed> {
        let mut accounts = Vec::new();
        // Those of other pipelines go on; those of elements that are gone are dropped.
        for (address, account) in std::mem::take(&mut self.accounts) {
            match account.element.upgrade() {
                Some(element) if element.has_as_ancestor(pipeline) => accounts.push((account, element)),
                Some(_) => drop(self.accounts.insert(address, account)),
                None => (),
            }
        }
        let address = pipeline.as_ptr().addr();
        let reported = self.failed.contains(&address) || (end == End::Stopped && accounts.is_empty());
        match end {
            End::Error => drop(self.failed.insert(address)),
            End::Stopped => drop(self.failed.remove(&address)),
            End::Eos => (),
        }
        accounts.sort_by_key(|(account, _)| account.first);
        let started = accounts.first().map_or(now, |(account, _)| account.first);
        let seconds = Duration::from_nanos(now.saturating_sub(started)).as_secs_f64();
        (!reported).then_some(Closed { seconds, accounts })
    }
}
