use std::cell::Cell;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::super::table::Limits;
use super::*;

/// Runs with a clock that advances only while all tasks wait.
fn run(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(work);
}

fn nothing() -> AbortHandle {
    tokio::spawn(std::future::pending::<()>()).abort_handle()
}

/// An `accept` that fails `times` times with an error of the system.
fn fails(times: u32, errno: Errno) -> (impl AsyncFn() -> io::Result<u32>, std::rc::Rc<Cell<u32>>) {
    let asked = std::rc::Rc::new(Cell::new(0));
    let count = std::rc::Rc::clone(&asked);
    let accept = async move || {
        count.set(count.get() + 1);
        if count.get() > times { Ok(count.get()) } else { Err(errno.into()) }
    };
    (accept, asked)
}

#[test]
fn without_a_descriptor_accepting_waits_and_does_not_spin() {
    run(async {
        let table = Table::new(Limits::of(1024));
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
            let begin = Instant::now();
            let (accept, asked) = fails(5, errno);
            assert_eq!(accepted(accept, &table).await, 6);
            assert_eq!((asked.get(), begin.elapsed()), (6, 5 * RETRY), "{errno}");
        }
        let begin = Instant::now();
        accepted(fails(5, Errno::CONNABORTED).0, &table).await;
        assert!(begin.elapsed().is_zero(), "a client that gives up holds up no other");
    });
}

#[test]
fn without_a_descriptor_an_idle_connection_is_closed() {
    run(async {
        let table = Table::new(Limits::of(1024));
        let (mut first, mut second) = (None, None);
        table.admit(Peer::Loopback, |admitted| {
            first = Some(admitted);
            nothing()
        });
        table.admit(Peer::Loopback, |admitted| {
            second = Some(admitted);
            nothing()
        });
        let under_way = first.as_ref().unwrap().connection().begin().unwrap();
        let begin = Instant::now();
        accepted(fails(3, Errno::MFILE).0, &table).await;
        assert_eq!(
            begin.elapsed(),
            2 * RETRY,
            "the first failure closes one, and there is no other that is idle"
        );
        assert!(second.unwrap().connection().begin().is_err(), "it is closed");
        drop(under_way);
        assert!(first.unwrap().connection().begin().is_ok());
    });
}

/// The other end of a connection that is served.
fn client(table: &Arc<Table>) -> tokio::io::DuplexStream {
    let (client, server) = duplex(1024);
    let router = Router::new().route("/", axum::routing::get(|| async { "answer" }));
    let (sender, stop) = watch::channel(None);
    table.admit(Peer::Loopback, |admitted| {
        let serve = async move {
            let _server = sender;
            answer(server, router, admitted.connection(), stop).await;
        };
        tokio::spawn(serve).abort_handle()
    });
    client
}

#[test]
fn a_connection_is_closed_that_asks_nothing_or_not_the_whole() {
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    run(async {
        let table = Table::new(Limits::of(1024));
        for (sent, status) in [
            (&b""[..], ""),
            (b"GET / HT", ""),
            (b"GET / HTTP/1.1\r\nhost: a\r\n", ""),
            (REQUEST, "HTTP/1.1 200"),
        ] {
            let mut client = client(&table);
            client.write_all(sent).await.unwrap();
            let (begin, mut answer) = (Instant::now(), Vec::new());
            client.read_to_end(&mut answer).await.unwrap();
            assert_eq!(begin.elapsed(), HEAD_TIMEOUT, "{sent:?}");
            assert!(answer.starts_with(status.as_bytes()), "{answer:?}");
        }
        // The client sends a byte just before each limit, without an end.
        let (mut client, begin) = (client(&table), Instant::now());
        for byte in REQUEST.iter().cycle() {
            sleep(Duration::from_secs(1)).await;
            if client.write_all(&[*byte]).await.is_err() {
                break;
            }
        }
        assert!(begin.elapsed() <= HEAD_TIMEOUT + Duration::from_secs(2), "{:?}", begin.elapsed());
    });
}

#[test]
fn a_connection_that_goes_on_asking_stays() {
    run(async {
        let table = Table::new(Limits::of(1024));
        let mut client = client(&table);
        for _ in 0..10 {
            client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            let mut answer = [0; 1024];
            let count = client.read(&mut answer).await.unwrap();
            assert!(answer[..count].starts_with(b"HTTP/1.1 200"));
            sleep(HEAD_TIMEOUT / 2).await;
        }
    });
}
