//! The file with the same content as a sidecar.

use super::Sidecar;
use crate::Skeleton;

impl Sidecar {
    /// The file with the same content: only the sections and keys that are set.
    pub fn to_toml(&self) -> String {
        let mut words = self.clone();
        if words.output.labels_file.is_some() {
            // They were read from there.
            words.output.labels.clear();
        }
        words.further_labels().filter(|(_, file)| file.is_some()).for_each(|(labels, _)| labels.clear());
        let Ok(mut table) = toml::Table::try_from(&words) else { return String::new() };
        if words.skeleton == Skeleton::default() {
            table.remove("skeleton");
        }
        let mut text = String::new();
        // In the order in which the documentation has them.
        for section in [
            "input",
            "output",
            "priors",
            "anchors",
            "peaks",
            "skeleton",
            "classify",
            "embed",
            "segment",
            "map",
            "tensors",
            "constants",
            "state",
            "frames",
            "clip",
            "prompts",
            "region",
            "track",
        ] {
            let Some(toml::Value::Table(keys)) = table.get(section).filter(|keys| !is_empty(keys)) else {
                continue;
            };
            let shortened =
                |value: &toml::Value| if section == "constants" { value.clone() } else { short(value) };
            let separator = if text.is_empty() { "" } else { "\n" };
            text += &format!("{separator}[{section}]\n");
            text.extend(keys.iter().map(|(key, value)| format!("{} = {}\n", quoted(key), shortened(value))));
        }
        text
    }
}

/// Numbers with as many digits as float32 needs.
fn short(value: &toml::Value) -> toml::Value {
    match value {
        #[allow(clippy::cast_possible_truncation)] // They are float32 where they are used.
        toml::Value::Float(number) => (*number as f32).to_string().parse().unwrap_or(*number).into(),
        toml::Value::Array(list) => list.iter().map(short).collect::<Vec<_>>().into(),
        other => other.clone(),
    }
}

fn is_empty(section: &toml::Value) -> bool {
    section.as_table().is_none_or(toml::Table::is_empty)
}

/// A key as TOML writes it.
fn quoted(key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if bare { key.to_owned() } else { toml::Value::from(key).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sidecar_is_written_as_it_was_read() {
        let text = "[input]\nchannels = \"bgr\"\nheight = 480\nmean = [0.1, 0.2, 0.3]\nscale = 0.003921569\n\n\
                    [output]\nactivation = \"sigmoid\"\naxis-order = \"yx\"\nbackground = \"last\"\nbox-format = \"corners\"\n\
                    decoder = \"boxes-scores\"\nlabels = [\"it's \\\"x\\\"\", \"b\"]\nsize-unit = \"log-cells\"\n\n\
                    [priors]\naspect-ratios = [[2.0], []]\nclip = true\nmin-sizes = [[16.0, 32.0], [64.5]]\nvariances = [0.1, 0.2]\n\n\
                    [anchors]\nformula = \"yolov3\"\nscale-xy = [1.2]\nsizes = [[12.0, 16.5]]\n\n\
                    [peaks]\nblur-border = \"reflect\"\nblur-sigma = 0.8\ngrouping = \"paf\"\n\n[skeleton]\nedges = [[0, 1]]\npoints = [\"a\", \"b\"]\n\n\
                    [classify]\nactivation = \"none\"\nage = { bins = [0.0, 1.0], channels = [0, 101], mode = \"expectation\" }\n\n[segment]\nbackground = -1\n\n[map]\nchannels = \"bgr\"\nrange = \"fixed\"\nrange-max = 10.5\nrange-min = 0.0\n\n[constants]\n\"a.b\" = [0.3]\n\
                    prompts = { file = \"prompts.npz\" }\nsize = \"frame-height-width\"\nzeros = { fill = 0.0, shape = [1, 2] }\n\n[state]\ninitial = 0.5\nr1o = { input = \"r1i\", shape = [1, 2] }\n\n[frames]\nimage1 = -1\nstack = [-2, 0]\n\n\
                    [prompts]\nbox = false\nkeypoints = [\"nose\"]\ntensors = { embedding = \"output\" }\n";
        let once = toml::from_str::<Sidecar>(text).unwrap().to_toml();
        let twice = toml::from_str::<Sidecar>(&once).unwrap().to_toml();
        assert_eq!(once, twice);
        // The same values, whatever the order of the keys and the quotes.
        let values = |text: &str| toml::from_str::<toml::Table>(text).unwrap();
        assert_eq!(values(&once), values(text));
        assert_eq!(Sidecar::default().to_toml(), "");
    }
}
