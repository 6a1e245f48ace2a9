//! The integer atomics.

use super::cell;
use crate::model::Kind;
use std::panic::Location;
use std::sync::atomic::{self as real, Ordering};

macro_rules! integers {
    ($($name:ident $value:ty;)*) => { $(
        #[doc = concat!("The same as [`std::sync::atomic::", stringify!($name), "`], a step per operation.")]
        #[repr(transparent)]
        #[derive(Default)]
        pub struct $name(real::$name);

        atomic_cell!($name, real::$name, $value);
        atomic_rmw!($name, $value: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min);

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.load(Ordering::Relaxed), f)
            }
        }

        impl From<$value> for $name {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    )* };
}

integers! {
    AtomicI8 i8;
    AtomicI16 i16;
    AtomicI32 i32;
    AtomicI64 i64;
    AtomicIsize isize;
    AtomicU8 u8;
    AtomicU16 u16;
    AtomicU32 u32;
    AtomicU64 u64;
    AtomicUsize usize;
}
