//! Checksums of files: of their content, to find damage, and of a model, to tell it from every other.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use cudainfer_files as files;

/// Bytes that are read at a time; whole blocks of the checksum.
const CHUNK: usize = 1 << 18;
/// Odd numbers (those of SplitMix64's output function, by Vigna), so that a step maps no two states to one.
const FACTORS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];

/// 64 bits over a file's content and its length in bytes. The file is one of the cache's own: no link.
///
/// The file is read at several GB/s, where GLib's SHA-256 takes longer (220 MB/s) than what is cached on the CPU saves. The
/// checksum finds every change within eight bytes, and any other as surely as 64 bits can. It is no guard against malice, and
/// neither would another one be: whoever can write the file can write its checksum.
pub(super) fn of_content(path: &Path) -> io::Result<(u64, u64)> {
    let mut lanes = [1, 2, 3, 4];
    let mut length = 0;
    chunks(files::open_unlinked(path)?, |chunk| {
        let (blocks, rest) = chunk.as_chunks::<32>();
        for block in blocks {
            add(&mut lanes, block);
        }
        if !rest.is_empty() {
            let mut block = [0; 32];
            block[..rest.len()].copy_from_slice(rest);
            add(&mut lanes, &block);
        }
        length += chunk.len() as u64;
    })?;
    Ok((lanes.into_iter().fold(length, step), length))
}

fn add(lanes: &mut [u64; 4], block: &[u8; 32]) {
    for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
        *lane = step(*lane, u64::from_le_bytes(*word));
    }
}

/// A product alone would keep a change of the highest bit there, where another such change would undo it.
fn step(state: u64, word: u64) -> u64 {
    let mixed = (state ^ word).wrapping_mul(FACTORS[0]);
    (mixed ^ (mixed >> 29)).wrapping_mul(FACTORS[1])
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
    fn every_flipped_bit_pairs_of_them_and_every_length_give_another_checksum() {
        let path = std::env::temp_dir().join(format!("cudainfer-checksum-{}", std::process::id()));
        let sum = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            of_content(&path).unwrap()
        };
        let bytes: Vec<u8> = (0..75_u8).map(|i| i.wrapping_mul(7)).collect();
        let mut seen = std::collections::HashSet::from([sum(&bytes).0]);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(seen.insert(sum(&flipped).0), "bit {bit}");
            // The signs of two numbers of one lane: a sum of products alone would not detect that.
            if bit % 64 == 63 && bit + 256 < bytes.len() * 8 {
                flipped[bit / 8 + 32] ^= 0x80;
                assert!(seen.insert(sum(&flipped).0), "bits {bit} and {}", bit + 256);
            }
        }
        for length in 0..bytes.len() {
            assert!(seen.insert(sum(&bytes[..length]).0), "{length} bytes");
        }
        assert!(seen.insert(sum(&[&bytes[..], &[0]].concat()).0), "a zero more");
        // The same across chunks.
        let mut long = vec![3; 2 * CHUNK + 5];
        let before = sum(&long);
        assert_eq!(before.1, long.len() as u64);
        long[CHUNK + 1] = 4;
        assert_ne!(sum(&long), before);
        assert_eq!(sha256(&path).unwrap().len(), 64);
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(sha256(&path).unwrap(), sha256_of("abc"));
        assert!(sha256_of("abc").starts_with("ba7816bf"));
        std::fs::remove_file(path).unwrap();
    }
}
