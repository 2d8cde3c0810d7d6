//! What is done with each video: the pipeline's file, the values of its keys, properties of its elements.

use std::collections::BTreeMap;
use std::path::Path;

use cudainfer_launch::file::PipelineFile;
use serde::{Deserialize, Serialize};

use crate::arguments::Arguments;
use crate::digest;
use crate::videos::Video;

/// The key that is filled in with the video.
const VIDEO: &str = "video";

/// A file that takes everything and keeps nothing.
const NOWHERE: &str = "/dev/null";

/// A checked plan.
#[derive(Clone, Debug)]
pub struct Plan {
    file: PipelineFile,
    values: BTreeMap<String, String>,
    /// `ELEMENT.PROPERTY` and values.
    pub overrides: Vec<(String, String)>,
    /// What results depend on.
    pub configuration: Configuration,
}

/// What results depend on, as the result folder keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Configuration {
    /// The digest of all that follows.
    pub digest: String,
    /// The pipeline's file.
    pub pipeline: String,
    /// The digest of its elements, without the header.
    pub elements: String,
    /// The values of keys that name no file.
    pub settings: BTreeMap<String, String>,
    /// Properties that were overridden.
    pub overrides: BTreeMap<String, String>,
    /// Of keys that name files, the digest of each file by its name.
    pub files: BTreeMap<String, BTreeMap<String, String>>,
}

impl Configuration {
    /// The parts in which two differ, as `--set` and `--override` call them.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut differing = Vec::new();
        if self.elements != other.elements {
            differing.push("the pipeline".to_owned());
        }
        fn keys<V: PartialEq>(own: &BTreeMap<String, V>, other: &BTreeMap<String, V>) -> Vec<String> {
            let all = own.keys().chain(other.keys()).filter(|key| own.get(*key) != other.get(*key));
            all.cloned().collect()
        }
        differing.extend(keys(&self.settings, &other.settings));
        differing.extend(keys(&self.files, &other.files));
        differing.extend(keys(&self.overrides, &other.overrides));
        differing.sort();
        differing.dedup();
        differing
    }
}

impl Plan {
    /// Reads the pipeline and the files that its keys name.
    ///
    /// # Errors
    /// A sentence.
    pub fn new(arguments: &Arguments) -> Result<Self, String> {
        let file = PipelineFile::find(&arguments.pipeline)?;
        let values = values(&file, &arguments.set)?;
        let configuration = configuration(&file, &values, &arguments.overrides)?;
        Ok(Self { file, values, overrides: arguments.overrides.clone(), configuration })
    }

    /// The pipeline's words for a video, whose results go into a folder.
    pub fn words(&self, video: &Video, folder: &Path) -> Vec<String> {
        let folder = folder.to_string_lossy();
        let mut values = self.values.clone();
        for value in values.values_mut() {
            *value = value.replace("{out}", &folder).replace("{name}", &video.name);
        }
        values.insert(VIDEO.to_owned(), video.location.clone());
        self.file.filled(&values)
    }

    /// The digests of files that are this video's own, as the zones in `zones={name}.toml`.
    ///
    /// # Errors
    /// A sentence.
    pub fn own_files(&self, video: &Video) -> Result<BTreeMap<String, String>, String> {
        let own = self.values.values().filter(|value| value.contains("{name}") && !value.contains("{out}"));
        let digests = own.map(|value| digest::of_named(&value.replace("{name}", &video.name)));
        digests.collect::<Result<Vec<_>, _>>().map(|all| all.into_iter().flatten().collect())
    }
}

/// The values of all keys but `video`, with `{out}` and `{name}` in those that differ for each video.
fn values(file: &PipelineFile, set: &[(String, String)]) -> Result<BTreeMap<String, String>, String> {
    let shown = file.path.display();
    if file.key(VIDEO).is_err() {
        return Err(format!("the pipeline '{shown}' has no key '{VIDEO}', in which each video is filled in"));
    }
    let mut values = BTreeMap::new();
    for (name, value) in set {
        let key = file.key(name)?;
        if name == VIDEO {
            return Err("video= is filled in for each video: name the videos after the options".into());
        }
        if values.insert(name.clone(), value.clone()).is_some() {
            return Err(format!("{name}= is set twice"));
        }
        if key.result().is_some() && value != NOWHERE && !is_result(value) {
            return Err(format!(
                "{name}={value} would be the same file for every video: write {name}={{out}}/{{name}}.ENDING, or {NOWHERE}"
            ));
        }
    }
    for key in file.keys.iter().filter(|key| key.name != VIDEO) {
        if !values.contains_key(&key.name) {
            let value = key.result().map(|ending| format!("{{out}}/{{name}}.{ending}"));
            let value = value.or_else(|| file.default(key));
            let missing = || format!("the pipeline '{shown}' needs --set {}=VALUE: {}", key.name, key.help);
            values.insert(key.name.clone(), value.ok_or_else(missing)?);
        }
    }
    let mut results: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, value) in values.iter().filter(|(_, value)| value.contains("{out}")) {
        if !is_result(value) {
            return Err(format!("{name}={value} is no result: write {name}={{out}}/{{name}}.ENDING"));
        }
        if let Some(other) = results.insert(value, name) {
            return Err(format!(
                "{other}= and {name}= are the same file {value}: set one of them to another"
            ));
        }
    }
    if results.is_empty() {
        return Err(format!(
            "the pipeline '{shown}' writes nothing for each video: it needs a key whose default begins with ./out/, or --set \
             KEY={{out}}/{{name}}.ENDING"
        ));
    }
    Ok(values)
}

