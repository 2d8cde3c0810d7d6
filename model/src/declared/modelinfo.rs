//! `.modelinfo` files, which onnxinference and tfliteinference of GStreamer 1.28 need beside a model: a key file with the section
//! `[modelinfo]` (`version`, `group-id`) and one for each tensor (`dir`, `type`, `dims`, `id`, `dims-order`, `ranges`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cudainfer_files as files;

use super::claim::Claim;
use super::key_file::KeyFile;
use super::statements::Declared;
use crate::TensorIds;
use crate::origin::OriginKind;
use crate::sidecar::Input;

/// The section that is no tensor's.
const HEADER: &str = "modelinfo";

/// The keys of a tensor's section.
const KEYS: [&str; 7] = ["id", "group-id", "dir", "type", "dims", "dims-order", "ranges"];

/// The files that may be a model's: `model.onnx.modelinfo`, then `model.modelinfo`, as in GStreamer.
fn candidates(model: &Path) -> [PathBuf; 2] {
    let mut whole = model.as_os_str().to_owned();
    whole.push(".modelinfo");
    [whole.into(), model.with_extension("modelinfo")]
}

/// What the file beside the model says; `None` where there is none.
pub(super) fn read(model: &Path) -> Option<Declared> {
    let mut found = candidates(model).into_iter().map(|path| (files::text(&path), path));
    let is_there = |(text, _): &(std::io::Result<String>, PathBuf)| {
        !text.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    };
    let (text, path) = found.find(is_there)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let unread = |why: String| {
        let warning = format!(
            "'{}' was not read: {why}. Correct it, remove it, or write a sidecar instead",
            path.display()
        );
        Declared { warnings: vec![warning], ..Declared::new(OriginKind::FileBeside, &name) }
    };
    Some(text.map_err(|error| error.to_string()).and_then(|text| parse(&text, &name)).unwrap_or_else(unread))
}

fn parse(text: &str, name: &str) -> Result<Declared, String> {
    let file = KeyFile::of(text)?;
    check_version(&file)?;
    let mut declared = Declared::new(OriginKind::FileBeside, name);
    let mut complain = |section: &str, why: String| {
        declared.warnings.push(format!("[{section}] of '{name}' beside the model: {why}"));
    };
    let mut ids = TensorIds::default();
    let mut input = None;
    for (section, keys) in &file.0 {
        let unknown = keys.keys().find(|key| section != HEADER && !KEYS.contains(&key.as_str()));
        if let Some(key) = unknown {
            complain(
                section,
                format!("the key '{key}' is not known and was ignored. Known are {}", KEYS.join(", ")),
            );
        }
        let mut word = |key: &str| match keys.get(key).map(String::as_str) {
            Some(word) if TensorIds::is_word(word) && !word.starts_with("PLACEHOLDER") => {
                Some(word.to_owned())
            }
            Some(other) => {
                complain(
                    section,
                    format!(
                        "{key} '{other}' is not an identifier and was ignored. Write letters, digits, '-', '_' and '.', \
                                           a letter first"
                    ),
                );
                None
            }
            None => None,
        };
        if section == HEADER {
            ids.group = word("group-id");
            continue;
        }
        let id = word("id");
        let claim = match claim(section, keys) {
            Ok(claim) => claim,
            Err(why) => {
                complain(section, why);
                continue;
            }
        };
        if claim.is_input != Some(true)
            && let Some(id) = id
        {
            ids.ids.insert(section.clone(), id);
            match keys.get("dims-order").map(String::as_str) {
                None | Some("row-major") => (),
                Some("col-major") => ids.col_major.push(section.clone()),
                Some(other) => complain(
                    section,
                    format!("dims-order '{other}' was ignored: it is row-major or col-major"),
                ),
            }
        }
        if claim.is_input != Some(false)
            && let Some(ranges) = keys.get("ranges")
        {
            match normalization(ranges) {
                Ok(found) => input = Some(found),
                Err(why) => complain(section, why),
            }
        }
        declared.claims.push(claim);
    }
    declared.words.tensors = ids;
    declared.words.input = input.unwrap_or_default();
    Ok(declared)
}

