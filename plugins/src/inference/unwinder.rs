//! Opens C++ libraries so that their exceptions can be caught, whatever the process has loaded before.
//!
//! libstdc++ raises an exception, and the landing pads of the libraries that it passes hand it on, both by functions
//! `_Unwind_…`, which must belong to one unwinder. libgcc_s has them, and so has libunwind, with which GStreamer is linked. A
//! library is bound to those that come first in the process's global scope when it is loaded. If libstdc++ was loaded before
//! GStreamer (by NumPy, for example), it is bound to libgcc_s, and ONNX Runtime or OpenVINO, loaded later, would be bound to libunwind:
//! its first exception, even one that it catches itself, would end the process. So if libstdc++ is bound to another unwinder
//! than that of the global scope, a library is opened with `RTLD_DEEPBIND`, with which it prefers its own dependencies,
//! libgcc_s among them. Otherwise it is opened as usual.
//!
//! What libstdc++ is bound to is read from the tables of 64-bit ELF files with addends (`RELA`), as [`IS_READ`] lists the
//! architectures that have them. Elsewhere libraries are opened as usual.
//!
//! The libraries of ONNX Runtime's GPU providers are opened in the same way, after ONNX Runtime has given them its own functions, which their
//! initialisers call (`ort::provider`). Where one cannot be, users are warned.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::size_of;
use std::path::Path;
use std::ptr;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::log::ENGINE as CAT;

/// What raises an exception.
const RAISE: &CStr = c"_Unwind_RaiseException";

/// Whether the structs below describe the tables of this architecture's libraries (System V ABI and its supplements: 64-bit entries,
/// and a symbol's number in the upper half of a relocation's `info`). Only x86-64 is tested.
const IS_READ: bool = cfg!(all(
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64", target_arch = "powerpc64")
));

/// Opens a library in C++.
///
/// # Errors
/// The loader's words.
///
/// # Safety
/// As for [`Library::open`]: the library's initialisers run.
pub(super) unsafe fn open(path: &Path) -> Result<Library, libloading::Error> {
    let deep = if differs() { libc::RTLD_DEEPBIND } else { 0 };
    // SAFETY: as this function's callers promise.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL | deep) }
}

/// Whether exceptions are raised by another unwinder than the one that a library loaded now would use.
pub(super) fn differs() -> bool {
    // SAFETY: looks a symbol up, and uses its address as a number only.
    let global = unsafe { libc::dlsym(libc::RTLD_DEFAULT, RAISE.as_ptr()) }.addr();
    let differs = global != 0 && raising().is_some_and(|raising| raising != global);
    if differs {
        gst::debug!(CAT, "libstdc++ has another unwinder than the process: libraries prefer their own");
    }
    differs
}

/// The function by which libstdc++ raises exceptions; `None` where it is not loaded, not bound yet, or cannot be read.
fn raising() -> Option<usize> {
    let mut raising = None::<usize>;
    if !IS_READ {
        return None;
    }
    // SAFETY: the callback is called during this call only, with the pointer to `raising`, which it may write.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut raising).cast()) };
    raising
}

/// Looks for libstdc++ among the process's libraries, and for what it is bound to.
unsafe extern "C" fn visit(library: *mut libc::dl_phdr_info, _: usize, raising: *mut c_void) -> c_int {
    // SAFETY: the loader hands over a library's description, which stays as long as the call.
    let library = unsafe { &*library };
    // SAFETY: the name is a C string or null.
    let name = unsafe { library.dlpi_name.as_ref().map(|name| CStr::from_ptr(name)) }.unwrap_or_default();
    let name = name.to_string_lossy();
    if !name.rsplit('/').next().is_some_and(|file| file.starts_with("libstdc++.so")) {
        return 0;
    }
    // SAFETY: `raising` passes a pointer to its own variable; a loaded library's tables stay as long as it is loaded, and the
    // loader keeps it loaded during this call.
    unsafe { *raising.cast::<Option<usize>>() = bound(library) };
    1
}

/// An entry of a library's dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

/// An entry of a relocation table.
#[repr(C)]
struct Relocation {
    offset: usize,
    info: u64,
    addend: i64,
}

/// A symbol of a library's symbol table.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

const _: () = assert!(
    !IS_READ || size_of::<Dynamic>() == 16 && size_of::<Relocation>() == 24 && size_of::<Symbol>() == 24
);

