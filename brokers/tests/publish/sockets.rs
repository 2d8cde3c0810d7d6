//! Unix sockets.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;

use crate::feeding::{Feed, first_of_each, id_of, options};

#[test]
fn a_socket_gets_a_line_for_each_message_and_another_reader_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let location = format!("unix:{}", path.display());
    let mut feed = Feed::start(&options(&location));
    assert_eq!(feed.offer(10), 0, "nobody listens");
    let listener = UnixListener::bind(&path).unwrap();
    let reading = std::thread::spawn(move || {
        let mut ids = Vec::new();
        // The first reader leaves in the middle.
        for most in [50, usize::MAX] {
            let (stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(stream).lines().map_while(Result::ok).take(most);
            ids.push(lines.map(|line| id_of(line.as_bytes())).collect::<Vec<_>>());
        }
        ids
    });
    feed.feed(2000);
    feed.settle();
    drop(feed);
    let ids = reading.join().unwrap();
    assert_eq!(first_of_each(ids[0].clone()), (0..50).collect::<Vec<_>>());
    // What the system had taken for the reader that left is gone; the rest is in order, to the last.
    let rest = first_of_each(ids[1].clone());
    assert!(rest.is_sorted() && rest.last() == Some(&1999), "{rest:?}");
}
