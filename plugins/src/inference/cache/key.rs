//! What an entry of the cache depends on, in words.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cudainfer_files as files;
use cudainfer_kernels::device::Device;

use super::checksum;
use super::folder;
use crate::inference::{Config, Precision, Provider};
use crate::log::CACHE as CAT;
use crate::model::onnx::external_files;
use crate::property::nick;

/// Is increased when the meaning of an entry's files changes.
const FORMAT: u32 = 3;
/// The folder in the cache with the models' checksums.
pub(super) const MODELS: &str = "models";
/// A file that has changed less than this long ago may change again without another time stamp.
const RACY: Duration = Duration::from_secs(2);

/// All that an entry depends on. Other threads, another sidecar or another file of the same content use the same entry.
#[derive(Debug)]
pub(super) struct Key {
    /// The entry's folder: the model's name and the beginning of the text's SHA-256.
    pub name: String,
    /// The dependences, one a line.
    pub text: String,
}

impl Key {
    /// `shapes` are those that the session is made for, in words, and `runtime` is the version of what makes it. `root` is
    /// the cache's folder.
    ///
    /// # Errors
    /// The model cannot be read.
    pub fn new(
        root: &Path,
        config: &Config,
        provider: Provider,
        device: Option<&Device>,
        shapes: &str,
        runtime: &str,
    ) -> io::Result<Self> {
        let mut files = vec![config.model.clone()];
        files.extend(external_files(&config.model)?);
        let sums = files.iter().map(|file| content(root, file)).collect::<io::Result<Vec<_>>>()?;
        let settings = match provider {
            Provider::TensorRt => {
                format!("precision {}, workspace {}", nick(config.precision), config.workspace)
            }
            Provider::Cuda => format!(
                "precision {}, engine-search {}, cuda-graphs {}",
                nick(config.precision),
                nick(config.search),
                config.graphs
            ),
            Provider::Fused => {
                format!("precision {}, engine-search {}", nick(config.precision), nick(config.search))
            }
            Provider::Cpu if config.precision == Precision::Float16 => {
                format!("precision {}", nick(config.precision))
            }
            // The other providers compute in the model's numbers.
            _ => format!("precision {}", nick(Precision::Model)),
        };
        let stem = config.model.file_stem().unwrap_or_default().to_string_lossy();
        let text = format!(
            "model: {stem}, SHA-256 {}\nprovider: {}\nsettings: {settings}\nshapes: {shapes}\nmachine: {}\n\
             runtime: {runtime}\nformat: {FORMAT}\n",
            sums.join(" "),
            nick(provider),
            device.map_or_else(cpu, gpu),
        );
        let hash = checksum::sha256_of(&text);
        Ok(Self { name: format!("{stem}-{}", &hash[..hash.len().min(12)]), text })
    }
}

fn gpu(device: &Device) -> String {
    // The driver's own version, where its module is loaded; CUDA's stays the same over many of them.
    let module = fs::read_to_string("/sys/module/nvidia/version").unwrap_or_default();
    let (major, minor) = device.capability;
    let (name, cuda) = (&device.name, device.driver);
    format!("{name}, compute capability {major}.{minor}, driver {} for CUDA {cuda}", module.trim())
}

/// The CPU's name, and a checksum of what it can do: ONNX Runtime lays weights out for it.
fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let first = text.split("\n\n").next().unwrap_or_default();
    let value = |names: &[&str]| {
        let fields = first.lines().filter_map(|line| line.split_once(':'));
        let wanted = fields.filter(|(field, _)| names.contains(&field.trim()));
        wanted.map(|(_, value)| value.trim()).collect::<Vec<_>>().join(" ")
    };
    let name = value(&["model name", "CPU implementer", "CPU part", "CPU variant"]);
    let abilities = checksum::sha256_of(&value(&["flags", "Features"]));
    format!("{name}, instruction set {}", &abilities[..abilities.len().min(12)])
}

/// The SHA-256 of a file. It is remembered in the cache with the file's number, size and time stamps, and taken from there as
/// long as these are the same.
fn content(root: &Path, file: &Path) -> io::Result<String> {
    content_at(SystemTime::now(), root, file)
}