/// The claims of a section about what the model's file describes, too.
fn claim(section: &str, keys: &BTreeMap<String, String>) -> Result<Claim, String> {
    let is_input = match keys.get("dir").map(String::as_str) {
        None => None,
        Some("input") => Some(true),
        Some("output") => Some(false),
        Some(other) => {
            return Err(format!("dir '{other}' is neither input nor output, so the section was ignored"));
        }
    };
    let dims = keys.get("dims").map(|list| {
        let dims = list.split(',').map(|dim| dim.trim().parse::<i64>());
        // Every negative number stands for any size.
        let dims = dims.map(|dim| dim.map(|dim| usize::try_from(dim).ok())).collect::<Result<Vec<_>, _>>();
        dims.map_err(|_| {
            format!("dims '{list}' are not whole numbers with commas between, so the section was ignored")
        })
    });
    Ok(Claim { name: section.to_owned(), is_input, ty: keys.get("type").cloned(), dims: dims.transpose()? })
}

/// `ranges`, what pixels of 0 and 255 become in each channel, as scale, mean and std.
fn normalization(ranges: &str) -> Result<Input, String> {
    let wrong = || {
        format!(
            "ranges '{ranges}' were ignored. Write minimum and maximum with a comma between, for all channels or for each of three with \
             semicolons between, as in 0.0,1.0"
        )
    };
    let pair = |text: &str| -> Option<(f32, f32)> {
        let (min, max) = text.split_once(',')?;
        let (min, max) = (min.trim().parse::<f32>().ok()?, max.trim().parse::<f32>().ok()?);
        ((max - min).is_finite() && max != min).then_some((min, max))
    };
    let pairs: Vec<_> =
        ranges.trim_end_matches(';').split(';').map(pair).collect::<Option<_>>().ok_or_else(wrong)?;
    if !matches!(pairs.len(), 1 | 3) {
        return Err(wrong());
    }
    let first = pairs.first().copied().ok_or_else(wrong)?;
    let input = if pairs.iter().all(|pair| *pair == first) {
        let (min, max) = first;
        Input { scale: Some((max - min) / 255.0), mean: Some(vec![-min]), ..Input::default() }
    } else {
        // scale * pixel, less mean, by std: the same for every channel's own minimum and maximum.
        let means = pairs.iter().map(|(min, max)| -min / (max - min)).collect();
        let stds = pairs.iter().map(|(min, max)| 1.0 / (max - min)).collect();
        Input { scale: Some(1.0 / 255.0), mean: Some(means), std: Some(stds), ..Input::default() }
    };
    // No mean at all where it is 0.
    let mean = input.mean.filter(|mean| mean.iter().any(|mean| *mean != 0.0));
    Ok(Input { mean, ..input })
}

