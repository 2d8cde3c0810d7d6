//! Which modules a model was made of, by the names of its graph's nodes.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::MODEL_GRAPH;
use super::message::{Message, Value, read_file};

// Field numbers of onnx.proto.
const MODEL_PRODUCER: u64 = 2;
const GRAPH_NODE: u64 = 1;
const GRAPH_OUTPUT: u64 = 12;
const NODE_NAME: u64 = 3;
const NODE_METADATA: u64 = 9;
const OUTPUT_NAME: u64 = 1;

/// Maximum number of modules of each kind, and of outputs, that are looked at.
const MOST: usize = 256;
/// Maximum number of modules inside of these, and maximum length in bytes of their names: EfficientNetV2-L has a thousand.
const MOST_INNER: usize = 4096;
const LONGEST_INNER: usize = 128;
/// The program whose files name modules.
const PYTORCH: &str = "pytorch";
/// Maximum length in bytes of what PyTorch writes about one node.
const LONGEST_NODE: u64 = 1 << 16;
/// The key under which PyTorch's newer exporter writes the classes of the modules that a node is in, the outermost first.
const CLASSES: &str = "namespace";

/// What PyTorch's exporters show of a model's modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scopes {
    /// The program that made the file.
    pub producer: String,
    /// The model's own modules by the names of its attributes, as in `backbone` of the node `/backbone/conv1/Conv`.
    pub modules: BTreeSet<String>,
    /// The modules that these are made of, at any depth, by the names that the older exporter gives their nodes: as in
    /// `layer1.0` and `conv2` of the node `/backbone/layer1.0/conv2/Conv`.
    pub inner: BTreeSet<String>,
    /// The class of the model, as in `torchvision.models.detection.fcos.FCOS`; empty if the file does not name it.
    pub class: String,
    /// The names of the outputs.
    pub outputs: BTreeSet<String>,
}

impl Scopes {
    /// Whether PyTorch made the file.
    pub fn are_pytorchs(&self) -> bool {
        self.producer == PYTORCH
    }

    /// Whether the model has all of these modules.
    pub fn has(&self, modules: &[&str]) -> bool {
        modules.iter().all(|module| self.modules.contains(*module))
    }
}

/// The modules of a model; none where the file cannot be read as ONNX, or was not made by PyTorch.
pub(crate) fn scopes(path: &Path) -> Scopes {
    let look = |model: &mut Message<'_>| -> io::Result<_> {
        let mut found = Scopes::default();
        while let Some((field, value)) = model.next()? {
            let Value::Message(end) = value else { continue };
            let mut inner = Message { file: model.file, end };
            match field {
                MODEL_PRODUCER => {
                    found.producer = inner.text(super::LONGEST_ENTRY)?.unwrap_or_default();
                    // The program's name stands before the graph, whose names have another meaning in other programs.
                    if !found.are_pytorchs() {
                        return Ok(found);
                    }
                }
                MODEL_GRAPH => read_graph(&mut inner, &mut found)?,
                _ => (),
            }
            model.skip_to(end)?;
        }
        Ok(found)
    };
    read_file(path, look).unwrap_or_default()
}

fn read_graph(graph: &mut Message<'_>, found: &mut Scopes) -> io::Result<()> {
    while let Some((field, value)) = graph.next()? {
        let Value::Message(end) = value else { continue };
        let mut inner = Message { file: graph.file, end };
        match field {
            GRAPH_NODE if found.modules.len() < MOST => read_node(&mut inner, found)?,
            GRAPH_OUTPUT if found.outputs.len() < MOST => {
                let [names] = inner.strings([OUTPUT_NAME])?;
                found.outputs.extend(names);
            }
            _ => (),
        }
        graph.skip_to(end)?;
    }
    Ok(())
}

