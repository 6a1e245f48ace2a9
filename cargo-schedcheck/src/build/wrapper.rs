//! We are rustc: the phase in which cargo calls this binary for every crate, as RUSTC_WRAPPER.
//!
//! It runs hundreds of times in a build, so it does nothing but read its arguments and one small file.
use std::ffi::{OsStr, OsString};
use std::process::{Command, ExitCode};

use camino::{Utf8Path, Utf8PathBuf};

use super::mentions;
use super::panic_handler;
use super::scope::{self, Scope};
use super::sysroot::Manifest;

/// Set when this binary is to act as rustc: the folder of the sysroot.
pub const SYSROOT: &str = "SCHEDCHECK_WRAPPER";
/// How much of each crate is instrumented; see [`Instrument`].
pub const INSTRUMENT: &str = "SCHEDCHECK_INSTRUMENT";
/// Names of the crates to leave alone, separated by commas.
const SKIP: &str = "SCHEDCHECK_WRAPPER_SKIP";
/// Set where crates are to make their system calls through the C library, if they can be told to.
const C_LIBRARY: &str = "SCHEDCHECK_WRAPPER_C_LIBRARY";
/// The wrapper that the user had before us.
const INNER: &str = "SCHEDCHECK_WRAPPER_INNER";

/// What the compiler adds to the code of each crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrument {
    /// What the facades do not see: atomic operations inside generic code of the real std (`Arc` and the like).
    Atomics,
    /// Also plain memory accesses.
    Memory,
}

impl Instrument {
    /// What the search for data races needs, or its absence.
    pub fn wanted(races: bool) -> Self {
        if races { Self::Memory } else { Self::Atomics }
    }

    /// Whether the compiler has the pass for memory accesses, and the engine the functions that it calls.
    pub fn sees_memory_on(target: &str) -> bool {
        matches!(target, "x86_64-unknown-linux-gnu" | "aarch64-unknown-linux-gnu")
    }

    /// The mode that the command told the wrapper.
    fn from_env() -> Self {
        match std::env::var(INSTRUMENT).as_deref() {
            Ok("memory") => Self::Memory,
            _ => Self::Atomics,
        }
    }

    /// Its name, in the environment and in paths.
    pub fn name(self) -> &'static str {
        match self {
            Self::Atomics => "atomics",
            Self::Memory => "memory",
        }
    }

    /// The compiler flags; [`calls`] has more. The passes are those of ThreadSanitizer; the functions they call are the engine's.
    fn rustc_flags(self) -> &'static [&'static str] {
        // Generic code of std that std itself has compiled for some types: unoptimised crates would call that, unseen.
        const UNSHARED: &str = "-Zshare-generics=no";
        const ATOMICS: &[&str] = &[
            "-Zsanitizer=thread",
            "-Zexternal-clangrt",
            UNSHARED,
            "-Cunsafe-allow-abi-mismatch=sanitizer",
            "-Cllvm-args=-tsan-instrument-memory-accesses=0",
            "-Cllvm-args=-tsan-instrument-memintrinsics=0",
        ];
        const MEMORY: &[&str] = &[
            "-Zsanitizer=thread",
            "-Zexternal-clangrt",
            UNSHARED,
            "-Cunsafe-allow-abi-mismatch=sanitizer",
            "-Cllvm-args=-tsan-distinguish-volatile=1",
            // Comparisons stay calls: what is made of them behind the pass would not be seen.
            "-Cllvm-args=-max-loads-per-memcmp=0",
            "-Cllvm-args=-max-loads-per-memcmp-opt-size=0",
        ];
        match self {
            Self::Atomics => ATOMICS,
            Self::Memory => MEMORY,
        }
    }
}

/// What the command tells the wrapper.
#[derive(Clone, Debug)]
pub struct Instructions {
    pub sysroot: Utf8PathBuf,
    pub instrument: Instrument,
    /// Names of crates to leave alone.
    pub skip: Vec<String>,
    /// Whether crates are to make their system calls through the C library, where the engine sees them.
    pub c_library: bool,
    /// The wrapper that the user had before us.
    pub inner: Option<OsString>,
}

impl Instructions {
    /// Makes a cargo call use this binary as the compiler.
    pub fn apply(&self, cargo: &mut Command) -> std::io::Result<()> {
        cargo
            .env("RUSTC_WRAPPER", std::env::current_exe()?)
            .env(SYSROOT, &self.sysroot)
            .env(INSTRUMENT, self.instrument.name())
            .env(SKIP, self.skip.join(","));
        match self.c_library {
            true => cargo.env(C_LIBRARY, "1"),
            false => cargo.env_remove(C_LIBRARY),
        };
        match &self.inner {
            Some(inner) => cargo.env(INNER, inner),
            None => cargo.env_remove(INNER),
        };
        Ok(())
    }
}

/// What the crate rustix takes as a wish: no system calls of its own, by assembly. It has other dependencies then, so cargo
/// has to know; all it is told about the target is what it would hear from the compiler.
const THROUGH_C_LIBRARY: [&str; 2] = ["--cfg", "rustix_use_libc"];

