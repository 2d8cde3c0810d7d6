//! Which share of the videos this process does: of the arguments, of a Slurm job array, of a Kubernetes Indexed Job.

/// Every `of`-th video, beginning with the one of this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// From 0.
    pub index: usize,
    /// How many shares there are.
    pub of: usize,
}

impl Share {
    /// All videos.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// The share that `--index` and `--of` or the environment say.
    ///
    /// # Errors
    /// A sentence.
    pub fn of(
        index: Option<usize>,
        of: Option<usize>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let (index, of) = match (index, of) {
            (Some(index), Some(of)) => (index, of),
            (Some(_), None) => {
                return Err("--index says which share, and nothing of how many: set --of".into());
            }
            (None, of) => match array(&environment)? {
                Some((index, count)) => (index, of.or(count).ok_or_else(uncounted)?),
                None if of.is_some() => {
                    return Err(
                        "--of says how many shares there are, and nothing which one this is: set --index"
                            .into(),
                    );
                }
                None => return Ok(Self::WHOLE),
            },
        };
        if index >= of {
            return Err(format!(
                "there is no share {index} of {of}: the first index is 0, the last one {}",
                of.saturating_sub(1)
            ));
        }
        Ok(Self { index, of })
    }

    /// The videos of this share.
    pub fn take<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.index).step_by(self.of).collect()
    }
}

fn uncounted() -> String {
    "JOB_COMPLETION_INDEX says which share this is, and nothing of how many: set --of, or JOB_COMPLETIONS in the container's env, \
     to the job's completions"
        .into()
}

/// The index that a scheduler gives, and the count if it gives that, too.
fn array(environment: &impl Fn(&str) -> Option<String>) -> Result<Option<(usize, Option<usize>)>, String> {
    let number = |name: &str| {
        let Some(text) = environment(name) else { return Ok(None) };
        let wrong = || format!("{name} is '{text}', expected a whole number");
        text.parse::<usize>().map(Some).map_err(|_| wrong())
    };
    if let Some(task) = number("SLURM_ARRAY_TASK_ID")? {
        let first = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0);
        let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
        let count = number("SLURM_ARRAY_TASK_COUNT")?;
        let last = number("SLURM_ARRAY_TASK_MAX")?;
        let regular =
            count.zip(last).is_none_or(|(count, last)| first + step * count.saturating_sub(1) == last);
        if task < first || (task - first) % step != 0 || !regular {
            return Err(format!(
                "the job array's tasks are no regular range, so task {task} has no index: write --array=0-N, or set --index and --of"
            ));
        }
        return Ok(Some(((task - first) / step, count)));
    }
    let index = number("JOB_COMPLETION_INDEX")?;
    let count = number("JOB_COMPLETIONS")?;
    Ok(index.map(|index| (index, count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(index: Option<usize>, of: Option<usize>, environment: &[(&str, &str)]) -> Result<Share, String> {
        Share::of(index, of, |name| {
            environment.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn shares_are_those_of_the_arguments_or_of_the_scheduler() {
        let slurm = |id: &'static str,
                     min: &'static str,
                     max: &'static str,
                     count: &'static str,
                     step: &'static str| {
            vec![
                ("SLURM_ARRAY_TASK_ID", id),
                ("SLURM_ARRAY_TASK_MIN", min),
                ("SLURM_ARRAY_TASK_MAX", max),
                ("SLURM_ARRAY_TASK_COUNT", count),
                ("SLURM_ARRAY_TASK_STEP", step),
            ]
        };
        let kubernetes = vec![("JOB_COMPLETION_INDEX", "2"), ("JOB_COMPLETIONS", "5")];
        for (index, of, environment, expected) in [
            (None, None, vec![], Share::WHOLE),
            (Some(1), Some(2), kubernetes.clone(), Share { index: 1, of: 2 }),
            (None, None, slurm("3", "0", "3", "4", "1"), Share { index: 3, of: 4 }),
            (None, None, slurm("1", "1", "4", "4", "1"), Share { index: 0, of: 4 }),
            (None, None, slurm("6", "2", "10", "5", "2"), Share { index: 2, of: 5 }),
            (None, Some(9), slurm("3", "0", "3", "4", "1"), Share { index: 3, of: 9 }),
            (None, None, kubernetes, Share { index: 2, of: 5 }),
        ] {
            assert_eq!(share(index, of, &environment).unwrap(), expected, "{environment:?}");
        }
        for (index, of, environment, part) in [
            (Some(1), None, vec![], "set --of"),
            (None, Some(2), vec![], "set --index"),
            (Some(2), Some(2), vec![], "no share 2 of 2: the first index is 0, the last one 1"),
            (Some(0), Some(0), vec![], "no share 0 of 0"),
            (None, None, vec![("JOB_COMPLETION_INDEX", "1")], "set --of, or JOB_COMPLETIONS"),
            (None, None, vec![("JOB_COMPLETION_INDEX", "x")], "JOB_COMPLETION_INDEX is 'x'"),
            (None, None, slurm("5", "1", "9", "3", "1"), "no regular range"),
            (None, Some(3), slurm("7", "0", "7", "8", "1"), "no share 7 of 3"),
        ] {
            let error = share(index, of, &environment).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn every_video_is_in_one_share() {
        let videos: Vec<usize> = (0..10).collect();
        let mut all: Vec<usize> =
            (0..3).flat_map(|index| Share { index, of: 3 }.take(videos.clone())).collect();
        all.sort_unstable();
        assert_eq!(all, videos);
        assert_eq!(Share { index: 1, of: 3 }.take(videos), [1, 4, 7]);
    }
}
