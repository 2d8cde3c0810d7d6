//! The machine's network interfaces that a multicast datagram can be sent on.

use std::path::Path;

/// The kernel's flags of an interface (netdevice(7)).
const UP: u32 = 0x1;
const LOOPBACK: u32 = 0x8;
const MULTICAST: u32 = 0x1000;

/// Interfaces that are used. A machine with containers has one for each.
const MOST: usize = 64;

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    pub name: String,
    pub index: u32,
}

/// The interfaces that are up and take multicast, without the loopback.
pub(super) fn multicast() -> Vec<Interface> {
    below(Path::new("/sys/class/net"))
}

/// Those that this folder of the kernel's describes.
fn below(folder: &Path) -> Vec<Interface> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let read = |path: &Path, key: &str| std::fs::read_to_string(path.join(key)).ok();
    let interface = |entry: std::fs::DirEntry| {
        let path = entry.path();
        let flags = u32::from_str_radix(read(&path, "flags")?.trim().trim_start_matches("0x"), 16).ok()?;
        let usable = flags & (UP | MULTICAST | LOOPBACK) == UP | MULTICAST;
        let index = read(&path, "ifindex")?.trim().parse().ok()?;
        usable.then(|| Interface { name: entry.file_name().to_string_lossy().into_owned(), index })
    };
    let mut found: Vec<Interface> = entries.flatten().filter_map(interface).collect();
    // The machine's own are older than those of its containers.
    found.sort_by_key(|interface| interface.index);
    found.truncate(MOST);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_that_are_up_and_take_multicast_are_used() {
        let folder = tempfile::tempdir().unwrap();
        for (name, flags, index) in [
            ("lo", "0x9", "1"),
            ("lo-multicast", "0x1009", "5"),
            ("wlan0", "0x1003", "3"),
            ("eth0", "0x1003", "2"),
            ("down", "0x1002", "4"),
            ("tun0", "0x91", "6"),
            ("strange", "many", "7"),
        ] {
            let interface = folder.path().join(name);
            std::fs::create_dir(&interface).unwrap();
            std::fs::write(interface.join("flags"), format!("{flags}\n")).unwrap();
            std::fs::write(interface.join("ifindex"), format!("{index}\n")).unwrap();
        }
        std::fs::create_dir(folder.path().join("empty")).unwrap();
        let found = below(folder.path());
        let found: Vec<_> = found.iter().map(|each| (each.name.as_str(), each.index)).collect();
        assert_eq!(found, [("eth0", 2), ("wlan0", 3)]);
        assert_eq!(below(&folder.path().join("nowhere")), []);
    }
}
