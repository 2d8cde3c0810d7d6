//! The server: a runtime of its own, so that a slow client never holds up a stream.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use super::access::{Access, Token};
use super::connections;
use super::live_pictures::LivePictures;
use super::routes;
use super::shared::Control;
use super::table::{Limits, Table};
use super::tls;
use crate::fleet::Fleet;
use crate::onvif::Found;
use crate::output::webrtc::LiveVideo;
use crate::{config, log, resources};

/// How long sent bytes may remain without an acknowledgement, or unsent because the client reads nothing. A player that pauses
/// reads nothing either; it requests the rest again later.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pictures that are made at a time; further requests wait.
const PICTURES: usize = 2;

/// Sources that are tried at a time; further requests are refused.
const TRIALS: usize = 2;

/// Why the server cannot answer requests.
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
    /// There is no thread, or no file descriptor.
    #[error("HTTP cannot be answered, for want of a thread or a file descriptor: {0}")]
    Start(std::io::Error),
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
    pub fn open(settings: &config::ServerSettings) -> Result<Self, ControlError> {
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
        // Accepted connections inherit this from the listener.
        let patience = u32::try_from(PATIENCE.as_millis()).unwrap_or(u32::MAX);
        set_tcp_user_timeout(&listener, patience).map_err(|e| failed(e.into()))?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, access, tls })
    }

    /// Answers from now on.
    ///
    /// # Errors
    /// There is no thread, or no file descriptor.
    pub fn serve(self, fleet: Fleet) -> Result<Server, ControlError> {
        let Self { listener, address, access, tls } = self;
        // Blocking work runs in threads of its own. A runtime with several threads would panic if the system gives it none.
        let runtime = Builder::new_current_thread().enable_all().build().map_err(ControlError::Start)?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(ControlError::Start)?
        };
        let discovery = fleet.config().server.discovery.clone();
        let control = Arc::new(Control {
            fleet,
            access,
            pictures: Semaphore::new(PICTURES),
            live: LivePictures::default(),
            video: LiveVideo::new(),
            trials: Arc::new(Semaphore::new(TRIALS)),
            discovery,
            discovering: Arc::new(Semaphore::new(1)),
            found: Found::default(),
        });
        let encrypted = tls.is_some();
        let tls = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
        let table = Table::new(Limits::of(resources::most_descriptors()));
        let (stop, stopped) = watch::channel(None);
        let serve = move || {
            let router = routes::router(control);
            runtime.block_on(connections::serve(listener, tls, router, table, stopped.clone()));
            let limit = stopped.borrow().unwrap_or_default();
            runtime.shutdown_timeout(limit);
        };
        let thread = std::thread::Builder::new().name("serve:http".into()).spawn(serve);
        let thread = thread.map_err(ControlError::Start)?;
        Ok(Server { thread, stop, address, tls: encrypted })
    }
}

/// An HTTP server that answers until it is stopped.
pub struct Server {
    thread: JoinHandle<()>,
    stop: watch::Sender<Option<Duration>>,
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
        self.stop.send_replace(Some(limit));
        // If the thread has panicked, the panic has been printed already.
        let _ = self.thread.join();
    }
}
