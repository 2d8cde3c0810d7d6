use std::io::Read as _;

use cudainfer_kernels::tensor::TensorType;
use flate2::bufread::DeflateEncoder;
use flate2::{Compression, Crc};

use super::Array;

/// A `.npy` with this header and these bytes.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00".as_slice(), &length, header.as_bytes(), data].concat()
}

fn header(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}   \n")
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    DeflateEncoder::new(bytes, Compression::best()).read_to_end(&mut packed).unwrap();
    packed
}

fn crc(bytes: &[u8]) -> [u8; 4] {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum().to_le_bytes()
}

/// An archive as numpy.savez and numpy.savez_compressed write it: of each file its name, its method, its bytes, and how many the table says.
fn npz(files: &[(&str, u16, &[u8], u64)]) -> Vec<u8> {
    let (mut all, mut table) = (Vec::new(), Vec::new());
    for (name, method, data, claimed) in files {
        let offset = u32::try_from(all.len()).unwrap();
        let length = u16::try_from(name.len()).unwrap().to_le_bytes();
        // numpy forces the field of 64 bits in the member's own header.
        all.extend(b"PK\x03\x04\x2d\x00\x00\x00");
        all.extend([&method.to_le_bytes()[..], &[0; 8], &[0xff; 8], &length, &20u16.to_le_bytes()].concat());
        all.extend(name.as_bytes());
        all.extend([&1u16.to_le_bytes()[..], &16u16.to_le_bytes(), &[0; 16]].concat());
        let packed = if *method == 8 { deflated(data) } else { data.to_vec() };
        all.extend(&packed);
        let [claimed, packed] = [*claimed, if *method == 8 { packed.len() as u64 } else { *claimed }]
            .map(|n| u32::try_from(n).unwrap().to_le_bytes());
        table.extend(b"PK\x01\x02\x2d\x03\x2d\x00\x00\x00");
        table.extend([&method.to_le_bytes()[..], &[0; 4], &crc(data), &packed, &claimed, &length].concat());
        table.extend([0; 12]);
        table.extend(offset.to_le_bytes());
        table.extend(name.as_bytes());
    }
    let [begin, size] = [all.len(), table.len()].map(|n| u32::try_from(n).unwrap().to_le_bytes());
    all.extend(table);
    all.extend([b"PK\x05\x06".as_slice(), &[0; 8], &size, &begin, &[0; 2]].concat());
    all
}

fn read(bytes: &[u8], name: &str) -> Result<Array, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    std::fs::write(&path, bytes).unwrap();
    Array::read(&path, name)
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

#[test]
fn an_array_is_read_as_numpy_writes_it() {
    let array = read(&npy(&header("<f4", "(1, 2, 3)"), &floats(&[1.0; 6])), "").unwrap();
    assert_eq!((array.to_string().as_str(), array.data.len()), ("1x2x3 float32", 24));
    for (descr, ty, size) in [
        ("<f2", TensorType::Float16, 2),
        ("|u1", TensorType::UInt8, 1),
        ("<i8", TensorType::Int64, 8),
        ("|b1", TensorType::Bool, 1),
    ] {
        let array = read(&npy(&header(descr, "(2,)"), &vec![1; 2 * size]), "").unwrap();
        assert_eq!((array.ty, array.dims), (ty, vec![2]), "{descr}");
    }
    assert_eq!(read(&npy(&header("<f4", "()"), &floats(&[2.0])), "").unwrap().dims, [0usize; 0]);
}

#[test]
fn an_archive_has_the_array_of_the_name_or_the_only_one() {
    let [one, two] = [[1.0], [2.0]].map(|n| npy(&header("<f4", "(1,)"), &floats(&n)));
    let both = npz(&[("a.npy", 0, &one, one.len() as u64), ("b.npy", 0, &two, two.len() as u64)]);
    assert_eq!(&*read(&both, "b").unwrap().data, floats(&[2.0]));
    assert_eq!(&*read(&both, "a").unwrap().data, floats(&[1.0]));
    let error = read(&both, "c").unwrap_err();
    assert!(error.contains("no array 'c'") && error.contains("a.npy, b.npy"), "{error}");
    let only = npz(&[("a.npy", 0, &one, one.len() as u64)]);
    assert_eq!(&*read(&only, "c").unwrap().data, floats(&[1.0]));
}

#[test]
fn a_compressed_archive_is_read_as_well() {
    let many: Vec<f32> = (0..5000).map(|n| (n % 7) as f32).collect();
    let array = npy(&header("<f4", "(5000,)"), &floats(&many));
    let archive = npz(&[("other.npy", 0, b"", 0), ("a.npy", 8, &array, array.len() as u64)]);
    assert!(archive.len() < array.len() / 10);
    assert_eq!(&*read(&archive, "a").unwrap().data, floats(&many));
}

