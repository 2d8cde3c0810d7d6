//! Which of a file's arrays is read.

use std::io::{Read, Seek};
use std::path::Path;

use cudainfer_files as files;
use cudainfer_kernels::tensor::TensorType;

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

    /// Reads all arrays of a `.npz`, with their names, in their order. What the file says of sizes is compared with its own size before
    /// there is room for it, and all arrays together may have at most `most` bytes.
    ///
    /// # Errors
    /// As those of [`Self::read`]; there is more.
    pub fn read_all(path: &Path, most: u64) -> Result<Vec<(String, Self)>, String> {
        let mut file = files::open(path).map_err(|e| e.to_string())?;
        let length = file.metadata().map_err(|e| e.to_string())?.len();
        let mut magic = [0; 4];
        let _ = file.read_exact(&mut magic);
        if !matches!(&magic, b"PK\x03\x04" | b"PK\x05\x06") {
            return Err("it is no .npz. Write it with numpy.savez".into());
        }
        let members = npz::members(&mut file, length)?;
        let claimed = members.iter().fold(0_u64, |sum, member| sum.saturating_add(member.unpacked));
        if claimed > most {
            return Err(format!(
                "its table of contents says that its arrays have {claimed} bytes together, and {most} are read at most. Write a smaller one"
            ));
        }
        let read = |member: &Member| {
            let name = member.name.strip_suffix(".npy").unwrap_or(&member.name).to_owned();
            let array =
                npz::read(&mut file, length, member).map_err(|why| format!("its array '{name}': {why}"))?;
            Ok((name, array))
        };
        members.iter().map(read).collect()
    }

    /// Its numbers as float32; `None` of one whose elements are integers or truths.
    pub fn floats(&self) -> Option<Vec<f32>> {
        match self.ty {
            TensorType::Float32 => {
                Some(self.data.as_chunks::<4>().0.iter().map(|four| f32::from_ne_bytes(*four)).collect())
            }
            TensorType::Float16 => {
                let half = |two: &[u8; 2]| half::f16::from_ne_bytes(*two).to_f32();
                Some(self.data.as_chunks::<2>().0.iter().map(half).collect())
            }
            _ => None,
        }
    }

    /// The text of an array of bytes, as [`Self::of_text`] makes it; `None` of any other.
    pub fn text(&self) -> Option<&str> {
        (self.ty == TensorType::UInt8).then(|| str::from_utf8(&self.data).ok()).flatten()
    }
}
