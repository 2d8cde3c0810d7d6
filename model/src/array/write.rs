//! Arrays written to a `.npz`, as numpy.savez does it.

use cudainfer_kernels::tensor::TensorType;
use flate2::Crc;

use super::dense::Array;

/// What the beginning of an array is a multiple of, as numpy.save has it.
const ALIGNMENT: usize = 64;
/// The version of ZIP that is needed to read the archive: 2.0.
const VERSION: u16 = 20;
/// Names are in UTF-8.
const UTF8: u16 = 1 << 11;
/// The first day that ZIP has, 1 January 1980: so the same arrays are the same bytes.
const DATE: u16 = 1 << 5 | 1;

impl Array {
    /// An array of float32.
    pub fn of_floats(dims: Vec<usize>, values: &[f32]) -> Self {
        let data: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
        Self { ty: TensorType::Float32, dims, data: data.into() }
    }

    /// A text as an array of its bytes in UTF-8.
    pub fn of_text(text: &str) -> Self {
        Self { ty: TensorType::UInt8, dims: vec![text.len()], data: text.as_bytes().into() }
    }

    /// The bytes of a `.npz` with these arrays, by their names.
    ///
    /// # Errors
    /// A sentence: there are more or larger ones than such a file holds without ZIP64.
    pub fn archive<'a>(arrays: impl IntoIterator<Item = (&'a str, &'a Self)>) -> Result<Vec<u8>, String> {
        let too_large = || "a .npz of 4 GiB or 65,535 arrays at most can be written".to_owned();
        let (mut all, mut table, mut count) = (Vec::new(), Vec::new(), 0_u16);
        for (name, array) in arrays {
            let name = format!("{name}.npy");
            let data = array.npy();
            let mut crc = Crc::new();
            crc.update(&data);
            let begin = u32::try_from(all.len()).map_err(|_| too_large())?.to_le_bytes();
            let size = u32::try_from(data.len()).map_err(|_| too_large())?.to_le_bytes();
            let length = u16::try_from(name.len()).map_err(|_| too_large())?.to_le_bytes();
            let [version, flags, date] = [VERSION, UTF8, DATE].map(u16::to_le_bytes);
            // Version, flags, no compression, time, date, CRC-32, both sizes, length of the name, no extra field.
            let head = [
                &version[..],
                &flags,
                &[0; 4],
                &date,
                &crc.sum().to_le_bytes(),
                &size,
                &size,
                &length,
                &[0; 2],
            ]
            .concat();
            all.extend(b"PK\x03\x04");
            all.extend(&head);
            all.extend(name.as_bytes());
            all.extend(data);
            table.extend(b"PK\x01\x02");
            table.extend(version);
            table.extend(&head);
            // No comment, the first disk, no attributes.
            table.extend([0; 10]);
            table.extend(begin);
            table.extend(name.as_bytes());
            count = count.checked_add(1).ok_or_else(too_large)?;
        }
        let begin = u32::try_from(all.len()).map_err(|_| too_large())?.to_le_bytes();
        let size = u32::try_from(table.len()).map_err(|_| too_large())?.to_le_bytes();
        let count = count.to_le_bytes();
        all.extend(table);
        all.extend([b"PK\x05\x06".as_slice(), &[0; 4], &count, &count, &size, &begin, &[0; 2]].concat());
        Ok(all)
    }

    /// As a `.npy`.
    fn npy(&self) -> Vec<u8> {
        let code = match self.ty {
            TensorType::Float32 => "f4",
            TensorType::Float16 => "f2",
            TensorType::Int32 => "i4",
            TensorType::Int64 => "i8",
            TensorType::UInt8 => "u1",
            TensorType::Int8 => "i1",
            TensorType::Bool => "b1",
        };
        let order = match (self.ty.size(), cfg!(target_endian = "big")) {
            (1, _) => '|',
            (_, true) => '>',
            (_, false) => '<',
        };
        let dims: String = self.dims.iter().map(|dim| format!("{dim},")).collect();
        let text = format!("{{'descr': '{order}{code}', 'fortran_order': False, 'shape': ({dims}), }}");
        // After the magic number, the version, the header's length in four bytes, and the header with its line end.
        let padding = (12 + text.len() + 1).next_multiple_of(ALIGNMENT) - (12 + text.len() + 1);
        let length = u32::try_from(text.len() + padding + 1).unwrap_or(u32::MAX);
        [
            b"\x93NUMPY\x02\x00".as_slice(),
            &length.to_le_bytes(),
            text.as_bytes(),
            &vec![b' '; padding],
            b"\n",
            &self.data,
        ]
        .concat()
    }
}
