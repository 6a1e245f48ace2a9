//! Which rustc calls are changed, and how far: read off the command line that cargo wrote.

/// What the wrapper does with one rustc call.
#[derive(Debug, PartialEq, Eq)]
pub enum Scope {
    /// Pass the call on as it is.
    Leave,
    /// Cargo asks what is configured for the target.
    AskAboutTarget,
    /// Swap the facades in.
    Swap {
        /// The call builds a test harness.
        test: bool,
        /// The call compiles a crate for real; otherwise it is a build script asking what compiles.
        real: bool,
    },
}

/// Decides about one call. `by_cargo`: cargo itself made it, not a build script.
pub fn of_call(args: &[String], by_cargo: bool, skip: &[&str]) -> Scope {
    // We always build with an explicit target, so a call without one is for the host: a build script or a proc macro.
    let for_target = values(args, "--target").next().is_some();
    let is_query = values(args, "--print").next().is_some()
        || args.iter().any(|a| a == "-vV" || a == "-V" || a == "--version");
    if for_target && values(args, "--print").any(|what| what == "cfg") {
        return Scope::AskAboutTarget;
    }
    let is_proc_macro = values(args, "--crate-type").any(|kind| kind == "proc-macro");
    let is_skipped = values(args, "--crate-name").any(|name| skip.contains(&name));
    if !for_target || is_query || is_proc_macro || is_skipped {
        return Scope::Leave;
    }
    let from_file = args.iter().any(|arg| arg.ends_with(".rs") && !arg.starts_with('-'));
    Scope::Swap { test: args.iter().any(|arg| arg == "--test"), real: by_cargo && from_file }
}

/// The values of an option, written `--name value` or `--name=value`.
pub fn values<'a>(args: &'a [String], name: &'a str) -> impl Iterator<Item = &'a str> {
    args.iter().enumerate().filter_map(move |(at, arg)| match arg.strip_prefix(name)? {
        "" => args.get(at + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    })
}

/// What an argument says of code generation, if it is about that: `-C NAME=VALUE`, in one argument or in two.
pub fn codegen_option(arg: &str) -> &str {
    arg.strip_prefix("-C").or_else(|| arg.strip_prefix("--codegen=")).unwrap_or(arg)
}

/// Whether the call names a crate that `name` stands for: `--extern NAME=PATH`, perhaps with `priv:` and the like before it.
pub fn is_given(args: &[String], name: &str) -> bool {
    let stands_for = |value: &str| {
        let named = value.split_once('=').map_or(value, |(named, _)| named);
        named.rsplit_once(':').map_or(named, |(_, named)| named) == name
    };
    values(args, "--extern").any(stands_for)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, by_cargo: bool) -> Scope {
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        of_call(&args, by_cargo, &["left_alone"])
    }

    #[test]
    fn crates_for_the_target_are_swapped() {
        let real = Scope::Swap { test: false, real: true };
        assert_eq!(
            of("--crate-name bank src/lib.rs --crate-type lib --target x86_64-unknown-linux-gnu", true),
            real
        );
        assert_eq!(
            of("--crate-name bank src/lib.rs --crate-type=lib --target=x86_64-unknown-linux-gnu", true),
            real
        );
        let test = Scope::Swap { test: true, real: true };
        assert_eq!(of("--crate-name bank src/lib.rs --test --target x", true), test);
    }

    #[test]
    fn host_crates_queries_and_skipped_crates_are_left_alone() {
        assert_eq!(of("--crate-name build_script_build build.rs --crate-type bin", true), Scope::Leave);
        assert_eq!(
            of("--crate-name derive src/lib.rs --crate-type proc-macro --target x", true),
            Scope::Leave
        );
        assert_eq!(of("- --crate-name ___ --print=file-names --target x", true), Scope::Leave);
        assert_eq!(of("- --crate-name ___ --print=file-names --print=cfg", true), Scope::Leave);
        assert_eq!(of("-vV", true), Scope::Leave);
        assert_eq!(of("--crate-name left_alone src/lib.rs --target x", true), Scope::Leave);
    }

    #[test]
    fn dependencies_may_have_the_names_of_what_is_swapped() {
        let line = "--extern priv,noprelude:core=libcore.rlib --extern=std=libstd.rlib --extern proc_macro";
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert!(["core", "std", "proc_macro"].iter().all(|name| is_given(&args, name)));
        assert!(!is_given(&args, "test") && !is_given(&args, "priv"));
    }

    #[test]
    fn cargo_asks_about_the_target() {
        assert_eq!(
            of("- --crate-name ___ --print=file-names --print=cfg --target x", false),
            Scope::AskAboutTarget
        );
    }

    #[test]
    fn probes_of_build_scripts_are_swapped_but_not_instrumented() {
        let probe = Scope::Swap { test: false, real: false };
        assert_eq!(of("--crate-name probe --crate-type=lib --target x -", true), probe);
        assert_eq!(
            of("--crate-name anyhow --emit=dep-info,metadata src/nightly.rs --target x", false),
            probe
        );
    }
}
