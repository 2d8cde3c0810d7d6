//! Connections: how many there are, and how long each may take. Anyone who reaches the port can make them.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::ready;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{sleep, timeout};

use crate::log::TRACER as CAT;

/// How many connections are kept. A further one closes the connection whose last request is the oldest.
pub(super) const MOST_CONNECTIONS: usize = 64;

/// How long a client may take to send the whole of a request's head, counted from the answer before it.
const HEAD: Duration = Duration::from_secs(10);

/// Length of a request's head in bytes.
const LONGEST_HEAD: usize = 16 << 10;

/// How long a connection may go on. It then ends with the answer that is being sent.
const LIFE: Duration = Duration::from_secs(30);

/// How long an answer may still take to be read at the end of a connection.
const LAST_ANSWER: Duration = Duration::from_secs(5);

/// After a failure to accept connections, as where the process has no file descriptor left, the server waits this long.
const RETRY: Duration = Duration::from_secs(1);

/// An answer with its body.
pub(super) type Answer = Response<Full<Bytes>>;

/// A connection that is open, or has just ended.
struct Connection {
    task: JoinHandle<()>,
    /// When it last sent a request, or was made.
    active: Rc<Cell<Instant>>,
}

/// Accepts connections forever; `answer` gets each request's head. Bodies are never read.
pub(super) async fn serve(
    listener: TcpListener,
    answer: Rc<impl Fn(&Request<Incoming>) -> Answer + 'static>,
) {
    let mut connections: Vec<Connection> = Vec::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(e) => {
                gst::warning!(CAT, "no connection can be accepted, which is tried again: {e}");
                sleep(RETRY).await;
                continue;
            }
        };
        connections.retain(|connection| !connection.task.is_finished());
        if connections.len() >= MOST_CONNECTIONS {
            let oldest = connections.iter().enumerate().min_by_key(|(_, connection)| connection.active.get());
            if let Some((place, _)) = oldest {
                connections.swap_remove(place).task.abort();
            }
        }
        let active = Rc::new(Cell::new(Instant::now()));
        let task = spawn_local(converse(stream, Rc::clone(&answer), Rc::clone(&active)));
        connections.push(Connection { task, active });
    }
}

/// Answers the requests of a connection, one after the other.
async fn converse(
    stream: TcpStream,
    answer: Rc<impl Fn(&Request<Incoming>) -> Answer>,
    active: Rc<Cell<Instant>>,
) {
    let service = service_fn(|request| {
        active.set(Instant::now());
        ready(Ok::<_, Infallible>(answer(&request)))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LONGEST_HEAD)
        // A client that has sent all its requests may close its sending side before it reads.
        .half_close(true)
        .title_case_headers(true)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = match timeout(LIFE, connection.as_mut()).await {
        Ok(ended) => ended,
        Err(_) => {
            connection.as_mut().graceful_shutdown();
            timeout(LAST_ANSWER, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(e) = ended {
        gst::debug!(CAT, "a connection broke: {e}");
    }
}
