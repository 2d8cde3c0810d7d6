//! Reading the configuration again: only what differs is touched.

use std::collections::BTreeMap;

use super::change::{Applied, apply};
use super::check::check;
use super::held::changed_specs;
use super::{Fleet, Refusal};
use crate::config::{Config, Wrong};
use crate::log;
use crate::stream::StreamSpec;
use crate::unpoisoned::lock;

impl Fleet {
    /// Reads the configuration file again and runs its present contents.
    ///
    /// # Errors
    /// The file is wrong; then nothing has changed.
    pub fn reload(&self) -> Result<(), Refusal> {
        let reloaded = self.read_again();
        let refused = reloaded.as_ref().err().map(Wrong::to_string);
        if let Some(sentence) = &refused {
            log::error(format_args!("{sentence}. The configuration stays as it is"));
        }
        lock(&self.0.refused).clone_from(&refused);
        refused.map_or(Ok(()), |sentence| Err(Refusal::Invalid(sentence)))
    }

    fn read_again(&self) -> Result<(), Wrong> {
        let _changing = lock(&self.0.changing);
        let old = self.config();
        let config = Config::load(&old.path)?;
        // The whole configuration is checked before anything changes.
        check(&config)?;
        for (section, same) in [
            ("[server]", config.server == old.server),
            ("[retention]", config.retention == old.retention),
            ("[[notify]]", config.notify == old.notify),
        ] {
            if !same {
                log::warning(format_args!(
                    "{section} has changed, which takes effect when the service is started anew"
                ));
            }
        }
        // These stay as they are until the service is started again.
        let config = Config {
            server: old.server.clone(),
            retention: old.retention.clone(),
            notify: old.notify.clone(),
            ..config
        };
        if config.describe != old.describe {
            self.0.outputs.describer.configure(config.describe.as_ref());
        }
        let files = &self.0.files;
        let mut kept = lock(&files.kept).clone();
        let specs = changed_specs(&config, &mut kept, &lock(&files.stuck));
        *lock(&files.kept) = kept;
        files.set_waits(&config.restart);
        *lock(&self.0.config) = std::sync::Arc::new(config);
        self.run(specs);
        self.save();
        Ok(())
    }

    fn run(&self, specs: Vec<StreamSpec>) {
        let (mut added, mut changed, mut same) = (0, 0, 0);
        let mut wanted: BTreeMap<String, StreamSpec> =
            specs.into_iter().map(|spec| (spec.name().to_owned(), spec)).collect();
        let gone: Vec<_> = {
            let mut streams = lock(&self.0.streams);
            let names: Vec<_> = streams.keys().filter(|name| !wanted.contains_key(*name)).cloned().collect();
            names.iter().filter_map(|name| streams.remove(name)).collect()
        };
        for stream in &gone {
            stream.stop(Some(self.drain_time()));
        }
        let removed = gone.len();
        if removed > 0 {
            // The streams end by themselves. A thread waits for them, so the reload does not.
            let fleet = self.clone();
            let wait = move || {
                for stream in gone {
                    stream.join();
                    let _changing = lock(&fleet.0.changing);
                    fleet.remove_hls_of(stream.spec().name());
                }
            };
            if let Err(e) = std::thread::Builder::new().name("removed".into()).spawn(wait) {
                log::warning(format_args!("no thread waits for the streams that are removed: {e}"));
            }
        }
        let streams: Vec<_> =
            lock(&self.0.streams).iter().map(|(name, stream)| (name.clone(), stream.clone())).collect();
        for (name, stream) in streams {
            let Some(spec) = wanted.remove(&name) else { continue };
            if spec.lacks_a_file_only(&stream.spec()) {
                let why = spec.held.map(|held| held.why).unwrap_or_default();
                log::warning(format_args!("stream '{name}': goes on until it is started again: {why}"));
                same += 1;
                continue;
            }
            match apply(&stream, spec) {
                Applied::Nothing => same += 1,
                Applied::Live | Applied::Restart => changed += 1,
            }
        }
        for spec in wanted.into_values() {
            match self.begin(spec) {
                Ok(_) => added += 1,
                Err(sentence) => log::error(sentence),
            }
        }
        log::info(format_args!(
            "the configuration was read again: {added} streams added, {changed} changed, {removed} removed, {same} as before"
        ));
    }
}