fn read_node(node: &mut Message<'_>, found: &mut Scopes) -> io::Result<()> {
    while let Some((field, value)) = node.next()? {
        let Value::Message(end) = value else { continue };
        let mut inner = Message { file: node.file, end };
        match field {
            NODE_NAME => {
                let name = inner.text(super::LONGEST_ENTRY)?.unwrap_or_default();
                // The last part is the operator.
                let path = name.strip_prefix('/').and_then(|name| name.rsplit_once('/'));
                let mut modules = path.into_iter().flat_map(|(path, _)| path.split('/')).map(str::to_owned);
                found.modules.extend(modules.next());
                let room = MOST_INNER.saturating_sub(found.inner.len());
                found.inner.extend(modules.filter(|name| name.len() <= LONGEST_INNER).take(room));
            }
            NODE_METADATA => {
                if let Some((key, text)) = inner.entry(LONGEST_NODE)?
                    && key == CLASSES
                {
                    read_classes(&text, found);
                }
            }
            _ => (),
        }
        node.skip_to(end)?;
    }
    Ok(())
}

/// From `: package.Model/backbone: package.Backbone/…`.
fn read_classes(text: &str, found: &mut Scopes) {
    let mut parts = text.split('/').filter_map(|part| part.split_once(": "));
    if let Some((_, class)) = parts.next().filter(|(name, _)| name.is_empty() && found.class.is_empty()) {
        class.clone_into(&mut found.class);
    }
    found.modules.extend(parts.next().map(|(name, _)| name.to_owned()));
}

#[cfg(test)]
mod tests {
    use super::super::samples::{field, written};
    use super::*;

    /// A file of PyTorch's with these nodes, of at most 127 bytes together, and an output.
    fn scopes_of(name: &str, nodes: &[Vec<u8>]) -> Scopes {
        let graph = [nodes.concat(), field(12, &field(1, b"boxes"))].concat();
        let path = written(name, &[field(2, b"pytorch"), field(7, &graph)].concat());
        let found = scopes(&path);
        std::fs::remove_file(path).unwrap();
        found
    }

    fn node(name: &str, metadata: &[(&str, &str)]) -> Vec<u8> {
        let entry = |(key, value): &(&str, &str)| {
            field(9, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat())
        };
        field(1, &[field(3, name.as_bytes()), metadata.iter().flat_map(entry).collect()].concat())
    }

    #[test]
    fn modules_are_the_first_parts_of_names_and_of_namespaces() {
        let found =
            scopes_of("scripted", &[node("/rpn/head/Conv", &[]), node("/Add", &[]), node("plain", &[])]);
        assert_eq!((found.producer.as_str(), found.class.as_str()), ("pytorch", ""));
        assert!(found.has(&["rpn"]) && found.modules.len() == 1, "{found:?}");
        assert_eq!(found.inner, BTreeSet::from(["head".to_owned()]));
        assert_eq!(found.outputs, BTreeSet::from(["boxes".to_owned()]));
        let namespace = ("namespace", ": a.Model/head: a.Head/head.0: b.Conv");
        let exported = scopes_of("exported", &[node("node_1", &[("other", "x"), namespace])]);
        assert_eq!((exported.class.as_str(), exported.has(&["head"])), ("a.Model", true));
    }

    #[test]
    fn of_a_file_that_is_no_model_nothing_is_known() {
        let path = written("no-scopes", &[field(2, b"pytorch"), vec![7 << 3 | 2, 100, 1]].concat());
        assert_eq!(scopes(&path), Scopes::default());
        std::fs::remove_file(path).unwrap();
        assert_eq!(scopes(Path::new("/nonexistent")), Scopes::default());
    }

    #[test]
    fn the_graph_of_another_program_is_not_read() {
        // The file is cut off, so that reading it would fail.
        let path = written("other", &[field(2, b"tf2onnx"), vec![7 << 3 | 2, 100, 1]].concat());
        let other = Scopes { producer: "tf2onnx".into(), ..Scopes::default() };
        assert_eq!(scopes(&path), other);
        std::fs::remove_file(path).unwrap();
    }
}
