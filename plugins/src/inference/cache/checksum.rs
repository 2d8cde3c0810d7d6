//! Checksums of files: of their content, to find damage, and of a model, to tell it from every other.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use cudainfer_files as files;
use xxhash_rust::xxh3::Xxh3;

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 18;

/// XXH3, 64 bits, of a file's content, and its length in bytes. The file is one of the cache's own: no link.
///
/// It takes the time of reading the file, where GLib's SHA-256 (220 MB/s) takes longer than what is cached on the CPU saves. It is
/// no guard against malice, and neither would another one be: whoever can write the file can write its checksum.
pub(super) fn of_content(path: &Path) -> io::Result<(u64, u64)> {
    let (mut sum, mut length) = (Xxh3::new(), 0);
    chunks(files::open_unlinked(path)?, |chunk| {
        sum.update(chunk);
        length += chunk.len() as u64;
    })?;
    Ok((sum.digest(), length))
}

/// SHA-256 of a file, in hexadecimal digits.
pub(super) fn sha256(path: &Path) -> io::Result<String> {
    let mut sum = glib::Checksum::new(glib::ChecksumType::Sha256).ok_or(io::ErrorKind::Unsupported)?;
    chunks(files::open(path)?, |chunk| sum.update(chunk))?;
    sum.string().ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// SHA-256 of a text, in hexadecimal digits.
pub(super) fn sha256_of(text: &str) -> String {
    let sum = glib::compute_checksum_for_string(glib::ChecksumType::Sha256, text);
    sum.map(String::from).unwrap_or_default()
}

/// Hands a file over in chunks of [`CHUNK`] bytes; the last one has what is left.
fn chunks(mut file: File, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let mut filled = 0;
        while filled < CHUNK {
            match file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => (),
                Err(e) => return Err(e),
            }
        }
        each(&buffer[..filled]);
        if filled < CHUNK {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_xxh3_of_all_chunks_and_a_models_sha256() {
        let path = std::env::temp_dir().join(format!("cudainfer-checksum-{}", std::process::id()));
        let sum = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            of_content(&path).unwrap()
        };
        // xxhsum -H3 of nothing and of "abc".
        assert_eq!(sum(b""), (0x2d06_8005_38d3_94c2, 0));
        assert_eq!(sum(b"abc"), (0x78af_5f94_892f_3950, 3));
        let mut long = vec![3; 2 * CHUNK + 5];
        let before = sum(&long);
        assert_eq!(before.1, long.len() as u64);
        for at in [0, CHUNK - 1, CHUNK + 1, 2 * CHUNK + 4] {
            long[at] = 4;
            assert_ne!(sum(&long), before, "{at}");
            long[at] = 3;
        }
        assert_eq!(sum(&long), before);
        assert_eq!(sha256(&path).unwrap().len(), 64);
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(sha256(&path).unwrap(), sha256_of("abc"));
        assert!(sha256_of("abc").starts_with("ba7816bf"));
        std::fs::remove_file(path).unwrap();
    }
}
