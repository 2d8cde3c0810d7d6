//! What has been measured, and how it is shown.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use gst::prelude::*;
use serde::Serialize;

/// One element's account.
#[derive(Debug)]
struct Account {
    element: glib::WeakRef<gst::Element>,
    /// Elements get their row in the order in which the first buffer reached them.
    order: usize,
    buffers: u64,
    cpu: Duration,
}

/// The accounts of all elements.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// By the element's address.
    accounts: HashMap<usize, Account>,
    started: Option<Instant>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    factory: String,
    frames: u64,
    ms_per_frame: f64,
}

/// What is written at the end.
#[derive(Serialize)]
pub(super) struct Report {
    /// Buffers that the last sink got.
    frames: u64,
    /// From the first buffer to the end.
    seconds: f64,
    elements: Vec<Row>,
}

impl Table {
    /// A buffer has gone through `element` and took `cpu` there.
    pub fn add(&mut self, element: &gst::Element, cpu: Duration) {
        let now = Instant::now();
        self.started.get_or_insert(now);
        let order = self.accounts.len();
        let account = self.accounts.entry(element.as_ptr().addr()).or_insert_with(|| Account {
            element: element.downgrade(),
            order,
            buffers: 0,
            cpu: Duration::ZERO,
        });
        account.buffers += 1;
        account.cpu += cpu;
    }

    /// The report on what lies inside `pipeline`, whose accounts are closed.
    pub fn close(&mut self, pipeline: &gst::Element) -> Report {
        let seconds = self.started.map_or(0.0, |t| t.elapsed().as_secs_f64());
        let mut accounts = Vec::new();
        // Those of other pipelines go on; those of elements that are gone are dropped.
        for (address, account) in std::mem::take(&mut self.accounts) {
            match account.element.upgrade() {
                Some(element) if element.has_as_ancestor(pipeline) => {
                    accounts.push((account.order, account, element));
                }
                Some(_) => drop(self.accounts.insert(address, account)),
                None => (),
            }
        }
        if self.accounts.is_empty() {
            self.started = None;
        }
        accounts.sort_by_key(|(order, ..)| *order);
        let elements: Vec<_> =
            accounts.into_iter().map(|(_, account, element)| row(&account, &element)).collect();
        let frames = elements.last().map_or(0, |row| row.frames);
        Report { frames, seconds, elements }
    }
}

fn row(account: &Account, element: &gst::Element) -> Row {
    let mut cpu = account.cpu;
    // What an element did in threads of its own, where it says so.
    if element.find_property("stats").is_some_and(|p| p.value_type() == gst::Structure::static_type()) {
        let stats = element.property::<Option<gst::Structure>>("stats");
        let busy = stats.and_then(|s| s.get::<u64>("busy-ns").ok());
        cpu += Duration::from_nanos(busy.unwrap_or(0));
    }
    Row {
        name: element.name().into(),
        factory: element.factory().map_or_else(String::new, |f| f.name().into()),
        frames: account.buffers,
        ms_per_frame: cpu.as_secs_f64() * 1e3 / account.buffers.max(1) as f64,
    }
}

impl Report {
    /// The table that is printed; empty where no buffer flowed.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if self.elements.is_empty() {
            return text;
        }
        let width = self.elements.iter().map(|r| r.name.len()).max().unwrap_or(0).max("element".len());
        let _ = writeln!(text, "{:width$}  {:>8}  {:>9}", "element", "buffers", "ms");
        for row in &self.elements {
            let _ = writeln!(text, "{:width$}  {:>8}  {:>9.3}", row.name, row.frames, row.ms_per_frame);
        }
        let rate = self.frames as f64 / self.seconds.max(f64::MIN_POSITIVE);
        let _ = writeln!(text, "{} buffers in {:.2} s: {rate:.1} a second", self.frames, self.seconds);
        text
    }
}
