//! Copies of several pieces in one launch.

use cudainfer_kernels::copies::CudaCopies;

use super::{Random, download, stream, upload};

/// Copies pieces of these lengths, each this far from where it would be aligned in the source and in the target, and compares all bytes of
/// the target with what they must be.
fn check(lengths: &[usize], [ahead, before]: [usize; 2]) {
    let stream = stream();
    let gap = 48;
    let room: usize = lengths.iter().map(|length| (length + gap).next_multiple_of(16)).sum();
    let mut random = Random::new(room as u64);
    let data: Vec<u8> = (0..room + 16).map(|_| random.next() as u8).collect();
    let (source, target) = (upload(&stream, &data), upload(&stream, &vec![0x5a; room + 16]));
    let mut wanted = vec![0x5a; room + 16];
    let mut copies = Vec::new();
    let mut at = 0;
    for length in lengths {
        // Each piece goes to where the mirror of its place is.
        let place = room - at - (length + gap).next_multiple_of(16) + before;
        let piece = source.slice().after(at + ahead).first(*length);
        copies.push((piece, target.slice().after(place).first(*length)));
        wanted[place..place + length].copy_from_slice(&data[at + ahead..][..*length]);
        at += (length + gap).next_multiple_of(16);
    }
    CudaCopies::new(&stream).unwrap().start(&stream, &copies).unwrap();
    let launches = if lengths.len() == 1 { 0 } else { lengths.len().div_ceil(64) as u64 };
    assert_eq!(stream.counters().launches.get(), launches, "{lengths:?}");
    assert_eq!(stream.counters().device_to_device.get(), lengths.iter().sum::<usize>() as u64);
    let got = download(&stream, target.slice());
    let differs = got.iter().zip(&wanted).position(|(got, wanted)| got != wanted);
    assert_eq!(differs, None, "the first byte that differs, of {lengths:?}, {ahead} and {before} ahead");
}

#[test]
#[ignore = "needs a CUDA device"]
fn pieces_of_any_length_and_place_are_copied_and_nothing_else_is_written() {
    for places in [[0, 0], [1, 0], [0, 2], [3, 3], [16, 8]] {
        check(&[0, 1, 15, 16, 17, 4095, 4096, 4097, 65_536, 300_001], places);
        check(&[77], places);
    }
    check(&[], [0, 0]);
    // A batch's images, more pieces than a launch takes, and more than the largest grid takes in one go.
    check(&[3 * 640 * 640 * 2; 16], [0, 0]);
    check(&[1000; 150], [0, 0]);
    check(&[2048 * 256 * 64 + 5000, 3], [0, 0]);
}
