//! The programs of the comparison as plain tests: `cargo schedcheck --all-tests -r`.

#[cfg(test)]
#[macro_use]
#[path = "../../programs.rs"]
mod programs;

#[cfg(test)]
mod tests {
    programs!(std);

    macro_rules! tests {
        ($($name:ident)*) => {
            $(#[test]
            fn $name() {
                program(stringify!($name)).expect("a program of the comparison")();
            })*
        };
    }

    tests! {
        fetch_add_2x3 fetch_add_2x9 mutex_3x2 mutex_4x2 condvar_2 condvar_5 mpsc_1x3 mpsc_2x5 lost_update
        padded_0 padded_8 padded_16 padded_32
    }
}
