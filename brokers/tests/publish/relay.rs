//! A way to a broker that is opened when the test is ready for what comes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Passes connections on to a port that the test chooses; none while it has not chosen one.
pub struct Relay {
    pub port: u16,
    to: Arc<Mutex<Option<u16>>>,
}

impl Relay {
    /// `pace` is waited after each piece of at most `piece` bytes on the way to the broker.
    pub fn start(pace: Duration, piece: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let to: Arc<Mutex<Option<u16>>> = Arc::default();
        let own = Arc::clone(&to);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // Held while it connects: who chooses another port knows that nobody is on the way to the one before.
                let port = own.lock().unwrap();
                let Some(Ok(broker)) = port.map(|port| TcpStream::connect(("127.0.0.1", port))) else {
                    continue;
                };
                drop(port);
                let (client_too, broker_too) = (client.try_clone().unwrap(), broker.try_clone().unwrap());
                std::thread::spawn(move || copy(client, broker, pace, piece));
                std::thread::spawn(move || copy(broker_too, client_too, Duration::ZERO, 1 << 16));
            }
        });
        Self { port, to }
    }

    pub fn lead_to(&self, port: Option<u16>) {
        *self.to.lock().unwrap() = port;
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, pace: Duration, piece: usize) {
    let mut bytes = vec![0; piece];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
        std::thread::sleep(pace);
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
