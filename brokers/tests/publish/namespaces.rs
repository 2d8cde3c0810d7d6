//! Tests in a network, or with mounts, of their own: there they can take the network down and fill disks.

use std::path::Path;
use std::process::{Command, Stdio};

/// The namespaces that a test runs in.
#[derive(Clone, Copy, Debug)]
pub enum Own {
    Network,
    Mounts,
}

/// Runs the test of this name, one that is ignored otherwise, in a process with namespaces of its own.
#[track_caller]
pub fn run_in_own(own: Own, test: &str) {
    let option = match own {
        Own::Network => "-rn",
        Own::Mounts => "-rm",
    };
    let unshare = |program: &Path, arguments: &[&str]| {
        Command::new("unshare")
            .arg(option)
            .arg("--")
            .arg(program)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
    };
    let allowed = unshare(Path::new("true"), &[]).expect("unshare is missing, which util-linux has");
    if !allowed.status.success() {
        eprintln!(
            "skipped: this system gives the user no namespaces: {}",
            String::from_utf8_lossy(&allowed.stderr)
        );
        return;
    }
    let arguments = ["--exact", test, "--ignored", "--nocapture"];
    let output = unshare(&std::env::current_exe().unwrap(), &arguments).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{test} in {own:?}:\n{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[track_caller]
fn command(program: &str, arguments: &[&str]) {
    let found = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(|folder| Path::new(folder).join(program));
    let path = found.iter().find(|path| path.exists());
    let path = path.unwrap_or_else(|| panic!("{program} is missing: run scripts/test, which installs it"));
    let output = Command::new(path).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Brings the network of this namespace up or down. While it is down, packets vanish.
#[track_caller]
pub fn set_network(up: bool) {
    command("ip", &["link", "set", "lo", if up { "up" } else { "down" }]);
}

/// Mounts a disk of that many kilobytes on a folder.
#[track_caller]
pub fn mount(folder: &Path, kilobytes: u32) {
    command(
        "mount",
        &["-t", "tmpfs", "-o", &format!("size={kilobytes}k"), "tmpfs", folder.to_str().unwrap()],
    );
}

/// Makes it larger.
#[track_caller]
pub fn enlarge(folder: &Path, kilobytes: u32) {
    command("mount", &["-o", &format!("remount,size={kilobytes}k"), folder.to_str().unwrap()]);
}
