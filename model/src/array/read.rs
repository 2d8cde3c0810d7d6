//! Which of a file's arrays is read.

use std::io::{Read, Seek};
use std::path::Path;

use cudainfer_files as files;

use super::dense::Array;
use super::npz::Member;
use super::{npy, npz};

impl Array {
    /// Reads an array from a `.npy`, or from a `.npz` the one of this name, or the only one. What a file says of sizes is
    /// compared with its own size before there is room for it; what is compressed may be up to 1032 times as large.
    ///
    /// # Errors
    /// A sentence without the file's name: it cannot be read, is no such file, has no such array, or other bytes than it says.
    pub fn read(path: &Path, name: &str) -> Result<Self, String> {
        let mut file = files::open(path).map_err(|e| e.to_string())?;
        let length = file.metadata().map_err(|e| e.to_string())?.len();
        let mut magic = [0; 4];
        // A file that is shorter is neither.
        let _ = file.read_exact(&mut magic);
        match &magic {
            b"\x93NUM" => {
                file.rewind().map_err(|e| e.to_string())?;
                npy::read(&mut file, length)
            }
            b"PK\x03\x04" | b"PK\x05\x06" => {
                let members = npz::members(&mut file, length)?;
                let of = |member: &&Member| member.name.strip_suffix(".npy").unwrap_or(&member.name) == name;
                let member = match (members.iter().find(of), members.as_slice()) {
                    (Some(named), _) => named,
                    (None, [only]) => only,
                    (None, _) => {
                        let names: Vec<_> = members.iter().map(|member| member.name.as_str()).collect();
                        return Err(format!(
                            "it has no array '{name}', but {}. Call the right one so, or name it with array in the sidecar",
                            if names.is_empty() { "none at all".to_owned() } else { names.join(", ") }
                        ));
                    }
                };
                npz::read(&mut file, length, member)
            }
            _ => Err("it is neither a .npy nor a .npz. Write it with numpy.save or numpy.savez".into()),
        }
    }
}