/// As [`content`], at this time.
fn content_at(now: SystemTime, root: &Path, file: &Path) -> io::Result<String> {
    // Opened, so that it is known to be a regular file.
    let metadata = files::open(file)?.metadata()?;
    let stamp = format!(
        "{} {} {} {}.{} {}.{}",
        metadata.dev(),
        metadata.ino(),
        metadata.size(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec()
    );
    let path = fs::canonicalize(file)?;
    let name = checksum::sha256_of(&path.to_string_lossy());
    let name = &name[..name.len().min(16)];
    let remembered = root.join(MODELS).join(name);
    let found = files::text_unlinked(&remembered).unwrap_or_default();
    if let Some((sum, of)) = found.trim_end().split_once(' ')
        && of == stamp
        && sum.len() == 64
    {
        return Ok(sum.to_owned());
    }
    let sum = checksum::sha256(file)?;
    let changed = Duration::from_secs(u64::try_from(metadata.ctime()).unwrap_or(0));
    let settled = now.duration_since(UNIX_EPOCH).is_ok_and(|now| now > changed + RACY);
    if settled && let Err(e) = folder::write(root, MODELS, name, format!("{sum} {stamp}\n").as_bytes()) {
        gst::debug!(CAT, "'{}' is not written: {e}", remembered.display());
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use cudainfer_kernels::device::Choice;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("cudainfer-key-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn config(model: PathBuf) -> Config {
        Config { device: Choice::Cpu, ..Config::new(model) }
    }

    #[test]
    fn what_changes_the_result_changes_the_name_and_what_does_not_does_not() {
        let root = folder("names");
        let model = root.join("a.onnx");
        fs::write(&model, [7 << 3 | 2, 0]).unwrap();
        let gpu = |name: &str, driver| Device { ordinal: 0, name: name.into(), capability: (9, 0), driver };
        let (here, other, newer) = (gpu("H200", 12080), gpu("L4", 12080), gpu("H200", 13000));
        let one = config(model.clone());
        let of = |config: &Config, provider, device, shapes, runtime| {
            Key::new(&root, config, provider, device, shapes, runtime).unwrap().name
        };
        let name = |config: &Config, provider, device, shapes| of(config, provider, device, shapes, "1.31");
        let float16 = Config { precision: Precision::Float16, ..one.clone() };
        let names = [
            name(&one, Provider::Cpu, None, "batch 1"),
            name(&one, Provider::Cpu, None, "batch 4"),
            name(&one, Provider::Cuda, Some(&here), "batch 1"),
            name(&one, Provider::TensorRt, Some(&here), "batch 1"),
            name(&one, Provider::TensorRt, Some(&other), "batch 1"),
            name(&one, Provider::TensorRt, Some(&newer), "batch 1"),
            name(&float16, Provider::TensorRt, Some(&here), "batch 1"),
            of(&one, Provider::Cpu, None, "batch 1", "1.32"),
        ];
        let different: std::collections::HashSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len(), "{names:?}");
        assert!(names[0].starts_with("a-") && names[0].len() == 14, "{}", names[0]);

        let threads = Config { intra_threads: 8, sessions: 4, ..one.clone() };
        assert_eq!(name(&threads, Provider::Cpu, None, "batch 1"), names[0]);
        let int8 = Config { precision: Precision::Int8, ..one.clone() };
        assert_eq!(name(&int8, Provider::Cpu, None, "batch 1"), names[0]);
        assert_ne!(name(&float16, Provider::Cpu, None, "batch 1"), names[0]);

        // Another model of the same name, size and time.
        let time = fs::metadata(&model).unwrap().modified().unwrap();
        fs::write(&model, [8 << 3 | 2, 0]).unwrap();
        fs::File::options().write(true).open(&model).unwrap().set_modified(time).unwrap();
        assert_ne!(name(&one, Provider::Cpu, None, "batch 1"), names[0]);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_file_is_hashed_once_and_again_when_it_changes() {
        let root = folder("stamps");
        let file = root.join("a.onnx");
        fs::write(&file, "one").unwrap();
        let changed =
            UNIX_EPOCH + Duration::from_secs(fs::metadata(&file).unwrap().ctime().try_into().unwrap());
        let one = content_at(changed + RACY, &root, &file).unwrap();
        assert!(!root.join(MODELS).exists(), "it is too young to be remembered");
        assert_eq!(content_at(changed + RACY + Duration::from_secs(1), &root, &file).unwrap(), one);
        let memory = fs::read_dir(root.join(MODELS)).unwrap().next().unwrap().unwrap().path();
        // The remembered checksum is used.
        let text = fs::read_to_string(&memory).unwrap();
        fs::write(&memory, text.replace(&one, &"0".repeat(64))).unwrap();
        assert_eq!(content(&root, &file).unwrap(), "0".repeat(64));
        // Neither one of another content, nor an incomplete one.
        fs::write(&file, "two").unwrap();
        // File systems' clocks tick in milliseconds.
        let later = SystemTime::now() + Duration::from_secs(10);
        fs::File::options().write(true).open(&file).unwrap().set_modified(later).unwrap();
        assert_eq!(content(&root, &file).unwrap(), checksum::sha256_of("two"));
        fs::write(&memory, &text[..30]).unwrap();
        assert_eq!(content(&root, &file).unwrap(), checksum::sha256_of("two"));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn weights_in_a_file_of_their_own_belong_to_the_model() {
        let root = folder("external");
        let field = |n: u8, bytes: &[u8]| [&[n << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat();
        let entry = field(13, &[field(1, b"location"), field(2, b"a.bin")].concat());
        fs::write(root.join("a.onnx"), field(7, &field(5, &entry))).unwrap();
        let key = || Key::new(&root, &config(root.join("a.onnx")), Provider::Cpu, None, "", "");
        assert!(key().is_err(), "the weights are missing");
        fs::write(root.join("a.bin"), "one").unwrap();
        let one = key().unwrap().name;
        fs::write(root.join("a.bin"), "two").unwrap();
        assert_ne!(key().unwrap().name, one);
        fs::remove_dir_all(root).unwrap();
    }
}
