//! The programs of the comparison as plain tests: `cargo schedcheck --all-tests -r`.

#[cfg(test)]
#[macro_use]
#[path = "../../programs.rs"]
mod programs;

#[cfg(test)]
mod on_std {
    programs!(std);
}

#[cfg(test)]
mod tests {
    macro_rules! tests {
        ($($name:ident)*) => {
            $(#[test]
            fn $name() {
                crate::on_std::program(stringify!($name)).expect("a program of the comparison")();
            })*
        };
    }

    tests! {
        fetch_add_2x3 fetch_add_2x9 mutex_3x2 mutex_3x4 condvar_2 condvar_6 mpsc_1x3 mpsc_2x8 lost_update
        padded_0 padded_8 padded_16 padded_32
    }
}