/// A file in the folder itself whose name begins with the video's.
fn is_result(value: &str) -> bool {
    let end = value.strip_prefix("{out}/{name}");
    end.is_some_and(|end| end.starts_with(['.', '-', '_']) && !end.contains(['/', '{']))
}

fn configuration(
    file: &PipelineFile,
    values: &BTreeMap<String, String>,
    overrides: &[(String, String)],
) -> Result<Configuration, String> {
    let (mut settings, mut files) = (BTreeMap::new(), BTreeMap::new());
    for (name, value) in values {
        let found = digest::of_named(value)?;
        if found.is_empty() {
            settings.insert(name.clone(), value.clone());
        } else {
            files.insert(name.clone(), found);
        }
    }
    let elements = digest::of_bytes(file.filled(&BTreeMap::new()).join("\n").as_bytes());
    let mut configuration = Configuration {
        digest: String::new(),
        pipeline: file.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        elements,
        settings,
        overrides: overrides.iter().cloned().collect(),
        files,
    };
    // A pipeline of another name is the same.
    let Configuration { elements, settings, overrides, files, .. } = &configuration;
    let text = serde_json::to_string(&(elements, settings, overrides, files)).map_err(|e| e.to_string())?;
    configuration.digest = digest::of_bytes(text.as_bytes());
    Ok(configuration)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Does\n# video=  the video\n# model=  the model\n# classes=a  which\n# json=./out/x.jsonl  results\n\
        # output=./out/x.mp4  drawn\nfilesrc location={video} ! t model={model} c={classes} ! p l={json} ! filesink location={output}\n";

    fn plan(text: &str, set: &[(&str, &str)], overrides: &[(&str, &str)]) -> Result<Plan, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.launch");
        std::fs::write(&path, text).unwrap();
        let pairs = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let pipeline = path.display().to_string();
        Plan::new(&Arguments {
            pipeline,
            set: pairs(set),
            overrides: pairs(overrides),
            ..Arguments::default()
        })
    }

    #[test]
    fn each_video_has_results_of_its_own() {
        let plan = plan(TEXT, &[("model", "m"), ("output", "{out}/{name}-drawn.mp4")], &[]).unwrap();
        let video = Video { name: "a b".into(), location: "/v/a b.avi".into() };
        let words = plan.words(&video, Path::new("/o/.a b.part")).join("|");
        for word in [
            "location=/v/a b.avi",
            "l=/o/.a b.part/a b.jsonl",
            "location=/o/.a b.part/a b-drawn.mp4",
            "c=a",
            "model=m",
        ] {
            assert!(words.split('|').any(|found| found == word), "{word}: {words}");
        }
    }

    #[test]
    fn the_digest_is_that_of_what_results_depend_on() {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("m.onnx");
        std::fs::write(&model, "one").unwrap();
        let model = model.to_str().unwrap();
        let digest = |text: &str, classes: &str, overrides: &[(&str, &str)]| {
            plan(text, &[("model", model), ("classes", classes)], overrides).unwrap().configuration
        };
        let first = digest(TEXT, "a", &[]);
        assert_eq!(first, digest(&TEXT.replace("Does", "Does so"), "a", &[]), "the header's words");
        for (other, differing) in [
            (digest(TEXT, "b", &[]), "classes"),
            (digest(&TEXT.replace("c=", "d="), "a", &[]), "the pipeline"),
            (digest(TEXT, "a", &[("t.x", "1")]), "t.x"),
        ] {
            assert_ne!(first.digest, other.digest);
            assert_eq!(first.differences(&other), [differing]);
        }
        std::fs::write(folder.path().join("m.toml"), "").unwrap();
        let other = digest(TEXT, "a", &[]);
        assert_ne!(first.digest, other.digest);
        assert_eq!(first.differences(&other), ["model"]);
    }

    #[test]
    fn each_wrong_value_is_a_sentence() {
        for (text, set, part) in [
            (TEXT.to_owned(), vec![], "needs --set model=VALUE: the model"),
            (TEXT.to_owned(), vec![("model", "m"), ("modell", "x")], "'model' is probably meant"),
            (TEXT.to_owned(), vec![("video", "a.mp4")], "name the videos after the options"),
            (TEXT.to_owned(), vec![("model", "m"), ("model", "n")], "is set twice"),
            (TEXT.to_owned(), vec![("model", "m"), ("json", "a.jsonl")], "the same file for every video"),
            (
                TEXT.to_owned(),
                vec![("model", "m"), ("json", "{out}/all.jsonl")],
                "the same file for every video",
            ),
            (TEXT.to_owned(), vec![("model", "{out}/x")], "is no result"),
            (TEXT.to_owned(), vec![("model", "m"), ("json", "{out}/{name}.mp4")], "are the same file"),
            (
                TEXT.to_owned(),
                vec![("model", "m"), ("json", "/dev/null"), ("output", "/dev/null")],
                "writes nothing",
            ),
            (TEXT.replace("video", "film"), vec![("model", "m")], "has no key 'video'"),
        ] {
            let error = plan(&text, &set, &[]).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
