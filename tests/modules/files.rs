//! Every source file is compiled: a file that no module names would be dead.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cudainfer_tests::{files_below, root};

const CRATES: [&str; 14] = [
    "batch",
    "benches",
    "brokers",
    "files",
    "fused",
    "fuzzing",
    "kernels",
    "launch",
    "model",
    "serve",
    "plugins",
    "tests",
    "tests/interleavings",
    "torture",
];

/// The roots of all crates: those that Cargo finds by itself, and those that a manifest names.
fn roots() -> Vec<PathBuf> {
    let mut roots = Vec::new();
    for package in CRATES.map(|name| root().join(name)) {
        let manifest = std::fs::read_to_string(package.join("Cargo.toml")).unwrap();
        let named = manifest.lines().filter_map(|line| line.strip_prefix("path = \"")?.strip_suffix('"'));
        roots.extend(named.filter(|path| path.ends_with(".rs")).map(|path| package.join(path)));
        roots.push(package.join("src/lib.rs"));
        let own = ["src/bin", "tests", "examples"]
            .map(|folder| std::fs::read_dir(package.join(folder)).into_iter().flatten());
        let own = own.into_iter().flatten();
        roots.extend(own.map(|entry| entry.unwrap().path()).flat_map(|path| [path.join("main.rs"), path]));
    }
    roots.retain(|path| path.is_file());
    roots
}

/// Adds `file` and the modules that it declares, whatever they are compiled for. The modules of a crate's root and of a
/// `mod.rs` lie beside it, those of other files in a folder of their name.
fn follow(file: &Path, is_root: bool, reached: &mut BTreeSet<PathBuf>) {
    let file = file.canonicalize().unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let text = std::fs::read_to_string(&file).unwrap();
    let beside = file.parent().unwrap().to_owned();
    let own = if is_root || file.ends_with("mod.rs") { beside.clone() } else { file.with_extension("") };
    if !reached.insert(file) {
        return;
    }
    let mut named = None;
    for line in text.lines().map(str::trim) {
        if let Some(path) = line.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]")) {
            named = Some(beside.join(path));
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = match words[..] {
            ["mod", name] => name,
            [visibility, "mod", name] if visibility.starts_with("pub") => name,
            ["pub(in", _, "mod", name] => name,
            _ => continue,
        };
        // Without the semicolon it is a module in this file.
        let Some(name) = name.strip_suffix(';') else { continue };
        let usual = [own.join(format!("{name}.rs")), own.join(name).join("mod.rs")];
        let module = named.take().or_else(|| usual.into_iter().find(|path| path.is_file()));
        // The modules of a module in this file lie elsewhere; there are none such.
        let module = module.unwrap_or_else(|| panic!("no file for `{line}` of {}", beside.display()));
        follow(&module, false, reached);
    }
}

#[test]
fn every_source_file_is_a_module_of_a_crate() {
    let mut reached = BTreeSet::new();
    for root in roots() {
        follow(&root, true, &mut reached);
    }
    let folders = [
        "batch",
        "benches/gpu",
        "brokers",
        "files",
        "fused",
        "fuzzing",
        "kernels/src",
        "kernels/tests",
        "launch",
        "model",
        "serve",
        "plugins/src",
        "plugins/tests",
        "tests",
        "torture",
    ];
    let found: BTreeSet<PathBuf> =
        folders.iter().flat_map(|folder| files_below(&root().join(folder), &[".rs"])).collect();
    assert!(found.len() > 200, "only {} files were found", found.len());
    let lost: Vec<_> = found.difference(&reached).collect();
    assert!(lost.is_empty(), "in no module: {lost:#?}");
}

#[test]
fn a_file_in_no_module_would_be_seen() {
    let folder = cudainfer_tests::scratch("modules");
    for (name, text) in [
        (
            "lib.rs",
            "mod a;\n#[cfg(test)]\nmod tests;\n#[path = \"elsewhere/c.rs\"]\nmod c;\n// mod lost;\nmod here {\n}\n",
        ),
        ("a.rs", "pub(super) mod b;\n"),
        ("a/b.rs", ""),
        ("elsewhere/c.rs", ""),
        ("tests/mod.rs", "mod more;\n"),
        ("tests/more.rs", ""),
        ("lost.rs", ""),
    ] {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let (found, mut reached) = (files_below(&folder, &[".rs"]), BTreeSet::new());
    follow(&folder.join("lib.rs"), true, &mut reached);
    let lost: Vec<_> = found.difference(&reached).map(|path| path.file_name().unwrap().to_owned()).collect();
    assert_eq!(lost, ["lost.rs"]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// The source files of what is shipped, with their code; both without tests.
fn products() -> impl Iterator<Item = (PathBuf, String)> {
    let packages = ["batch", "brokers", "files", "fused", "kernels", "launch", "model", "serve", "plugins"];
    let sources =
        packages.into_iter().flat_map(|package| files_below(&root().join(package).join("src"), &[".rs"]));
    let is_test =
        |source: &PathBuf| source.ends_with("tests.rs") || source.iter().any(|part| part == "tests");
    sources.filter(move |source| !is_test(source)).map(|source| {
        let text = std::fs::read_to_string(&source).unwrap();
        (source, text.split("#[cfg(test)]").next().unwrap_or_default().to_owned())
    })
}

#[test]
fn threads_are_started_in_a_way_that_says_when_there_is_none() {
    for (source, product) in products() {
        for panics in ["thread::spawn(", "scope.spawn("] {
            assert!(
                !product.contains(panics),
                "{}: {panics} panics without a thread: use Builder",
                source.display()
            );
        }
    }
}

#[test]
fn sources_that_the_documents_for_contributors_name_exist() {
    let folders = CRATES.iter().chain(&["examples"]);
    let sources: BTreeSet<PathBuf> =
        folders.flat_map(|folder| files_below(&root().join(folder), &[".rs"])).collect();
    let is_part = |c: char| c.is_alphanumeric() || "_-/.".contains(c);
    let mut names = 0;
    for page in ["CONTRIBUTING.md", "docs/design.md"] {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let words = text.split(|c| !is_part(c)).map(|word| word.trim_end_matches('.'));
        for name in words.filter(|word| word.ends_with(".rs") && !word.contains("NAME")) {
            assert!(
                sources.iter().any(|source| source.ends_with(name)),
                "{page} names {name}: there is none"
            );
            names += 1;
        }
    }
    assert!(names > 50, "only {names} names were found");
}

#[test]
fn unsafe_code_is_where_the_design_says_and_nowhere_else() {
    let design = std::fs::read_to_string(root().join("docs/design.md")).unwrap();
    let table = design.split("<!-- unsafe -->").nth(1).unwrap().split("<!-- /unsafe -->").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()).skip(1);
    let places: Vec<PathBuf> = rows.flat_map(|row| row.split(", ")).map(|path| root().join(path)).collect();
    assert!(places.len() > 10, "{places:?}");
    let is_unsafe = |code: &str| {
        ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"].iter().any(|word| code.contains(word))
    };
    let found: Vec<PathBuf> =
        products().filter(|(_, code)| is_unsafe(code)).map(|(source, _)| source).collect();
    let elsewhere: Vec<_> =
        found.iter().filter(|source| !places.iter().any(|place| source.starts_with(place))).collect();
    assert!(elsewhere.is_empty(), "docs/design.md does not name {elsewhere:#?}");
    let empty: Vec<_> =
        places.iter().filter(|place| !found.iter().any(|source| source.starts_with(place))).collect();
    assert!(empty.is_empty(), "there is no unsafe code in {empty:#?}");
}
