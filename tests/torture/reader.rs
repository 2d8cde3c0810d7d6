//! Who reads a socket.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The numbers of the frames that have come, by their source.
pub type Arrived = HashMap<String, BTreeSet<u64>>;

/// Reads connections one after the other, in a thread of its own, for as long as the process lives.
pub struct Reader(Arc<Mutex<Arrived>>);

impl Reader {
    pub fn start(socket: &Path) -> Self {
        let listener = UnixListener::bind(socket).unwrap();
        let all = Arc::<Mutex<Arrived>>::default();
        let arrived = Arc::clone(&all);
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                    note(&line, &mut arrived.lock().unwrap());
                }
            }
        });
        Self(all)
    }

    /// How many different frames of a source have come.
    pub fn count(&self, source: &str) -> u64 {
        self.0.lock().unwrap().get(source).map_or(0, |frames| frames.len() as u64)
    }
}

/// Notes a record; what is none is the rest of one that was cut off, and comes again.
pub fn note(line: &[u8], arrived: &mut Arrived) {
    let Ok(record) = serde_json::from_slice::<serde_json::Value>(line) else { return };
    if let (Some(source), Some(frame)) = (record["source"].as_str(), record["frame"].as_u64()) {
        arrived.entry(source.to_owned()).or_default().insert(frame);
    }
}
