//! What is shown of the progress: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::work::Outcome;

/// How often a line is written where there is no terminal.
const LINE: Duration = Duration::from_secs(10);

/// Steps of the bar.
const STEPS: u64 = 1000;

/// What has been counted.
#[derive(Debug)]
pub struct Totals {
    start: Instant,
    videos: usize,
    complete: usize,
    already: usize,
    failed: usize,
    frames: u64,
    running_frames: u64,
    running_parts: f64,
}

impl Totals {
    /// Nothing yet, of this many videos.
    pub fn new(videos: usize) -> Self {
        Self {
            start: Instant::now(),
            videos,
            complete: 0,
            already: 0,
            failed: 0,
            frames: 0,
            running_frames: 0,
            running_parts: 0.0,
        }
    }

    /// Counts what came of a video.
    pub fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Complete { frames, .. } => {
                self.complete += 1;
                self.frames += frames;
            }
            Outcome::Already => self.already += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Elsewhere | Outcome::Interrupted | Outcome::Fatal(..) => (),
        }
    }

    /// Takes the frames of the videos that are running, and how many are expected of each.
    #[allow(clippy::cast_precision_loss)] // parts of a bar need no 53 bits
    pub fn running<'a>(&mut self, running: impl Iterator<Item = &'a (u64, Option<u64>)>) {
        (self.running_frames, self.running_parts) = (0, 0.0);
        for (frames, expected) in running {
            self.running_frames += frames;
            if let Some(expected) = expected.filter(|expected| *expected > 0) {
                self.running_parts += (*frames as f64 / expected as f64).min(1.0);
            }
        }
    }

    /// Whether something has come of every video.
    pub fn all(&self) -> bool {
        self.complete + self.already + self.failed == self.videos
    }

    /// The part that is done.
    #[allow(clippy::cast_precision_loss)]
    fn part(&self) -> f64 {
        ((self.complete + self.already + self.failed) as f64 + self.running_parts) / self.videos.max(1) as f64
    }

    #[allow(clippy::cast_precision_loss)]
    fn per_second(&self) -> f64 {
        (self.frames + self.running_frames) as f64 / self.start.elapsed().as_secs_f64().max(1e-3)
    }

    /// Seconds until the end, by what was done since the start: videos that were complete before cost nothing.
    #[allow(clippy::cast_precision_loss)]
    fn left(&self) -> Option<f64> {
        let done = (self.complete + self.failed) as f64 + self.running_parts;
        let open = self.videos.saturating_sub(self.already) as f64 - done;
        (done > 0.0).then(|| self.start.elapsed().as_secs_f64() / done * open.max(0.0))
    }

    fn line(&self) -> String {
        let done = self.complete + self.already + self.failed;
        let left = self.left().map_or_else(String::new, |seconds| format!(", {} left", clock(seconds)));
        let frames = self.frames + self.running_frames;
        format!("{done} of {} videos, {frames} frames, {:.0} frames/s{left}", self.videos, self.per_second())
    }

    /// The last line.
    pub fn closing_line(&self) -> String {
        format!(
            "{} of {} videos complete ({} of them before), {} failed, {} not done: {} frames in {}, {:.0} frames/s",
            self.complete + self.already,
            self.videos,
            self.already,
            self.failed,
            self.videos.saturating_sub(self.complete + self.already + self.failed),
            self.frames,
            clock(self.start.elapsed().as_secs_f64()),
            self.per_second()
        )
    }
}

/// Hours, minutes and seconds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // it saturates
fn clock(seconds: f64) -> String {
    let all = seconds.round() as u64;
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Where it is shown.
#[derive(Debug)]
pub struct Display {
    bar: Option<ProgressBar>,
    next: Instant,
}

impl Display {
    /// A bar if the standard error is a terminal.
    pub fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{wide_bar} {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(STEPS).with_style(style)
        });
        Self { bar, next: Instant::now() + LINE }
    }

    /// A line that everybody needs.
    pub fn line(&self, text: &str) {
        let line = format!("cudainfer-batch: {}\n", text.replace('\n', " "));
        // One write, so that lines of several processes do not mix. If it fails, there is nowhere to report that.
        let write = || drop(std::io::stderr().lock().write_all(line.as_bytes()));
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// A line that is of no use beside a bar.
    pub fn detail(&self, text: &str) {
        if self.bar.is_none() {
            self.line(text);
        }
    }

    /// Shows the progress.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // a part of 1000
    pub fn show(&mut self, totals: &Totals) {
        match &self.bar {
            Some(bar) => {
                bar.set_message(totals.line());
                bar.set_position((totals.part() * STEPS as f64) as u64);
            }
            None if Instant::now() >= self.next => {
                self.next = Instant::now() + LINE;
                self.line(&totals.line());
            }
            None => (),
        }
    }

    /// Removes the bar.
    pub fn close(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Default for Display {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_complete_before_does_not_make_the_rest_seem_quick() {
        let mut totals = Totals::new(10);
        (0..6).for_each(|_| totals.add(&Outcome::Already));
        assert_eq!(totals.left(), None);
        totals.start = Instant::now().checked_sub(Duration::from_secs(100)).unwrap();
        totals.add(&Outcome::Complete { frames: 500, per_second: 5.0, warnings: vec![] });
        totals.running([(250, Some(500)), (9, None), (7, Some(0))].iter());
        assert_eq!(totals.left().unwrap().round(), 167.0, "1.5 videos took 100 s, 2.5 are left");
        assert!((totals.part() - 0.75).abs() < 1e-9);
        assert_eq!(totals.line(), "7 of 10 videos, 766 frames, 8 frames/s, 2:47 left");
        totals.add(&Outcome::Failed("x".into()));
        assert!(!totals.all());
        assert!(
            totals
                .closing_line()
                .starts_with("7 of 10 videos complete (6 of them before), 1 failed, 2 not done")
        );
        assert_eq!(clock(3725.4), "1:02:05");
    }
}
