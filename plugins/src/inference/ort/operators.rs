//! ONNX Runtime of Debian and Ubuntu shares ONNX's operators with `libonnx.so`, which has registered them already, and writes some
//! 600 "Schema error: Trying to register schema ..." to the standard error of the process when its first session is made. They
//! mean nothing; they would be the first that a user sees of us.

use std::io::{self, BufRead, BufReader, PipeReader, Write, pipe};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

use ort::environment::Environment;
use ort::session::Session;

use super::messages::CAT;
use crate::loader;

/// What each of these messages begins with; an empty line follows.
const COMPLAINT: &str = "Schema error: Trying to register schema with name ";

/// The line that ends what is looked at.
const END: &str = "cudainfer: the operators are registered";

/// A model of one `Identity` of one number, as `onnx.helper` makes it: IR version 8, operator set 13.
const SMALLEST: &[u8] = b"\x08\x08:7\n\x10\n\x01x\x12\x01y\"\x08Identity\x12\x01gZ\x0f\n\x01x\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x01b\x0f\n\x01y\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x01B\x04\n\x00\x10\r";

/// Has the operators registered, once the environment is there, without these messages. What else is written to the standard
/// error meanwhile stays, in its order.
pub(super) fn register(environment: &Environment) {
    // Builds that have ONNX inside do not complain.
    if !loader::has(Path::new("libonnx.so.1")) {
        return;
    }
    match without_complaints(|| Session::builder(environment)?.commit_from_memory(SMALLEST)) {
        Ok((Ok(_), count)) => {
            gst::info!(CAT, "libonnx.so had registered {count} operators before: this means nothing")
        }
        Ok((Err(e), _)) => gst::warning!(CAT, "a model of one Identity does not open: {e}"),
        Err(e) => gst::info!(CAT, "'Schema error: Trying to register schema' means nothing, and stays: {e}"),
    }
}

/// Does `work`; also returns how many complaints did not reach the standard error.
fn without_complaints<T>(work: impl FnOnce() -> T) -> io::Result<(T, usize)> {
    let (reader, mut writer) = pipe()?;
    let before = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)?;
    let (done, counted) = channel();
    let to = std::fs::File::from(before.try_clone()?);
    // Whatever others start meanwhile inherits the pipe, so it is read for as long as anybody writes to it.
    std::thread::Builder::new().name("standard error".into()).spawn(move || forward(reader, to, &done))?;
    rustix::stdio::dup2_stderr(&writer)?;
    let result = work();
    rustix::stdio::dup2_stderr(&before)?;
    writer.write_all(format!("{END}\n").as_bytes())?;
    Ok((result, counted.recv().unwrap_or_default()))
}

/// Hands on what is read, without the complaints, whose number it sends at the end of `work`.
fn forward(reader: PipeReader, mut to: impl Write, done: &Sender<usize>) {
    let (mut count, mut empty) = (0, false);
    for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
        if line.starts_with(COMPLAINT.as_bytes()) {
            count += 1;
        } else if let Some(unfinished) = line.strip_suffix(END.as_bytes()) {
            let _ = to.write_all(unfinished);
            let _ = done.send(count);
        } else if !(empty && line.is_empty()) {
            let _ = to.write_all(&[line.as_slice(), b"\n"].concat());
        }
        empty = line.starts_with(COMPLAINT.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_alone_are_left_out_and_counted() {
        let (reader, mut writer) = pipe().unwrap();
        let complaint = format!("{COMPLAINT}Abs\n\n");
        let text = format!("one\n{complaint}{complaint}two\n\n{complaint}2.{END}\n5\n");
        writer.write_all(text.as_bytes()).unwrap();
        drop(writer);
        let (done, counted) = channel();
        let mut left = Vec::new();
        forward(reader, &mut left, &done);
        assert_eq!((String::from_utf8(left).unwrap().as_str(), counted.recv()), ("one\ntwo\n\n2.5\n", Ok(3)));
    }
}
