//! The program's arguments.

use std::path::PathBuf;
use std::time::Duration;

/// What `--help` prints.
pub const USAGE: &str = "\
cudainfer-batch run --pipeline PIPELINE --out FOLDER [OPTION...] VIDEO...|MANIFEST

Runs a pipeline over each video, several at a time with one model for all, and writes its results into FOLDER. A video whose
results are complete is skipped, so the same command goes on where another one was stopped.

  VIDEO                   a video's file or URI
  MANIFEST                a .txt or .tsv file, or - for the standard input: a video on each line; after a tab, a name for its results
  --pipeline PIPELINE     a pipeline file, or the name of an installed one
  --out FOLDER            where the results go
  --set KEY=VALUE         a key of the pipeline; {out} and {name} in it are the folder and the name of a video's results
  --override E.PROP=VALUE a property of an element, or of all elements of a kind, as in trtinfer.batch-size=8
  --jobs N                videos at a time; by default one for each core, at most 4
  --index N --of K        does only the N-th of K shares, counted from 0; by default that of SLURM_ARRAY_TASK_ID or
                          JOB_COMPLETION_INDEX
  --stall SECONDS         fails a video of which no frame has come for so long; by default 60
  --retry                 tries videos again that have failed
  --overwrite             replaces results of another configuration
  --check                 tells what is wrong, without running anything
cudainfer-batch --help | --version

Signals: SIGTERM and SIGINT end it; videos that are not complete are done by the next run.
Exit codes: 0 all are complete, 65 videos have failed, 70 the GPU has failed, 71 the disk is full or pipelines do not stop,
75 ended by a signal, 78 wrong arguments, pipeline or model.
";

/// The most videos at a time.
const MOST_JOBS: usize = 256;

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    /// A path or a name.
    pub pipeline: String,
    /// Keys and values.
    pub set: Vec<(String, String)>,
    /// `ELEMENT.PROPERTY` and values.
    pub overrides: Vec<(String, String)>,
    /// The folder of the results.
    pub out: PathBuf,
    /// Videos and manifests.
    pub inputs: Vec<String>,
    /// Videos at a time.
    pub jobs: usize,
    /// `--index`.
    pub index: Option<usize>,
    /// `--of`.
    pub of: Option<usize>,
    /// How long a video may stand still.
    pub stall: Duration,
    /// Whether failed videos are tried again.
    pub retry: bool,
    /// Whether results of another configuration are replaced.
    pub overwrite: bool,
    /// Whether nothing is run.
    pub check: bool,
}

impl Arguments {
    /// Reads the arguments after `run`.
    ///
    /// # Errors
    /// A sentence.
    pub fn read(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let cores = std::thread::available_parallelism().map_or(1, Into::into);
        let mut read = Self { jobs: cores.min(4), stall: Duration::from_secs(60), ..Self::default() };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if word == "--" {
                read.inputs.extend(words);
                break;
            }
            let Some(option) = word.strip_prefix("--") else {
                read.inputs.push(word);
                continue;
            };
            match option {
                "retry" => read.retry = true,
                "overwrite" => read.overwrite = true,
                "check" => read.check = true,
                _ => {
                    let (option, value) = match option.split_once('=') {
                        Some((option, value)) => (option, Some(value.to_owned())),
                        None => (option, None),
                    };
                    read.take(option, value.or_else(|| words.next()))?;
                }
            }
        }
        for (missing, option) in [
            (read.pipeline.is_empty(), "--pipeline PIPELINE"),
            (read.out.as_os_str().is_empty(), "--out FOLDER"),
            (read.inputs.is_empty(), "a VIDEO or a MANIFEST"),
        ] {
            if missing {
                return Err(format!("{option} is missing: cudainfer-batch --help shows how it is written"));
            }
        }
        Ok(read)
    }

    fn take(&mut self, option: &str, value: Option<String>) -> Result<(), String> {
        const OPTIONS: [&str; 8] = ["pipeline", "out", "set", "override", "jobs", "index", "of", "stall"];
        if !OPTIONS.contains(&option) {
            let near = cudainfer_model::mistakes::nearest(
                option,
                OPTIONS.into_iter().chain(["retry", "overwrite", "check"]),
            );
            let near = near.map_or_else(String::new, |near| format!(" '--{near}' is probably meant."));
            return Err(format!("there is no option '--{option}'.{near} cudainfer-batch --help lists them"));
        }
        let value = value.ok_or_else(|| format!("--{option} has no value after it"))?;
        let pair = |form: &str| match value.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(format!("'{value}' is no value of --{option}: expected {form}")),
        };
        let number = |range: std::ops::RangeInclusive<usize>| {
            value.parse::<usize>().ok().filter(|number| range.contains(number)).ok_or_else(|| {
                format!(
                    "'{value}' is no value of --{option}: expected a whole number from {} to {}",
                    range.start(),
                    range.end()
                )
            })
        };
        match option {
            "pipeline" => self.pipeline.clone_from(&value),
            "out" => self.out = PathBuf::from(&value),
            "set" => self.set.push(pair("KEY=VALUE")?),
            "override" => self.overrides.push(pair("ELEMENT.PROPERTY=VALUE")?),
            "jobs" => self.jobs = number(1..=MOST_JOBS)?,
            "index" => self.index = Some(number(0..=1_000_000_000)?),
            "of" => self.of = Some(number(1..=1_000_000_000)?),
            _ => self.stall = Duration::from_secs(number(1..=86_400)? as u64),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Arguments, String> {
        Arguments::read(text.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read_in_both_forms_and_in_any_order() {
        let read =
            read("a.mp4 --pipeline=p --out o --set model=a=b --override trtinfer.batch-size=8 --jobs 3 --check -- --b.mp4")
                .unwrap();
        let pairs = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
        assert_eq!((read.inputs, read.jobs, read.check), (vec!["a.mp4".into(), "--b.mp4".into()], 3, true));
        assert_eq!((read.set, read.overrides), (pairs("model", "a=b"), pairs("trtinfer.batch-size", "8")));
        assert_eq!((read.stall, read.retry, read.out), (Duration::from_secs(60), false, "o".into()));
    }

    #[test]
    fn each_wrong_argument_is_a_sentence() {
        for (text, part) in [
            ("a.mp4 --out o", "--pipeline PIPELINE is missing"),
            ("a.mp4 --pipeline p", "--out FOLDER is missing"),
            ("--pipeline p --out o", "a VIDEO or a MANIFEST is missing"),
            ("--pipelin p", "'--pipeline' is probably meant"),
            ("--out", "--out has no value after it"),
            ("--set model", "expected KEY=VALUE"),
            ("--jobs 0", "'0' is no value of --jobs: expected a whole number from 1 to 256"),
            ("--stall x", "'x' is no value of --stall"),
            ("--of 0", "'0' is no value of --of"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
