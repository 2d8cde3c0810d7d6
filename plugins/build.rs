//! Hands the day of a release, which scripts/release names, to the plugin's description.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CUDAINFER_RELEASE_DATE");
    println!("cargo::rustc-check-cfg=cfg(released)");
    if std::env::var_os("CUDAINFER_RELEASE_DATE").is_some() {
        println!("cargo::rustc-cfg=released");
    }
}