/// The tags of the tables that are needed (System V ABI, "Dynamic Section").
mod tag {
    pub const PLT_RELOCATIONS_SIZE: i64 = 2;
    pub const STRINGS: i64 = 5;
    pub const SYMBOLS: i64 = 6;
    pub const RELOCATIONS: i64 = 7;
    pub const RELOCATIONS_SIZE: i64 = 8;
    pub const PLT_RELOCATIONS: i64 = 23;
}

/// What the library's [`RAISE`] is bound to; `None` where it does not call it, or has not been bound yet: then it will be bound to the
/// global scope's.
///
/// # Safety
/// The library is loaded, and stays so during the call.
unsafe fn bound(library: &libc::dl_phdr_info) -> Option<usize> {
    let base = usize::try_from(library.dlpi_addr).ok()?;
    let at = |address: usize| ptr::with_exposed_provenance::<u8>(address);
    // SAFETY: the loader gives as many headers as it says.
    let headers = unsafe { std::slice::from_raw_parts(library.dlpi_phdr, library.dlpi_phnum.into()) };
    let inside = |address: usize| {
        headers.iter().filter(|header| header.p_type == libc::PT_LOAD).any(|header| {
            let start = base.wrapping_add(header.p_vaddr as usize);
            (start..start.wrapping_add(header.p_memsz as usize)).contains(&address)
        })
    };
    let section = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
    let mut entry = at(base.wrapping_add(section.p_vaddr as usize)).cast::<Dynamic>();
    let [mut strings, mut symbols] = [0; 2];
    let [mut tables, mut sizes] = [[0; 2]; 2];
    loop {
        // SAFETY: the section ends with an entry whose tag is 0.
        let Dynamic { tag, value } = unsafe { entry.read() };
        match tag {
            0 => break,
            tag::STRINGS => strings = value,
            tag::SYMBOLS => symbols = value,
            tag::RELOCATIONS => tables[0] = value,
            tag::RELOCATIONS_SIZE => sizes[0] = value,
            tag::PLT_RELOCATIONS => tables[1] = value,
            tag::PLT_RELOCATIONS_SIZE => sizes[1] = value,
            _ => (),
        }
        // SAFETY: as above: this was not the last.
        entry = unsafe { entry.add(1) };
    }
    // The loader writes absolute addresses there; a library where it did not is not understood.
    if ![strings, symbols].into_iter().chain(tables).all(inside) {
        return None;
    }
    for (table, size) in tables.into_iter().zip(sizes) {
        for index in 0..size / size_of::<Relocation>() {
            // SAFETY: the table has that many entries.
            let relocation = unsafe { at(table).cast::<Relocation>().add(index).read() };
            let symbol = usize::try_from(relocation.info >> 32).ok()?;
            // SAFETY: relocations name symbols of the table, and these their names in the table of strings.
            let name = unsafe {
                let name = at(symbols).cast::<Symbol>().add(symbol).read().name;
                CStr::from_ptr(at(strings).add(usize::try_from(name).ok()?).cast::<c_char>())
            };
            if name == RAISE {
                // SAFETY: the place that the loader writes the symbol's address to, as wide as an address.
                let address =
                    unsafe { at(base.wrapping_add(relocation.offset)).cast::<usize>().read_volatile() };
                return (!inside(address)).then_some(address);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libstdcpp_raises_exceptions_by_is_found_among_its_relocations() {
        if !IS_READ {
            return;
        }
        // SAFETY: libstdc++'s and libgcc_s's initialisers are meant for any process.
        let [_cpp, gcc] =
            ["libstdc++.so.6", "libgcc_s.so.1"].map(|name| unsafe { open(Path::new(name)) }.unwrap());
        // SAFETY: the addresses are not called.
        let (own, global) = unsafe {
            let own = gcc.get::<unsafe extern "C" fn()>(RAISE.to_bytes_with_nul()).unwrap();
            (*own as usize, libc::dlsym(libc::RTLD_DEFAULT, RAISE.as_ptr()).addr())
        };
        let raising = raising().unwrap();
        assert!([own, global].contains(&raising), "{raising:x} is none of {own:x} and {global:x}");
        assert_eq!(differs(), raising != global);
    }
}