/// GStreamer 1.28 reads files of version 1.
fn check_version(file: &KeyFile) -> Result<(), String> {
    let header = file.0.get(HEADER).ok_or("it has no section [modelinfo] with version=1.0")?;
    let version = header.get("version").ok_or("its section [modelinfo] has no version=1.0")?;
    match version.split_once('.') {
        Some(("1", minor)) if minor.parse::<u32>().is_ok() => Ok(()),
        _ => Err(format!("its version is '{version}', but 1.0 is read")),
    }
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::tensor::TensorDesc;

    use super::*;

    fn read(text: &str) -> Declared {
        parse(&format!("[modelinfo]\nversion=1.0\ngroup-id=g\n\n{text}"), "m.modelinfo").unwrap()
    }

    #[test]
    fn identifiers_and_the_input_are_read() {
        let declared = read(
            "# a comment\n[image]\ndims=-1,3,64,64\ndir=input\ntype=float32\nranges=0.0,1.0\n\n[out]\nid=x-out\ngroup-id=g\ndims=1,7,84\n\
             dir=output\ntype=float32\ndims-order=col-major\n",
        );
        assert_eq!(declared.warnings, Vec::<String>::new());
        let ids = &declared.words.tensors;
        assert_eq!(
            (ids.group.as_deref(), ids.id("out"), ids.is_col_major("out")),
            (Some("g"), "x-out", true)
        );
        assert_eq!(ids.ids.len(), 1);
        assert_eq!((declared.words.input.scale, &declared.words.input.mean), (Some(1.0 / 255.0), &None));
        let desc = |text: &str| text.parse::<TensorDesc>().unwrap();
        let (input, output) = ([desc("image:float32:1x3x64x64")], [desc("out:float32:1x7x84")]);
        assert!(declared.claims.iter().all(|claim| claim.contradiction(&input, &output).is_none()));
        let other = [desc("out:float32:1x8x84")];
        let contradictions: Vec<_> =
            declared.claims.iter().filter_map(|claim| claim.contradiction(&input, &other)).collect();
        assert_eq!(
            contradictions,
            ["says that 'out' is float32 1x7x84, but in the model it is out:float32:1x8x84"]
        );
        let contradiction =
            declared.claims.iter().find_map(|claim| claim.contradiction(&input, &[desc("a:int64:1")]));
        assert_eq!(contradiction.as_deref(), Some("describes 'out', but the model has only a"));
    }

    #[test]
    fn ranges_become_what_the_pixels_become() {
        for (ranges, low, high) in [
            ("0.0,255.0", [0.0; 3], [255.0; 3]),
            ("0,1", [0.0; 3], [1.0; 3]),
            ("-1.0,1.0", [-1.0; 3], [1.0; 3]),
            ("16.0,235.0;16.0,235.0;16.0,235.0", [16.0; 3], [235.0; 3]),
            ("0.0,255.0;-1.0,1.0;0.0,1.0", [0.0, -1.0, 0.0], [255.0, 1.0, 1.0]),
            ("1,0", [1.0; 3], [0.0; 3]),
        ] {
            let Input { scale, mean, std, .. } = normalization(ranges).unwrap();
            let of = |list: &Option<Vec<f32>>, channel: usize, default: f32| match list {
                Some(list) => list[channel.min(list.len() - 1)],
                None => default,
            };
            for channel in 0..3 {
                let value =
                    |pixel: f32| (pixel * scale.unwrap() - of(&mean, channel, 0.0)) / of(&std, channel, 1.0);
                // A float32 with six digits.
                assert!((value(0.0) - low[channel]).abs() < 1e-4, "{ranges}: {}", value(0.0));
                assert!((value(255.0) - high[channel]).abs() < 1e-3, "{ranges}: {}", value(255.0));
            }
        }
    }

    #[test]
    fn what_is_wrong_is_a_sentence_and_the_rest_is_read() {
        for (text, sentence) in [
            ("[a]\nid=x\ncolour=red", "[a] of 'm.modelinfo' beside the model: the key 'colour' is not known"),
            ("[a]\nid=PLACEHOLDER-ID-REQUIRED", "id 'PLACEHOLDER-ID-REQUIRED' is not an identifier"),
            ("[a]\nid=two words", "id 'two words' is not an identifier"),
            ("[a]\nid=x\ndir=sideways", "dir 'sideways' is neither input nor output"),
            ("[a]\nid=x\ndims=1,many", "dims '1,many' are not whole numbers"),
            ("[a]\nid=x\ndims-order=z", "dims-order 'z' was ignored"),
            (
                "[a]\ndir=input\nranges=PLACEHOLDER-RANGES-REQUIRED",
                "ranges 'PLACEHOLDER-RANGES-REQUIRED' were ignored",
            ),
            ("[a]\ndir=input\nranges=0", "ranges '0' were ignored"),
            ("[a]\ndir=input\nranges=1,1", "ranges '1,1' were ignored"),
            ("[a]\ndir=input\nranges=0,1;0,1", "ranges '0,1;0,1' were ignored"),
            ("[a]\ndir=input\nranges=nan,inf", "ranges 'nan,inf' were ignored"),
        ] {
            let declared = read(text);
            assert_eq!(declared.warnings.len(), 1, "{text}: {:?}", declared.warnings);
            assert!(declared.warnings[0].contains(sentence), "{:?}", declared.warnings);
            assert_eq!(declared.words.tensors.group.as_deref(), Some("g"));
        }
        for (text, sentence) in [
            ("", "no section [modelinfo]"),
            ("[modelinfo]\ngroup-id=g", "no version"),
            ("[modelinfo]\nversion=2.0", "its version is '2.0'"),
            ("[modelinfo]\nversion=one", "its version is 'one'"),
            ("no key file", "Key file"),
            ("[modelinfo]\nversion=1.0\n[a]\nid=x\0\n", "a NUL in it"),
        ] {
            let why = parse(text, "m.modelinfo").unwrap_err();
            assert!(why.contains(sentence), "{text}: {why}");
        }
    }

    #[test]
    fn fuzz_modelinfo() {
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "modelinfo")
            .with_ratio(100) // a section has a table, and may have one byte
            .run_text(|text| drop(parse(text, "a.modelinfo")));
    }
}
