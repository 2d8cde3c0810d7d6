//! The pipelines of pipelines/, as tests run them.

use std::collections::HashMap;

use crate::root;

/// A launch file with its keys filled in, as tools/cudainfer_tools/pipeline.py does: `# key=default  help` declares `{key}`.
pub fn launch(name: &str, values: &[(&str, &str)]) -> String {
    let text = std::fs::read_to_string(root().join("pipelines").join(format!("{name}.launch"))).unwrap();
    let (header, description): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with('#'));
    let mut description = description.join(" ");
    let mut keys: HashMap<&str, &str> = HashMap::new();
    for words in header {
        let Some((key, default)) = words[1..].split_whitespace().next().and_then(|w| w.split_once('='))
        else {
            continue;
        };
        keys.insert(key, default);
    }
    for (key, value) in values {
        assert!(keys.insert(key, value).is_some(), "{name} has no key {key}");
    }
    for (key, value) in keys {
        let value = match value.strip_prefix("./") {
            Some(path) => root().join(path).display().to_string(),
            None => value.to_owned(),
        };
        description = description.replace(&format!("{{{key}}}"), &value);
    }
    description
}
