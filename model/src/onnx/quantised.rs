//! Whether a model computes with integers of 8 bits that stand for numbers.

use std::io;
use std::path::Path;

use super::message::{Message, read_file};

const GRAPH_NODE: u64 = 1;
const NODE_OPERATOR: u64 = 4;

/// Whether the model makes integers of numbers (QuantizeLinear); false if the file cannot be read as ONNX.
pub fn is_quantised(path: &Path) -> bool {
    read_file(path, |model| model.graph_has(GRAPH_NODE, makes_integers)).unwrap_or(false)
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
            std::fs::remove_file(path).unwrap();
        }
        assert!(!is_quantised(Path::new("/nonexistent")));
    }
}