#[test]
fn what_a_file_says_of_its_size_is_compared_with_the_file_before_there_is_room_for_it() {
    let whole = npy(&header("<f4", "(1,)"), &floats(&[1.0]));
    let huge = npy(&header("<f4", "(100000, 100000)"), &floats(&[1.0]));
    let endless = npy(&header("<f4", "(4294967296, 4294967296, 4294967296)"), &[]);
    let length = whole.len() as u64;
    let more = npy(&header("<f4", "(2,)"), &floats(&[1.0]));
    let other_bytes = |mut archive: Vec<u8>| {
        let at = archive.windows(4).position(|four| four == floats(&[1.0])).unwrap();
        archive[at] ^= 1;
        archive
    };
    // The first byte after the header and the name says of what kind the first block is.
    let damaged = |mut archive: Vec<u8>| {
        archive[30 + "a.npy".len() + 20] = 0xff;
        archive
    };
    for (bytes, part) in [
        (huge.clone(), "100000x100000 float32, but 4 bytes follow"),
        (endless, "but 0 bytes follow"),
        (whole[..whole.len() - 2].to_vec(), "1 float32, but 2 bytes follow"),
        ([whole.clone(), vec![0; 3]].concat(), "but 7 bytes follow"),
        (npz(&[("a.npy", 0, &whole, 4_000_000_000)]), "says 4000000000 bytes of a.npy"),
        (npz(&[("a.npy", 0, &huge, huge.len() as u64)]), "but 4 bytes follow"),
        (npz(&[("a.npy", 8, &whole, length - 1)]), "but 3 bytes follow"),
        (npz(&[("a.npy", 8, &huge, huge.len() as u64)]), "but 4 bytes follow"),
        (npz(&[("a.npy", 8, &whole, 4_000_000_000)]), "says 4000000000 bytes of a.npy"),
        (npz(&[("a.npy", 8, &more, (more.len() + 4) as u64)]), "ends before its array does"),
        (npz(&[("a.npy", 12, &whole, length)]), "ZIP's method 12"),
        (other_bytes(npz(&[("a.npy", 0, &whole, length)])), "written with"),
        (
            damaged(npz(&[("a.npy", 8, &whole, length)])),
            "cannot be read: corrupt deflate stream. Write it again",
        ),
        (npz(&[]), "none at all"),
        (whole[..9].to_vec(), "header is no NumPy array's"),
        (b"PK\x03\x04 and so on".to_vec(), "no whole archive"),
        (b"hello".to_vec(), "neither a .npy nor a .npz"),
        (Vec::new(), "neither a .npy nor a .npz"),
        (npy(&header("<f8", "(1,)"), &[0; 8]), "NumPy's type <f8"),
        (npy(&header(">f4", "(1,)"), &[0; 4]), "NumPy's type >f4"),
        (npy(&header("<f4", "(1,)").replace("False", "True"), &[0; 4]), "Fortran's order"),
        (npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", &[0; 4]), "a structure"),
    ] {
        let error = read(&bytes, "a").unwrap_err();
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn no_bytes_make_reading_panic() {
    let whole = npy(&header("<f4", "(2,)"), &floats(&[1.0, 2.0]));
    let [plain, compressed] = [0, 8].map(|method| npz(&[("a.npy", method, &whole, whole.len() as u64)]));
    for original in [whole, plain, compressed] {
        for at in 0..original.len() {
            let mut changed = original.clone();
            for value in [0, 0x7f, 0xff] {
                changed[at] = value;
                let _ = read(&changed, "a");
            }
            let _ = read(&original[..at], "a");
        }
    }
}

#[test]
fn an_archive_that_was_written_is_read_again_with_all_its_arrays_and_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.npz");
    let arrays = [
        ("Zo\u{eb}", Array::of_floats(vec![2, 3], &[0.5, -1.5, 2.0, 3.0, f32::MAX, 0.0])),
        ("a/b c", Array::of_floats(vec![1], &[7.0])),
        ("__model__", Array::of_text("w600k")),
        ("none", Array::of_floats(vec![0, 4], &[])),
    ];
    let bytes = Array::archive(arrays.iter().map(|(name, array)| (*name, array))).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    let all = Array::read_all(&path, 1 << 20).unwrap();
    assert_eq!(all, arrays.map(|(name, array)| (name.to_owned(), array)));
    assert_eq!(all[0].1.floats().unwrap(), [0.5, -1.5, 2.0, 3.0, f32::MAX, 0.0]);
    assert_eq!((all[2].1.text(), all[2].1.floats(), all[0].1.text()), (Some("w600k"), None, None));
    assert_eq!(Array::read(&path, "a/b c").unwrap().dims, [1]);
    let error = Array::read_all(&path, 100).unwrap_err();
    assert!(error.contains("100 are read at most"), "{error}");
    // Cut off anywhere, it is no archive any more.
    for length in [0, 3, 30, bytes.len() - 10] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(Array::read_all(&path, 1 << 20).is_err(), "{length}");
    }
    let mut changed = bytes;
    changed[150] ^= 1;
    std::fs::write(&path, &changed).unwrap();
    assert!(Array::read_all(&path, 1 << 20).unwrap_err().contains("CRC-32"));
}

#[test]
fn fuzz_array() {
    let file = cudainfer_fuzzing::CaseFile::new("a.npz");
    // What is compressed may be 1032 times as large; the bytes of an array are there once while it is read.
    cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "array").with_ratio(1100).run(move |bytes| {
        let path = file.with(bytes);
        let _ = Array::read(path, "a");
        let _ = Array::read_all(path, 1 << 20);
    });
}
