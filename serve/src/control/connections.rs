//! Connections: how they are accepted, and how long each may take. Anybody who reaches the port can make them.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::io::Errno;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::table::{Admitted, Connection, Peer, Table};
use crate::log;

/// How long a client may take for TLS's handshake, and then for the whole head of each request, counted from the answer before
/// it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The most bytes of a request's head, and of an answer that waits for its client to read.
const BUFFER: usize = 64 << 10;

/// How long the server waits after a failure to accept connections.
const RETRY: Duration = Duration::from_secs(1);

/// How long the log does not repeat that connections are closed for others.
const LOGGED_AGAIN: Duration = Duration::from_secs(60);

/// Ends the server: `None` until then, afterwards the time within which it must end.
pub(super) type Stop = watch::Receiver<Option<Duration>>;

/// Accepts connections until the server is stopped; those that have a request under way then get their answer.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    table: Arc<Table>,
    mut stop: Stop,
) {
    let mut connections = JoinSet::new();
    let mut logged = None::<Instant>;
    let accept = async || listener.accept().await;
    loop {
        let (stream, address) = tokio::select! {
            accepted = accepted(accept, &table) => accepted,
            _ = stop.changed() => break,
        };
        while connections.try_join_next().is_some() {}
        let closed = table.admit(Peer::from(address.ip()), |admitted| {
            connections.spawn(converse(stream, tls.clone(), router.clone(), admitted, stop.clone()))
        });
        if let Some(peer) = closed.filter(|_| logged.is_none_or(|at| at.elapsed() > LOGGED_AGAIN)) {
            logged = Some(Instant::now());
            log::warning(format_args!(
                "HTTP: there are as many connections as there may be: for each new one, one from {peer} that is idle is closed"
            ));
        }
    }
    drop(listener);
    let limit = stop.borrow().unwrap_or_default();
    // Connections that take longer end when the set is dropped.
    let _ = timeout(limit, async { while connections.join_next().await.is_some() {} }).await;
}

/// The next connection. Failures to accept one are tried again: if no file descriptor is left, an idle connection is closed.
async fn accepted<T>(accept: impl AsyncFn() -> io::Result<T>, table: &Table) -> T {
    let mut failed = false;
    loop {
        let error = match accept().await {
            Ok(accepted) => return accepted,
            // The client has given up.
            Err(e)
                if matches!(e.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) =>
            {
                continue;
            }
            Err(e) => e,
        };
        let descriptors = matches!(Errno::from_io_error(&error), Some(Errno::MFILE | Errno::NFILE));
        if !std::mem::replace(&mut failed, true) {
            log::warning(format_args!("HTTP: no connection can be accepted, which is tried again: {error}"));
        }
        if descriptors && table.close_one() {
            // The idle connection is closed when its task has been dropped.
            yield_now().await;
        } else {
            sleep(RETRY).await;
        }
    }
}

/// Serves one connection, from its handshake.
async fn converse(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    admitted: Admitted,
    stop: Stop,
) {
    match tls {
        None => answer(stream, router, admitted.connection(), stop).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = timeout(HEAD_TIMEOUT, tls.accept(stream)).await {
                answer(stream, router, admitted.connection(), stop).await;
            }
        }
    }
}

/// Answers the requests of a connection, one after the other.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    router: Router,
    connection: Connection,
    mut stop: Stop,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(|mut request: Request<Incoming>| {
        connection.asked();
        request.extensions_mut().insert(connection.clone());
        router.call(request)
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = pin!(served);
    // A broken connection concerns its client only.
    let _ = tokio::select! {
        ended = served.as_mut() => ended,
        _ = stop.changed() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
}

#[cfg(test)]
mod tests;
