//! Webhooks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::feeding::{Feed, first_of_each, id_of, options};

/// What was posted: the ids of its messages, and the header Authorization.
type Posted = (Vec<String>, Option<String>);

type Taken = Arc<Mutex<Vec<Posted>>>;

/// A server that answers each post with the status that `answer` gives. Returns its port and the posts that it has answered with
/// 204.
fn server(answer: impl Fn(usize, &[String]) -> u16 + Send + 'static) -> (u16, Taken) {
    server_with(Some, answer)
}

/// The same, which makes of each connection what `accept` makes of it.
pub fn server_with<T: Read + Write>(
    accept: impl Fn(TcpStream) -> Option<T> + Send + 'static,
    answer: impl Fn(usize, &[String]) -> u16 + Send + 'static,
) -> (u16, Taken) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let taken = Taken::default();
    let own = Arc::clone(&taken);
    std::thread::spawn(move || {
        let mut count = 0;
        for stream in listener.incoming().map_while(Result::ok).filter_map(accept) {
            let mut reader = BufReader::new(stream);
            while let Some(posted) = read(&mut reader) {
                let status = answer(count, &posted.0);
                count += 1;
                if status == 204 {
                    own.lock().unwrap().push(posted);
                }
                let answer = format!("HTTP/1.1 {status} As ordered\r\nContent-Length: 0\r\n\r\n");
                reader.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        }
    });
    (port, taken)
}

fn read(from: &mut BufReader<impl Read>) -> Option<Posted> {
    let (mut length, mut authorization, mut line) = (0, None, String::new());
    from.read_line(&mut line).ok().filter(|count| *count > 0)?;
    assert!(line.starts_with("POST /hook?token=hidden HTTP/1.1"), "{line}");
    loop {
        line.clear();
        from.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "authorization" => authorization = Some(value.to_owned()),
            _ => (),
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    let records: Vec<serde_json::Value> = serde_json::from_slice(&body).unwrap();
    Some((records.iter().map(|record| id_of(record.to_string().as_bytes())).collect(), authorization))
}

pub fn ids(taken: &Mutex<Vec<Posted>>) -> Vec<usize> {
    first_of_each(taken.lock().unwrap().iter().flat_map(|(ids, _)| ids.clone()))
}

#[test]
fn a_webhook_gets_batches_in_order_again_when_it_was_busy() {
    let (port, taken) = server(|count, _| if count % 3 == 1 { 503 } else { 204 });
    let mut feed = Feed::start(&options(&format!("http://localhost:{port}/hook?token=hidden")));
    feed.feed(300);
    feed.settle();
    assert_eq!(ids(&taken), (0..300).collect::<Vec<_>>());
    assert!(taken.lock().unwrap().len() < 300, "no batches");
    let said = feed.said.lock().unwrap().join("\n");
    assert!(said.contains("503") && !said.contains("hidden"), "{said}");
}

#[test]
fn a_message_that_a_webhook_never_takes_is_counted_and_the_others_come() {
    let bad = |ids: &[String]| ids.iter().any(|id| id == "m7" || id == "m100");
    let (port, taken) = server(move |_, ids| if bad(ids) { 422 } else { 204 });
    let mut feed = Feed::start(&options(&format!("http://localhost:{port}/hook?token=hidden")));
    feed.feed(150);
    feed.settle();
    assert_eq!(ids(&taken), (0..150).filter(|number| ![7, 100].contains(number)).collect::<Vec<_>>());
    assert_eq!((feed.counts.refused.get(), feed.counts.acknowledged.get()), (2, 148));
    assert!(feed.said.lock().unwrap().join("\n").contains("refuses a message"));
}

#[test]
fn a_webhook_is_logged_in_to_and_one_that_refuses_that_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("login");
    std::fs::write(&file, "me\nsecret\n").unwrap();
    for (status, wanted) in [(204, None), (401, Some("401")), (301, Some("301"))] {
        let (port, taken) = server(move |_, _| status);
        let mut how = options(&format!("http://localhost:{port}/hook?token=hidden"));
        how.credentials = Some(file.clone());
        let mut feed = Feed::start(&how);
        match wanted {
            None => {
                feed.feed(10);
                assert_eq!(taken.lock().unwrap()[0].1.as_deref(), Some("Basic bWU6c2VjcmV0"));
            }
            Some(wanted) => {
                let said = feed.refusal();
                assert!(said.contains(wanted) && !said.contains("secret"), "{said}");
            }
        }
    }
}
