//! Whether a service answers at an address already.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(2);
/// More than its answer has.
const MOST: u64 = 4096;

/// Whether a cudainfer-serve answers `/livez` there, by HTTP.
pub fn is_running(address: SocketAddr) -> bool {
    ask(address).is_ok_and(|answer| answer.ends_with(super::health::ALIVE))
}

fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET /livez HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(MOST).read_to_string(&mut answer)?;
    Ok(answer)
}
