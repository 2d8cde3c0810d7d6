//! What a model's operators say: whether it computes with integers of 8 bits that stand for numbers, and whether tensors are as large as the
//! picture says.

use std::cell::Cell;
use std::io;
use std::path::Path;

use super::message::{Message, read_file};

const GRAPH_NODE: u64 = 1;
const NODE_OPERATOR: u64 = 4;

/// Whether the model makes integers of numbers (QuantizeLinear); false if the file cannot be read as ONNX.
pub fn is_quantised(path: &Path) -> bool {
    read_file(path, |model| model.graph_has(GRAPH_NODE, makes_integers)).unwrap_or(false)
}

/// Operators whose outputs have as many elements as their inputs' numbers say.
const SIZED_BY_DATA: [&str; 4] = ["Compress", "NonMaxSuppression", "NonZero", "Unique"];

/// The first of the operators whose outputs are as large as the picture says, as NonZero has it; none if the file cannot be read as ONNX.
pub fn sized_by_data(path: &Path) -> Option<&'static str> {
    let found = Cell::new(None);
    let look = |node: &mut Message<'_>| -> io::Result<bool> {
        let [operators] = node.strings([NODE_OPERATOR])?;
        found.set(SIZED_BY_DATA.into_iter().find(|known| operators.iter().any(|operator| operator == known)));
        Ok(found.get().is_some())
    };
    read_file(path, |model| model.graph_has(GRAPH_NODE, look)).ok().filter(|has| *has)?;
    found.get()
}

fn makes_integers(node: &mut Message<'_>) -> io::Result<bool> {
    let [operators] = node.strings([NODE_OPERATOR])?;
    Ok(operators.iter().any(|operator| operator == "QuantizeLinear"))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{field, written};
    use super::*;

    #[test]
    fn a_model_is_quantised_if_a_node_makes_integers_and_not_if_a_name_says_so() {
        let node = |name: &str, operator: &str| {
            field(1, &[field(3, name.as_bytes()), field(4, operator.as_bytes())].concat())
        };
        for (name, nodes, wanted) in [
            ("quantised", [node("first", "Conv"), node("second", "QuantizeLinear")], true),
            ("named", [node("QuantizeLinear", "Conv"), node("second", "Relu")], false),
            ("weights", [node("first", "DequantizeLinear"), node("second", "Conv")], false),
        ] {
            let path = written(name, &[vec![1 << 3, 8], field(7, &nodes.concat())].concat());
            assert_eq!(is_quantised(&path), wanted, "{name}");
            assert_eq!(sized_by_data(&path), None, "{name}");
            std::fs::remove_file(path).unwrap();
        }
        assert!(!is_quantised(Path::new("/nonexistent")));
    }

    #[test]
    fn tensors_are_as_large_as_the_picture_says_after_some_operators() {
        let node = |operator: &str| field(1, &field(4, operator.as_bytes()));
        let path = written(
            "sized",
            &[vec![1 << 3, 8], field(7, &[node("Conv"), node("NonZero"), node("Relu")].concat())].concat(),
        );
        assert_eq!(sized_by_data(&path), Some("NonZero"));
        std::fs::remove_file(path).unwrap();
        assert_eq!(sized_by_data(Path::new("/nonexistent")), None);
    }
}
