//! A connection to a server that is not trusted: how much it may send, and how long it may take, is bounded.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::contract::{Access, Failure, TIMEOUT, explain, timed_out};

/// Bytes that a server may send in answer to what is sent together: a few hundred for each message.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// Bytes over TCP, perhaps with TLS.
pub(super) struct Wire {
    stream: Stream,
    until: Instant,
    /// Bytes that may still come.
    left: usize,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
    /// While one becomes the other; or that has failed.
    Closed,
}

impl Wire {
    /// Connects to the host, without TLS yet.
    ///
    /// # Errors
    /// No address of the host can be reached.
    pub fn connect(access: &Access) -> io::Result<Self> {
        let until = Instant::now() + TIMEOUT;
        let destination = &access.destination;
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in (destination.host.as_str(), destination.port).to_socket_addrs()? {
            let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            match TcpStream::connect_timeout(&address, left) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Self { stream: Stream::Plain(stream), until, left: MOST_BYTES });
                }
                Err(e) => failed = e,
            }
        }
        Err(failed)
    }

    /// Goes on with TLS, if the destination is encrypted.
    ///
    /// # Errors
    /// The server has none, or one side does not accept the other's certificate.
    pub fn encrypt(&mut self, access: &Access) -> io::Result<()> {
        let Some(tls) = &access.tls else { return Ok(()) };
        let host = ServerName::try_from(access.destination.host.clone()).map_err(io::Error::other)?;
        let client = ClientConnection::new(tls.config.clone(), host).map_err(io::Error::other)?;
        let Stream::Plain(stream) = std::mem::replace(&mut self.stream, Stream::Closed) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let mut stream = StreamOwned::new(client, stream);
        while stream.conn.is_handshaking() {
            limit(&stream.sock, self.until)?;
            stream.conn.complete_io(&mut stream.sock)?;
        }
        self.stream = Stream::Tls(Box::new(stream));
        Ok(())
    }

    /// What comes next is bounded again: by [`MOST_BYTES`], and by `most`.
    pub fn begin(&mut self, most: Duration) {
        (self.until, self.left) = (Instant::now() + most, MOST_BYTES);
    }
}

/// What an error of a connection means.
pub(super) fn failure(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => timed_out(),
        _ => explain(error),
    }
}

/// The socket's own limits are of each call only.
fn limit(socket: &TcpStream, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    socket.set_read_timeout(Some(left))?;
    socket.set_write_timeout(Some(left))
}

impl Stream {
    fn socket(&self) -> io::Result<&TcpStream> {
        match self {
            Self::Plain(stream) => Ok(stream),
            Self::Tls(stream) => Ok(&stream.sock),
            Self::Closed => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Read for Wire {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other(format!("it sends more than {MOST_BYTES} bytes in answer")));
        }
        limit(self.stream.socket()?, self.until)?;
        let most = bytes.len().min(self.left);
        let bytes = bytes.get_mut(..most).unwrap_or_default();
        let read = match &mut self.stream {
            Stream::Plain(stream) => stream.read(bytes),
            Stream::Tls(stream) => stream.read(bytes),
            Stream::Closed => Err(io::ErrorKind::NotConnected.into()),
        }?;
        self.left -= read;
        Ok(read)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        limit(self.stream.socket()?, self.until)?;
        match &mut self.stream {
            Stream::Plain(stream) => stream.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
            Stream::Closed => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.stream {
            Stream::Plain(stream) => stream.flush(),
            Stream::Tls(stream) => stream.flush(),
            Stream::Closed => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}