/// The whole wrapper phase. `args` begins with the compiler (or with the user's workspace wrapper and then the compiler).
pub fn main(sysroot: &OsStr, mut args: Vec<OsString>) -> ExitCode {
    if args.is_empty() {
        return fail("called as a compiler without one to call");
    }
    let compiler = args.remove(0);
    let readable: Vec<String> = readable_args(&args);
    let skip = std::env::var(SKIP).unwrap_or_default();
    let skip: Vec<&str> = skip.split(',').collect();
    let by_cargo = std::env::var_os("CARGO_CRATE_NAME").is_some();

    let mut command = match std::env::var_os(INNER) {
        Some(inner) => {
            let mut command = Command::new(inner);
            command.arg(&compiler);
            command
        }
        None => Command::new(&compiler),
    };
    let scope = scope::of_call(&readable, by_cargo, &skip);
    if matches!(scope, Scope::Swap { real: true, .. }) {
        args.iter_mut().for_each(link_libc_dynamically);
    }
    command.args(&args);
    match scope {
        Scope::Leave => {}
        Scope::AskAboutTarget => {
            if std::env::var_os(C_LIBRARY).is_some() {
                command.args(THROUGH_C_LIBRARY);
            }
        }
        Scope::Swap { test, real } => {
            let manifest = Utf8Path::from_path(sysroot.as_ref()).and_then(Manifest::read);
            let Some(manifest) = manifest else {
                return fail("the engine's files are gone; run `cargo schedcheck` again");
            };
            let facades = swap(&manifest, test, real, &readable);
            if real && !test && panic_handler::forbids_std(&compiler, &args, &readable, &facades) {
                return replace_process(command);
            }
            command.args(facades);
            if real {
                instrument(&mut command, Instrument::from_env(), &readable);
                command.args(lint_cap(&readable));
            }
        }
    }
    replace_process(command)
}

/// The arguments that put the facades in the place of what they stand for.
fn swap(manifest: &Manifest, test: bool, real: bool, args: &[String]) -> Vec<String> {
    // They are no dependencies of the crate: it need not name them, and a path leads to them just where it would lead to the
    // real ones. Such options are not stable, and what a build script asks is asked of a stable compiler.
    let options = if real { "noprelude,nounused:" } else { "" };
    let facades =
        [("std", &manifest.std, true), ("core", &manifest.core, true), ("test", &manifest.test, test)];
    let mut flags = Vec::new();
    for (name, facade, wanted) in facades {
        // A dependency of that name, often a mere alias of the real one, has been swapped itself.
        if wanted && !scope::is_given(args, name) {
            flags.extend(["--extern".to_owned(), format!("{options}{name}={facade}")]);
        }
    }
    flags.extend(["-L".to_owned(), format!("dependency={}", manifest.lib)]);
    flags.extend(["--cfg", "schedcheck", "--check-cfg", "cfg(schedcheck)"].map(str::to_owned));
    flags
}

fn instrument(command: &mut Command, mode: Instrument, args: &[String]) {
    command.env("RUSTC_BOOTSTRAP", "1").arg("-Zunstable-options").args(mode.rustc_flags());
    command.args(calls(args)).args(without_lto(args));
    if mentions::anywhere(args, "global_allocator") {
        // Attributes by `macro_rules!`, as the facade's is, are no stable feature for those who use them either.
        command.arg("-Zcrate-attr=feature(macro_attr)");
    }
}

/// The passes need a dynamic libc. Of `+crt-static` and `-crt-static`, the former counts wherever it stands.
fn link_libc_dynamically(arg: &mut OsString) {
    if let Some(text) = arg.to_str()
        && scope::codegen_option(text).starts_with("target-feature=")
    {
        *arg = text.replace("+crt-static", "-crt-static").into();
    }
}

/// The engine's libraries have no bitcode. What profiles say of it is overruled elsewhere, so this is for flags of the user.
fn without_lto(args: &[String]) -> Option<&'static str> {
    let of_lto = |arg: &String| {
        let value = scope::codegen_option(arg).strip_prefix("lto")?;
        (value.is_empty() || value.starts_with('='))
            .then_some(!matches!(value, "=off" | "=no" | "=n" | "=false"))
    };
    args.iter().rev().find_map(of_lto)?.then_some("-Clto=off")
}

/// No lint fails a build: whether a crate satisfies its own is not the question here, and the swap raises some that are not
/// meant for its author (`extern crate std` counts as unused). Cargo caps the lints of published crates itself.
fn lint_cap(args: &[String]) -> Option<&'static str> {
    let is_capped = args.iter().any(|arg| arg.starts_with("--cap-lints"));
    (!is_capped).then_some("--cap-lints=warn")
}

