//! Which variant of a session was found to be the fastest: a small text in an entry of the cache, with a line for each shape.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use cudainfer_files as files;
use cudainfer_kernels::device::Device;

use super::entry::Entry;
use super::key::Key;
use super::{Cache, folder};
use crate::inference::{Config, Provider};
use crate::log::CACHE as CAT;

/// The file in the entry.
const FILE: &str = "variants.txt";
/// Shapes that are remembered: a model that is used in more of them is measured again now and then.
const MOST: usize = 32;

/// Shapes and the variants that were the fastest for them; the one that was measured last is first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::inference) struct Choices(Vec<(String, String)>);

impl Choices {
    /// The variant that was the fastest for this shape.
    pub fn of(&self, shape: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == shape).map(|(_, variant)| variant.as_str())
    }

    /// The variant for the shape that was measured last.
    pub fn latest(&self) -> Option<&str> {
        self.0.first().map(|(_, variant)| variant.as_str())
    }

    /// Remembers the fastest variant for another shape.
    pub fn add(&mut self, shape: &str, variant: &str) {
        self.0.retain(|(known, _)| known != shape);
        self.0.insert(0, (shape.to_owned(), variant.to_owned()));
        self.0.truncate(MOST);
    }

    /// `None` where a line is not a variant and a shape.
    fn parse(text: &str) -> Option<Self> {
        let line = |line: &str| line.split_once(' ').map(|(variant, shape)| (shape.into(), variant.into()));
        text.lines().map(line).collect::<Option<Vec<_>>>().map(Self)
    }
}

impl fmt::Display for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(shape, variant)| writeln!(f, "{variant} {shape}"))
    }
}

impl Cache {
    /// Names the libraries and versions that the provider's sessions work with, and the variants to choose from: the results are
    /// only valid for these.
    pub fn works_with(&mut self, libraries: &str, variants: &[&str]) {
        self.depends = format!("{libraries}, variants {}", variants.join(" "));
    }

    /// What was found for the model on this provider; nothing where that is not kept.
    pub fn choices(&mut self, config: &Config, provider: Provider, device: Option<&Device>) -> Choices {
        let Some(entry) = self.place(config, provider, device) else { return Choices::default() };
        match entry.check() {
            Ok(false) => return Choices::default(),
            Ok(true) => (),
            Err(why) => {
                self.damaged(&entry, Some(why));
                return Choices::default();
            }
        }
        let file = entry.folder().join(FILE);
        let choices = files::text_unlinked(&file).ok().and_then(|text| Choices::parse(&text));
        if choices.is_none() {
            self.damaged(&entry, Some(format!("'{}' is not a list of variants", file.display())));
        } else {
            gst::info!(CAT, "how {} runs comes from '{}'", config.model.display(), entry.folder().display());
        }
        choices.unwrap_or_default()
    }

    /// Keeps what was found.
    pub fn remember(
        &mut self,
        config: &Config,
        provider: Provider,
        device: Option<&Device>,
        choices: &Choices,
    ) {
        let Some(entry) = self.place(config, provider, device) else { return };
        // The new entry has the old one's other shapes, too.
        self.replace(&entry, &HashMap::from([(FILE.to_owned(), choices.to_string().into_bytes())]));
    }

    /// The entry for this model on this provider; `None` where the cache is off, or the model cannot be read.
    pub(super) fn place(
        &mut self,
        config: &Config,
        provider: Provider,
        device: Option<&Device>,
    ) -> Option<Entry> {
        let root = match folder::locate(self.root.as_ref()?) {
            Ok(root) => root,
            Err(why) => {
                self.root = None;
                self.warnings.push(why);
                return None;
            }
        };
        self.entry_in(&root, config, provider, device)
    }

