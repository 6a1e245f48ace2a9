// The stable items of `std::thread`, each with its exact signature.

use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::hash::Hash;
use std::io;
use std::marker::PhantomPinned;
use std::num::NonZero;
use std::time::Duration;
use thread::{
    AccessError, Builder, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId,
    available_parallelism, current, panicking, park, park_timeout, scope, sleep, spawn, yield_now,
};
#[allow(deprecated, reason = "still public")]
use thread::{park_timeout_ms, sleep_ms};

pub(crate) fn functions<F: FnOnce() -> T + Send + 'static, T: Send + 'static>() {
    let _: fn(F) -> JoinHandle<T> = spawn;
    let _: fn() -> Thread = current;
    let _: fn() -> bool = panicking;
    let _: [fn(); 2] = [park, yield_now];
    let _: [fn(Duration); 2] = [park_timeout, sleep];
    #[allow(deprecated, reason = "still public")]
    let _: [fn(u32); 2] = [park_timeout_ms, sleep_ms];
    let _: fn() -> io::Result<NonZero<usize>> = available_parallelism;
    let _: fn(std::thread::Result<T>) -> thread::Result<T> = |same| same;
}

pub(crate) fn builder<F: FnOnce() -> T + Send + 'static, T: Send + 'static>() {
    let _: fn() -> Builder = Builder::new;
    let _: fn(Builder, String) -> Builder = Builder::name;
    let _: fn(Builder, usize) -> Builder = Builder::stack_size;
    let _: fn(Builder, F) -> io::Result<JoinHandle<T>> = Builder::spawn;
    // SAFETY: never called, only its type is looked at.
    let _: unsafe fn(Builder, F) -> io::Result<JoinHandle<T>> = Builder::spawn_unchecked;
    let _: fn(Builder, &'static Scope<'static, 'static>, F) -> io::Result<ScopedJoinHandle<'static, T>> =
        Builder::spawn_scoped;
}

pub(crate) fn handles<T: Send + 'static>() {
    let _: for<'a> fn(&'a JoinHandle<T>) -> &'a Thread = JoinHandle::thread;
    let _: fn(JoinHandle<T>) -> thread::Result<T> = JoinHandle::join;
    let _: fn(&JoinHandle<T>) -> bool = JoinHandle::is_finished;
    let _: for<'a> fn(&'a ScopedJoinHandle<'static, T>) -> &'a Thread = ScopedJoinHandle::thread;
    let _: fn(ScopedJoinHandle<'static, T>) -> thread::Result<T> = ScopedJoinHandle::join;
    let _: fn(&ScopedJoinHandle<'static, T>) -> bool = ScopedJoinHandle::is_finished;
    let _: fn(&Thread) = Thread::unpark;
    let _: fn(&Thread) -> ThreadId = Thread::id;
    let _: for<'a> fn(&'a Thread) -> Option<&'a str> = Thread::name;
    fn identity<I: Eq + Clone + Copy + Hash + Debug>() {}
    identity::<ThreadId>();
    fn cloned<C: Clone + Debug>() {}
    cloned::<Thread>();
}

/// Names that std has for its unstable items are free for those who extend its types.
#[allow(unstable_name_collisions, reason = "that is the question")]
pub(crate) fn free_names(extended: Thread) -> u8 {
    trait Extension: Sized {
        fn into_raw(self) -> u8 {
            0
        }
        fn from_raw(_: u8) {}
    }
    impl Extension for Thread {}
    Thread::from_raw(0);
    extended.into_raw()
}

pub(crate) fn scopes(list: &mut Vec<u8>) -> usize {
    let mut count = 0;
    scope(|within| {
        let pushes = within.spawn(|| list.push(1));
        pushes.join().unwrap();
        within.spawn(|| {
            within.spawn(|| count += 1);
        });
    });
    count
}

pub(crate) fn keys<T: Copy + Default + 'static, F: FnOnce(&T) -> R, M: FnOnce(&mut T) -> R, R>() {
    let _: fn(&'static LocalKey<T>, F) -> R = LocalKey::with;
    let _: fn(&'static LocalKey<T>, F) -> Result<R, AccessError> = LocalKey::try_with;
    let _: fn(&'static LocalKey<Cell<T>>, T) = LocalKey::<Cell<T>>::set;
    let _: fn(&'static LocalKey<Cell<T>>) -> T = LocalKey::<Cell<T>>::get;
    let _: fn(&'static LocalKey<Cell<T>>) -> T = LocalKey::<Cell<T>>::take;
    let _: fn(&'static LocalKey<Cell<T>>, T) -> T = LocalKey::<Cell<T>>::replace;
    let _: fn(&'static LocalKey<RefCell<T>>, T) = LocalKey::<RefCell<T>>::set;
    let _: fn(&'static LocalKey<RefCell<T>>) -> T = LocalKey::<RefCell<T>>::take;
    let _: fn(&'static LocalKey<RefCell<T>>, T) -> T = LocalKey::<RefCell<T>>::replace;
    let _: fn(&'static LocalKey<RefCell<T>>, F) -> R = LocalKey::<RefCell<T>>::with_borrow;
    let _: fn(&'static LocalKey<RefCell<T>>, M) -> R = LocalKey::<RefCell<T>>::with_borrow_mut;
    fn error<E: std::error::Error + Clone + Copy + Eq>() {}
    error::<AccessError>();
}

pub(crate) fn macro_forms() -> u32 {
    thread_local! {
        /// With a comment.
        static LAZY: Cell<u32> = Cell::new(1);
        #[allow(unused, reason = "an attribute")]
        pub static PUBLIC: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
        pub(crate) static LAST: u32 = 1 + 1
    }
    thread_local!(static SINGLE: u32 = const { 4 });
    thread_local!(static ELIDED: Cell<&str> = const { Cell::new("four") });
    thread_local!();
    PUBLIC.with_borrow(Vec::len) as u32 + LAZY.get() + LAST.with(|last| *last) + SINGLE.with(|single| *single) + ELIDED.get().len() as u32
}

/// For each type, which traits it has.
pub(crate) fn traits() -> Vec<crate::std_parity::Traits> {
    macro_rules! table {
        ($($type:ty),* $(,)?) => { vec![$((stringify!($type), crate::traits_of!($type)),)*] };
    }
    table! {
        JoinHandle<u8>, JoinHandle<std::rc::Rc<u8>>, JoinHandle<Cell<u8>>, JoinHandle<PhantomPinned>,
        ScopedJoinHandle<'static, u8>, ScopedJoinHandle<'static, std::rc::Rc<u8>>,
        ScopedJoinHandle<'static, Cell<u8>>, ScopedJoinHandle<'static, PhantomPinned>,
        Scope<'static, 'static>, Builder, Thread, ThreadId, AccessError,
        LocalKey<u8>, LocalKey<std::rc::Rc<u8>>, LocalKey<Cell<u8>>, LocalKey<&'static mut u8>, LocalKey<PhantomPinned>,
    }
}
