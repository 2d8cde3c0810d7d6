//! Modules depend on each other in one direction only: the files of each crate, and the plugins' top-level modules. Every source
//! file is a module.
//!
//! So a file can be read after those that it builds on. A circle is broken by moving what both sides need (a parameter, an
//! error, a plain struct) into a file below them.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests, which clippy does not know as such

mod files;
mod graph;
mod source;

use cudainfer_tests::root;
use graph::Graph;

fn sources(folder: &str) -> Graph {
    let graph = Graph::of(&source::read(&root().join(folder)));
    assert!(graph.edges() > 30, "only {} dependencies were found below {folder}", graph.edges());
    graph
}

#[test]
fn files_of_a_crate_depend_on_each_other_in_one_direction() {
    for folder in ["batch/src", "kernels/src", "brokers/src", "model/src", "serve/src"] {
        let circles = sources(folder).circles();
        assert!(circles.is_empty(), "circles of files in {folder}: {circles:#?}");
    }
}

#[test]
fn top_level_modules_of_the_plugins_depend_on_each_other_in_one_direction() {
    let circle = sources("plugins/src").of_rooms().circle();
    assert!(circle.is_none(), "a circle of modules: {}", circle.unwrap_or_default().join(" -> "));
}

#[test]
fn files_of_the_plugins_depend_on_each_other_in_one_direction() {
    let circles = sources("plugins/src").without_wrappers().circles();
    assert!(circles.is_empty(), "circles of files in plugins/src: {circles:#?}");
}

#[test]
fn each_group_of_modules_in_circles_is_found_whole_and_a_gobject_may_name_its_imp() {
    let files = [
        ("a/mod.rs", "mod imp; mod b; mod c; mod d; struct A(imp::A);"),
        ("a/imp.rs", "use super::{A, b::B}; struct A;"),
        ("a/b.rs", "use super::c::C; pub struct B;"),
        ("a/c.rs", "use super::d::D; pub struct C;"),
        ("a/d.rs", "use super::b::B; pub struct D;"),
        ("x.rs", "use crate::y::Y; pub struct X;"),
        ("y.rs", "use crate::{x::X, a::d::D}; pub struct Y;"),
    ];
    let graph = || Graph::of(&files.map(|(path, text)| source::parse(path, text)));
    let (inner, outer) = (vec!["a::b", "a::c", "a::d"], vec!["x", "y"]);
    assert_eq!(graph().without_wrappers().circles(), [inner.clone(), outer.clone()]);
    assert_eq!(graph().circles(), [vec!["a", "a::imp"], inner, outer]);
}

/// The circle of these files, each a path and its text.
fn circle(files: &[(&str, &str)]) -> Option<Vec<String>> {
    Graph::of(&files.iter().map(|(path, text)| source::parse(path, text)).collect::<Vec<_>>()).circle()
}

#[test]
fn who_uses_what_a_module_passes_on_depends_on_the_file_that_defines_it() {
    let top = ("a/mod.rs", "mod b; mod c; pub use b::B; pub(crate) use c::{C as D, helper};");
    let one_way =
        [top, ("a/b.rs", "pub struct B;"), ("a/c.rs", "use super::B; pub struct C(B); fn helper() {}")];
    assert_eq!(circle(&one_way), None);
    for back in [
        "use super::D; pub struct B;",
        "pub struct B(super::c::C);",
        "use crate::a::{self, helper as h}; struct B;",
    ] {
        let both = [top, ("a/b.rs", back), one_way[2]];
        assert_eq!(circle(&both).map(|files| files.len()), Some(3), "{back}");
    }
    let above = [
        ("a/mod.rs", "mod b; pub struct Top; fn top() { b::run(); }"),
        ("a/b.rs", "fn run() -> super::Top {}"),
    ];
    assert_eq!(circle(&above).unwrap(), ["a", "a::b", "a"]);
}

#[test]
fn tests_comments_and_strings_are_no_dependencies() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub struct A;"),
        ("a/tests.rs", "use crate::b::B;"),
        ("b.rs", "use crate::a::A; pub struct B(A);"),
    ];
    let quiet = [
        "/// [`crate::b::B`]\npub struct A;",
        "pub(in crate::b) struct A;",
        "/* crate::b::B /* */ crate::b::B */ pub struct A;",
        "pub struct A; const S: &str = \"crate::b::B \\\" crate::b::B\"; const Q: char = '\"';",
        "pub struct A; const S: &str = r#\"\" crate::b::B\"#;",
        "pub struct A; #[cfg(test)] mod tests { use crate::b::B; fn f() { } } #[cfg(test)] use crate::b::B;",
    ];
    for text in quiet {
        assert_eq!(circle(&[files[0], ("a.rs", text), files[2], files[3]]), None, "{text}");
    }
    let loud = "pub struct A<'a>(&'a str); fn f() { let q = '\\''; crate::b::B }";
    assert!(circle(&[files[0], ("a.rs", loud), files[3]]).is_some());
}

#[test]
fn rooms_are_circles_where_any_of_their_files_are() {
    let files = [
        ("a/mod.rs", "mod x; mod y;"),
        ("a/x.rs", "use crate::b::B;"),
        ("a/y.rs", "pub struct Y;"),
        ("b.rs", "use crate::a::y::Y; pub struct B;"),
    ];
    let graph = Graph::of(&files.map(|(path, text)| source::parse(path, text)));
    assert_eq!(graph.circle(), None);
    assert_eq!(graph.of_rooms().circle().unwrap(), ["a", "b", "a"]);
}