    fn entry_in(
        &self,
        root: &Path,
        config: &Config,
        provider: Provider,
        device: Option<&Device>,
    ) -> Option<Entry> {
        let runtime = match provider {
            Provider::Cuda => format!("{}, {}", self.runtime, self.depends),
            _ => self.runtime.clone(),
        };
        match Key::new(root, config, provider, device, &self.shapes, &runtime) {
            Ok(key) => Some(Entry::new(root, key)),
            // An unreadable model is reported when it is loaded.
            Err(e) => {
                gst::info!(CAT, "{} is not looked for: {e}", config.model.display());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use cudainfer_kernels::device::Choice;

    use super::*;
    use crate::inference::{EngineSearch, Precision};

    fn gpu() -> Device {
        Device { ordinal: 0, name: "NVIDIA H200".into(), capability: (9, 0), driver: 13000 }
    }

    /// A folder with a model, and how it is opened with a cache there.
    fn model(name: &str) -> (PathBuf, Config) {
        let root = std::env::temp_dir().join(format!("cudainfer-choices-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        let model = root.join("a.onnx");
        fs::write(&model, [7 << 3 | 2, 0]).unwrap();
        let cache = Some(root.join("cache"));
        (root, Config { cache, device: Choice::Cuda(0), ..Config::new(model) })
    }

    /// The cache of the next process.
    fn cache(config: &Config) -> Cache {
        Cache::new(config, "batches of 4", "ONNX Runtime 1.31")
    }

    fn choices(config: &Config) -> Choices {
        cache(config).choices(config, Provider::Cuda, Some(&gpu()))
    }

    fn remember(config: &Config, choices: &Choices) {
        cache(config).remember(config, Provider::Cuda, Some(&gpu()), choices);
    }

    #[test]
    fn what_was_found_for_a_shape_is_there_at_the_next_start() {
        let (root, config) = model("kept");
        assert_eq!(choices(&config), Choices::default());
        let mut found = Choices::default();
        found.add("images:float16:1x3x640x640 from float16", "nhwc+fused");
        remember(&config, &found);
        assert_eq!(choices(&config), found);
        found.add("images:float16:1x3x320x320 from float16", "plain");
        remember(&config, &found);
        let found = choices(&config);
        assert_eq!(found.latest(), Some("plain"));
        assert_eq!(found.of("images:float16:1x3x640x640 from float16"), Some("nhwc+fused"));
        assert_eq!(found.of("images:float16:1x3x64x64 from float16"), None);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn other_numbers_and_another_search_are_other_entries() {
        let (root, config) = model("settings");
        let mut found = Choices::default();
        found.add("images", "nhwc");
        remember(&config, &found);
        for other in [
            Config { precision: Precision::Tf32, ..config.clone() },
            Config { search: EngineSearch::Off, ..config.clone() },
            Config { graphs: false, ..config.clone() },
        ] {
            assert_eq!(choices(&other), Choices::default(), "{other:?}");
        }
        let none = Config { cache: Some("none".into()), ..config.clone() };
        remember(&none, &found);
        assert_eq!(choices(&none), Choices::default());
        assert_eq!(choices(&config), found);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn what_was_found_with_another_cudnn_is_not_used_and_the_cpu_has_none() {
        let (root, config) = model("cudnn");
        let with = |version: &str| {
            let mut cache = cache(&config);
            cache.works_with(&format!("cuDNN {version}"), &["plain", "nhwc"]);
            cache
        };
        let mut found = Choices::default();
        found.add("images", "nhwc+fused");
        with("91200").remember(&config, Provider::Cuda, Some(&gpu()), &found);
        assert_eq!(with("91300").choices(&config, Provider::Cuda, Some(&gpu())), Choices::default());
        assert_eq!(with("91200").choices(&config, Provider::Cuda, Some(&gpu())), found);
        let on_cpu = |version: &str| with(version).place(&config, Provider::Cpu, None).unwrap();
        assert_eq!(on_cpu("91200").folder(), on_cpu("91300").folder());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn the_fastest_of_fewer_variants_is_not_taken_for_that_of_all() {
        let (root, config) = model("variants");
        let among = |variants: &[&str]| {
            let mut cache = cache(&config);
            cache.works_with("cuDNN 91200", variants);
            cache
        };
        let (fewer, all) = (["plain", "nhwc+fused"], ["plain", "nhwc+fused", "nhwc+fused+input"]);
        let mut found = Choices::default();
        found.add("images", "nhwc+fused");
        among(&fewer).remember(&config, Provider::Cuda, Some(&gpu()), &found);
        assert_eq!(among(&all).choices(&config, Provider::Cuda, Some(&gpu())), Choices::default());
        assert_eq!(among(&fewer).choices(&config, Provider::Cuda, Some(&gpu())), found);
        // Engines do not depend on the choices.
        let engines = |variants| among(variants).place(&config, Provider::TensorRt, Some(&gpu())).unwrap();
        assert_eq!(engines(&fewer).folder(), engines(&all).folder());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_damaged_list_is_not_used_and_reported_once() {
        let (root, config) = model("damaged");
        let mut found = Choices::default();
        found.add("images", "nhwc");
        remember(&config, &found);
        let mut cache = cache(&config);
        let place = cache.place(&config, Provider::Cuda, Some(&gpu())).unwrap();
        fs::write(place.folder().join(FILE), "nhwc+fused images\n").unwrap();
        assert_eq!(cache.choices(&config, Provider::Cuda, Some(&gpu())), Choices::default());
        let warnings = cache.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains(FILE), "{warnings:?}");
        assert_eq!(choices(&config), Choices::default());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn of_many_shapes_the_latest_are_kept() {
        let mut choices = Choices::default();
        (0..MOST + 3).for_each(|n| choices.add(&format!("image {n}"), "nhwc"));
        assert_eq!((choices.of("image 2"), choices.of("image 3")), (None, Some("nhwc")));
        assert_eq!(Choices::parse(&choices.to_string()), Some(choices));
        assert_eq!(Choices::parse("nhwc\n"), None);
    }

    #[test]
    fn fuzz_variants() {
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "variants")
            .with_ratio(60) // a line of two bytes is two texts
            .run_text(|text| drop(Choices::parse(text)));
    }
}
