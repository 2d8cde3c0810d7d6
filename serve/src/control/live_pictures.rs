//! The small pictures that are asked for again and again, and the pipelines that make them: one of each view, for all who ask.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use tokio::sync::Mutex as AsyncMutex;

use crate::output::{Drawn, Painter};
use crate::unpoisoned::lock;

/// How long a pipeline stays that nobody asks for.
pub const IDLE: Duration = Duration::from_secs(5);

/// What can be asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    /// The stream.
    pub stream: String,
    /// Width in pixels.
    pub width: u32,
    /// What is drawn.
    pub drawn: Drawn,
}

/// The picture of a view, and what makes it.
#[derive(Default)]
pub struct Slot {
    /// The pipeline, once a picture was made.
    pub painter: Option<Painter>,
    /// The last picture.
    pub last: Option<Last>,
}

/// A picture that was made.
pub struct Last {
    /// When it was begun.
    pub begun: Instant,
    /// What names its frame.
    pub tag: Option<String>,
    /// The picture.
    pub jpeg: Bytes,
}

/// A view that was asked for.
struct Asked {
    last: Instant,
    slot: Arc<AsyncMutex<Slot>>,
}

/// The views that are asked for.
#[derive(Default)]
pub struct LivePictures(Mutex<HashMap<View, Asked>>);

impl LivePictures {
    /// The slot of a view, and whether it is new.
    pub fn slot(&self, view: &View) -> (Arc<AsyncMutex<Slot>>, bool) {
        let mut views = lock(&self.0);
        let is_new = !views.contains_key(view);
        let asked =
            views.entry(view.clone()).or_insert_with(|| Asked { last: Instant::now(), slot: Arc::default() });
        asked.last = Instant::now();
        (Arc::clone(&asked.slot), is_new)
    }

    /// Takes a view away that nobody has asked for lately.
    pub fn take_idle(&self, view: &View) -> Option<Arc<AsyncMutex<Slot>>> {
        let mut views = lock(&self.0);
        let idle = views.get(view).is_some_and(|asked| asked.last.elapsed() >= IDLE);
        idle.then(|| views.remove(view)).flatten().map(|asked| asked.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_kept_while_it_is_asked_for() {
        let pictures = LivePictures::default();
        let view = View { stream: "a".into(), width: 320, drawn: Drawn::All };
        let other = View { width: 640, ..view.clone() };
        assert!(pictures.slot(&view).1);
        assert!(!pictures.slot(&view).1, "it is shared");
        assert!(pictures.slot(&other).1);
        assert!(pictures.take_idle(&view).is_none(), "somebody has just asked");
        lock(&pictures.0).get_mut(&view).unwrap().last = Instant::now().checked_sub(IDLE).unwrap();
        assert!(pictures.take_idle(&view).is_some());
        assert_eq!(lock(&pictures.0).len(), 1);
    }
}