/// Flags by which every function is seen on call stacks: names that a user gives (`--trust`, `--focus`, `--method`)
/// are looked up there, and accesses are shown with the functions they stand in.
fn calls(args: &[String]) -> Vec<&'static str> {
    let last = |name: &str| args.iter().rev().find_map(|arg| scope::codegen_option(arg).strip_prefix(name));
    // Call stacks of the real std and of the engine are walked by frame pointers.
    let mut flags = vec!["-Cforce-frame-pointers=yes"];
    // What was inlined is known from debug information; line tables alone have no paths of functions.
    if !matches!(last("debuginfo="), Some("1" | "2" | "limited" | "full")) {
        flags.push("-Cdebuginfo=limited");
    }
    flags.push("-Cstrip=none");
    if cfg!(target_os = "linux") && last("split-debuginfo=").is_some() {
        flags.push("-Csplit-debuginfo=off");
    }
    let optimised =
        last("opt-level=").is_some_and(|level| level != "0") || args.iter().any(|arg| arg == "-O");
    if optimised {
        flags.extend([
            // A call at the end of a function is no jump, because the function tells that it ends: it stays on the stack.
            "-Cllvm-args=-tsan-handle-cxx-exceptions=0",
            // The same call in two functions stays two calls.
            "-Cllvm-args=-simplifycfg-sink-common=0",
            "-Cllvm-args=-simplifycfg-hoist-common=0",
            "-Cllvm-args=-enable-tail-merge=0",
            "-Zmerge-functions=disabled",
        ]);
    } else {
        flags.push("-Cllvm-args=-tsan-instrument-func-entry-exit=0");
    }
    flags
}

/// The arguments as text, with the files behind `@file` arguments read in (cargo uses them for very long lines).
fn readable_args(args: &[OsString]) -> Vec<String> {
    let mut readable = Vec::with_capacity(args.len());
    for arg in args {
        let arg = arg.to_string_lossy();
        match arg.strip_prefix('@').map(std::fs::read_to_string) {
            Some(Ok(lines)) => readable.extend(lines.lines().map(str::to_owned)),
            _ => readable.push(arg.into_owned()),
        }
    }
    readable
}

#[cfg(unix)]
fn replace_process(mut command: Command) -> ExitCode {
    let error = std::os::unix::process::CommandExt::exec(&mut command);
    fail(&format!("could not start {}: {error}", command.get_program().display()))
}

#[cfg(not(unix))]
fn replace_process(mut command: Command) -> ExitCode {
    match command.status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => fail(&format!("could not start {}: {error}", command.get_program().display())),
    }
}

fn fail(reason: &str) -> ExitCode {
    anstream::eprintln!("error: cargo-schedcheck as rustc: {reason}");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(args: &[&str]) -> Vec<&'static str> {
        calls(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn optimised_crates_keep_their_calls_and_others_pay_nothing_for_it() {
        let entry = "-Cllvm-args=-tsan-instrument-func-entry-exit=0";
        for plain in
            [&["-C", "opt-level=0"][..], &["-Cdebuginfo=2"], &["-C", "opt-level=3", "-C", "opt-level=0"]]
        {
            let flags = flags(plain);
            assert!(flags.contains(&entry) && !flags.contains(&"-Zmerge-functions=disabled"), "{plain:?}");
        }
        for optimised in [&["-C", "opt-level=3"][..], &["-Copt-level=s"], &["-O"]] {
            let flags = flags(optimised);
            assert!(
                !flags.contains(&entry) && flags.contains(&"-Zmerge-functions=disabled"),
                "{optimised:?}"
            );
        }
    }

    #[test]
    fn flags_that_the_passes_and_the_engine_do_not_go_with_are_taken_back() {
        let dynamic = |arg: &str| {
            let mut arg = arg.into();
            link_libc_dynamically(&mut arg);
            arg.into_string().unwrap()
        };
        assert_eq!(dynamic("-Ctarget-feature=+avx,+crt-static"), "-Ctarget-feature=+avx,-crt-static");
        assert_eq!(dynamic("target-feature=+crt-static"), "target-feature=-crt-static");
        assert_eq!(dynamic("feature=\"+crt-static\""), "feature=\"+crt-static\"");

        let lto = |args: &[&str]| without_lto(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>());
        for asked in [&["-Clto"][..], &["-C", "lto=thin"], &["--codegen=lto=fat"], &["-Clto=off", "-Clto=y"]]
        {
            assert_eq!(lto(asked), Some("-Clto=off"), "{asked:?}");
        }
        for not_asked in [&["-Copt-level=3"][..], &["-C", "lto=thin", "-Clto=off"], &["lto_demo.rs"]] {
            assert_eq!(lto(not_asked), None, "{not_asked:?}");
        }
    }

    #[test]
    fn debug_information_has_the_paths_of_functions() {
        let limited = "-Cdebuginfo=limited";
        assert!(
            flags(&[]).contains(&limited) && flags(&["-C", "debuginfo=line-tables-only"]).contains(&limited)
        );
        assert!(!flags(&["-C", "debuginfo=2"]).contains(&limited));
        assert!(flags(&["-C", "debuginfo=2", "-C", "debuginfo=0"]).contains(&limited));
    }
}
