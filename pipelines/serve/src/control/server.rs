//! The server: a runtime of its own, so that a slow client never holds up a stream.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum_server::Handle;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

use super::access::{Access, Token};
use super::routes::{self, Control};
use super::tls;
use crate::config;
use crate::fleet::Fleet;
use crate::log;

/// Threads that answer. What takes time runs in threads of its own.
const THREADS: usize = 2;

/// How long a client may take to send a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Pictures that are made at a time; whoever asks for another one waits.
const PICTURES: usize = 2;

/// Why nothing answers.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// A file of `[server]` cannot be used.
    #[error("[server] {0}")]
    Configuration(String),
    /// The address cannot be listened at.
    #[error(
        "[server] listen = \"{address}\": nothing can listen there: {source}. Set an address of this machine and a port that no other process has"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// There is no thread.
    #[error("no thread can be started to answer by HTTP: {0}")]
    Threads(std::io::Error),
}

/// An address that is listened at, and how requests will be checked. Nothing is answered yet.
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    access: Access,
    tls: Option<rustls::ServerConfig>,
}

impl Listener {
    /// Reads the files of `[server]`, and listens.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn open(settings: &config::Server) -> Result<Self, ControlError> {
        settings.exposed_secrets().iter().for_each(log::warning);
        let token = settings.token_file.as_deref().map(config::read_token).transpose();
        let token = token.map_err(ControlError::Configuration)?.map(|token| Token::new(&token));
        let access = Access { token, certificates: settings.client_ca.is_some() };
        let tls = match (&settings.tls_cert, &settings.tls_key) {
            (Some(cert), Some(key)) => Some(
                tls::config(cert, key, settings.client_ca.as_deref()).map_err(ControlError::Configuration)?,
            ),
            _ => None,
        };
        let failed = |source| ControlError::Listen { address: settings.listen, source };
        let listener = TcpListener::bind(settings.listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, access, tls })
    }

    /// Answers from now on.
    ///
    /// # Errors
    /// There is no thread.
    pub fn serve(self, fleet: Fleet) -> Result<Server, ControlError> {
        let Self { listener, address, access, tls } = self;
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("serve:http")
            .enable_all()
            .build()
            .map_err(ControlError::Threads)?;
        let handle = Handle::new();
        let control = Arc::new(Control { fleet, access, pictures: Semaphore::new(PICTURES) });
        let service = routes::router(control).into_make_service();
        let run = {
            let _inside = runtime.enter();
            axum_server::from_tcp(listener).map_err(|source| ControlError::Listen { address, source })?
        };
        let mut run = run.handle(handle.clone()).http1_only().first_request_timeout(HEAD_TIMEOUT);
        run.http_builder().http1().header_read_timeout(HEAD_TIMEOUT);
        let encrypted = tls.is_some();
        match tls {
            None => drop(runtime.spawn(run.serve(service))),
            Some(config) => {
                let acceptor = RustlsAcceptor::new(RustlsConfig::from_config(Arc::new(config)));
                drop(runtime.spawn(run.acceptor(acceptor.handshake_timeout(HEAD_TIMEOUT)).serve(service)));
            }
        }
        Ok(Server { runtime, handle, address, tls: encrypted })
    }
}

/// An HTTP server that answers until it is stopped.
pub struct Server {
    runtime: Runtime,
    handle: Handle<SocketAddr>,
    address: SocketAddr,
    tls: bool,
}

impl Server {
    /// Where it listens: the port that the system chose, if port 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the page is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}/", if self.tls { "https" } else { "http" }, self.address)
    }

    /// Ends: requests that are under way have `limit` to get their answer.
    pub fn stop(self, limit: Duration) {
        self.handle.graceful_shutdown(Some(limit));
        self.runtime.shutdown_timeout(limit);
    }
}
