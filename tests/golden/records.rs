//! A record as a golden file has it: its numbers with a fraction, which runtimes add up in other orders, apart from everything else,
//! which must be the same to the letter.

use serde_json::Value;

/// Fields that are others in each run.
const PASSING: [&str; 5] = ["id", "time", "clock", "source", "stream"];

/// A record in two parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The CRC of the record with `~` in place of each number that has a fraction.
    pub rest: u32,
    /// These numbers, in their order.
    pub numbers: Vec<f64>,
    /// Which of them are parts of a whole, as confidences are, and no lengths.
    pub parts: Vec<bool>,
}

impl Record {
    /// Of a line of inferpublish.
    pub fn of(line: &str) -> Self {
        let mut value: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        for field in PASSING {
            value.as_object_mut().unwrap().remove(field);
        }
        let (mut numbers, mut parts) = (Vec::new(), Vec::new());
        take_numbers(&mut value, "", &mut |key, number| {
            numbers.push(number);
            parts.push(["confidence", "similarity", "score", "values"].contains(&key));
        });
        Self { rest: crc(value.to_string().as_bytes()), numbers, parts }
    }

    /// How it differs from what is expected by more than the tolerances of confidences and of lengths.
    pub fn difference(&self, rest: u32, numbers: &[f64], tolerance: [f64; 2]) -> Option<String> {
        if rest != self.rest || numbers.len() != self.numbers.len() {
            let count = [numbers.len(), self.numbers.len()];
            return Some(format!(
                "other objects, labels, counts or events; {count:?} numbers with a fraction"
            ));
        }
        let all = self.numbers.iter().zip(numbers).zip(&self.parts).enumerate();
        all.map(|(at, ((got, wanted), is_part))| (at, got, wanted, tolerance[usize::from(!is_part)]))
            // Not "more than": a number that is none is no match.
            .find(|(_, got, wanted, tolerance)| {
                let difference = (*got - *wanted).abs();
                difference.is_nan() || difference > *tolerance
            })
            .map(|(at, got, wanted, tolerance)| {
                format!("number {at} is {got}, not {wanted} within {tolerance}")
            })
    }
}

/// Replaces the numbers with a fraction. Lists have the key that they are under.
fn take_numbers(value: &mut Value, key: &str, take: &mut impl FnMut(&str, f64)) {
    match value {
        Value::Number(number) if number.is_f64() => {
            take(key, number.as_f64().unwrap_or(f64::NAN));
            *value = Value::String("~".into());
        }
        Value::Array(all) => all.iter_mut().for_each(|value| take_numbers(value, key, take)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(key, value)| take_numbers(value, key, take));
        }
        _ => (),
    }
}

/// The CRC-32 of IEEE 802.3, as zlib has it.
pub fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & 0u32.wrapping_sub(crc & 1)))
    };
    !bytes.iter().fold(!0, step)
}
