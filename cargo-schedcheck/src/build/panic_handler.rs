//! Crates that cannot be compiled beside std: they have a `#[panic_handler]`, as std has, or depend on one that has it. The
//! facades bring std along, so such crates keep what they have. No test misses them: every test has std.

use std::ffi::{OsStr, OsString};
use std::process::{Command, Stdio};

use camino::Utf8PathBuf;

use super::mentions;
use super::scope::{codegen_option, values};

/// Whether the crate of a compiler call is such a one. `facades` are the arguments that put them in.
pub fn forbids_std(compiler: &OsStr, args: &[OsString], readable: &[String], facades: &[String]) -> bool {
    let may_have_one = mentions::in_root(readable, "no_std") && mentions::anywhere(readable, "panic_handler");
    if !may_have_one && !is_among_dependencies(readable) {
        return false;
    }
    let forbids = fails_for_it(compiler, args, facades);
    if forbids && let Some(mark) = mark(readable) {
        // Without it, the compiler tells of the two handlers where the crate is used.
        let _ = std::fs::write(mark, "");
    }
    forbids
}

/// What the sources say is no proof: the compiler knows what is configured.
fn fails_for_it(compiler: &OsStr, args: &[OsString], facades: &[String]) -> bool {
    let no_code = args.iter().filter(|arg| !arg.to_string_lossy().starts_with("--emit"));
    let mut trial = Command::new(compiler);
    trial.args(no_code).arg("--emit=metadata").args(facades).arg("-Zunstable-options");
    trial.env("RUSTC_BOOTSTRAP", "1").stdin(Stdio::null());
    trial.output().is_ok_and(|output| {
        let errors = String::from_utf8_lossy(&output.stderr);
        !output.status.success() && errors.contains("E0152") && errors.contains("panic_impl")
    })
}

/// A file beside the library, which tells those who depend on it.
fn mark(args: &[String]) -> Option<Utf8PathBuf> {
    let name = values(args, "--crate-name").next()?;
    let suffix = args.iter().find_map(|arg| codegen_option(arg).strip_prefix("extra-filename="));
    let dir = values(args, "--out-dir").next()?;
    Some(Utf8PathBuf::from(format!("{dir}/lib{name}{}.{MARK}", suffix.unwrap_or_default())))
}

const MARK: &str = "panic-handler";

fn is_among_dependencies(args: &[String]) -> bool {
    let mut paths = values(args, "--extern").filter_map(|value| value.split_once('=').map(|(_, path)| path));
    paths.any(|path| Utf8PathBuf::from(path).with_extension(MARK).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_decides_who_has_a_handler_and_dependents_hear_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = camino::Utf8Path::from_path(dir.path()).unwrap();
        let forbids = |text: &str, name: &str, more: &[String]| {
            let root = dir.join(format!("{name}.rs"));
            std::fs::write(&root, format!("#![no_std]\nextern crate std;\n{text}")).unwrap();
            let (crate_name, out) = (format!("--crate-name={name}"), format!("--out-dir={dir}"));
            let args =
                ["--crate-type=lib", "--emit=dep-info,metadata,link", "-Cextra-filename=-1", root.as_str()];
            let args = args.iter().copied().chain([crate_name.as_str(), &out]).map(str::to_owned);
            let args: Vec<String> = args.chain(more.iter().cloned()).collect();
            let raw: Vec<OsString> = args.iter().map(OsString::from).collect();
            // In the place of the facades, it names std itself.
            forbids_std(OsStr::new("rustc"), &raw, &args, &[])
        };
        let handler = "fn handler(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }";
        assert!(!forbids("// No #[panic_handler] here.", "comment", &[]));
        assert!(!forbids(&format!("#[cfg(any())] #[panic_handler] {handler}"), "configured", &[]));
        assert!(!forbids("#[panic_handler] fn", "broken", &[]));
        assert!(!dir.join("libcomment-1.panic-handler").exists());
        assert!(forbids(&format!("#[panic_handler] {handler}"), "halt", &[]));

        let given = [format!("--extern=halt={dir}/libhalt-1.rlib")];
        assert!(is_among_dependencies(&given) && !forbids("", "names_it_only", &given));
    }
}
