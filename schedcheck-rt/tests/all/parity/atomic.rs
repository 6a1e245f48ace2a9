// The stable items of `std::sync::atomic` and `std::hint::spin_loop`, each with its exact signature.

use sync::atomic::{Ordering, *};

static BOOL: AtomicBool = AtomicBool::new(true);
static POINTER: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
#[allow(deprecated, reason = "still public")]
static OLD_WAY: (AtomicBool, AtomicIsize, AtomicUsize) = (ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT);

macro_rules! common {
    ($atomic:ty, $value:ty) => {{
        let _: fn($value) -> $atomic = <$atomic>::new;
        // SAFETY: never called, only its type is looked at.
        let _: unsafe fn(*mut $value) -> &'static $atomic = <$atomic>::from_ptr;
        let _: for<'a> fn(&'a mut $atomic) -> &'a mut $value = <$atomic>::get_mut;
        let _: fn($atomic) -> $value = <$atomic>::into_inner;
        let _: fn(&$atomic) -> *mut $value = <$atomic>::as_ptr;
        let _: fn(&$atomic, Ordering) -> $value = <$atomic>::load;
        let _: fn(&$atomic, $value, Ordering) = <$atomic>::store;
        let _: fn(&$atomic, $value, Ordering) -> $value = <$atomic>::swap;
        #[allow(deprecated, reason = "still public")]
        let _: fn(&$atomic, $value, $value, Ordering) -> $value = <$atomic>::compare_and_swap;
        type Cas = fn(&$atomic, $value, $value, Ordering, Ordering) -> Result<$value, $value>;
        let _: [Cas; 2] = [<$atomic>::compare_exchange, <$atomic>::compare_exchange_weak];
        type Update = fn($value) -> Option<$value>;
        let _: fn(&$atomic, Ordering, Ordering, Update) -> Result<$value, $value> = <$atomic>::fetch_update;
        let _ = |atomic: &$atomic, update: Update| -> Result<$value, $value> {
            atomic.try_update(Ordering::SeqCst, Ordering::SeqCst, update)
        };
        let _ = |atomic: &$atomic, update: fn($value) -> $value| -> $value {
            atomic.update(Ordering::SeqCst, Ordering::SeqCst, update)
        };
        let _: fn($value) -> $atomic = From::from;
        let _: fn() -> $atomic = Default::default;
        fn shown<A: std::fmt::Debug + std::panic::RefUnwindSafe + Send + Sync + Unpin>() {}
        shown::<$atomic>();
        const INNER: $value = <$atomic>::new(<$value as Zero>::ZERO).into_inner();
        assert_eq!((size_of::<$atomic>(), INNER), (size_of::<$value>(), <$value as Zero>::ZERO));
    }};
}

trait Zero {
    const ZERO: Self;
}

impl<T> Zero for *mut T {
    const ZERO: Self = std::ptr::null_mut();
}

impl Zero for bool {
    const ZERO: Self = false;
}

macro_rules! integers {
    ($($atomic:ident $value:ty;)*) => {
        $(impl Zero for $value {
            const ZERO: Self = 0;
        })*

        pub(crate) fn integers() {
            $(
                common!($atomic, $value);
                let _: [fn(&$atomic, $value, Ordering) -> $value; 8] = [
                    $atomic::fetch_add,
                    $atomic::fetch_sub,
                    $atomic::fetch_and,
                    $atomic::fetch_nand,
                    $atomic::fetch_or,
                    $atomic::fetch_xor,
                    $atomic::fetch_max,
                    $atomic::fetch_min,
                ];
            )*
        }
    };
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

pub(crate) fn booleans() {
    common!(AtomicBool, bool);
    let _: [fn(&AtomicBool, bool, Ordering) -> bool; 4] =
        [AtomicBool::fetch_and, AtomicBool::fetch_nand, AtomicBool::fetch_or, AtomicBool::fetch_xor];
    let _: fn(&AtomicBool, Ordering) -> bool = AtomicBool::fetch_not;
    let _ = (&BOOL, &OLD_WAY);
}

pub(crate) fn pointers() {
    common!(AtomicPtr<u8>, *mut u8);
    let _: [fn(&AtomicPtr<u8>, usize, Ordering) -> *mut u8; 7] = [
        AtomicPtr::fetch_ptr_add,
        AtomicPtr::fetch_ptr_sub,
        AtomicPtr::fetch_byte_add,
        AtomicPtr::fetch_byte_sub,
        AtomicPtr::fetch_or,
        AtomicPtr::fetch_and,
        AtomicPtr::fetch_xor,
    ];
    fn shown<A: std::fmt::Pointer>() {}
    shown::<AtomicPtr<u8>>();
    let _ = &POINTER;
}

pub(crate) fn fences() {
    let _: [fn(Ordering); 2] = [fence, compiler_fence];
    let _: fn() = hint::spin_loop;
    #[allow(deprecated, reason = "still public")]
    let _: fn() = spin_loop_hint;
}
