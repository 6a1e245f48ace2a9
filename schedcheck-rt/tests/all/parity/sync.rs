// The stable items of `std::sync` and `std::sync::mpsc`, each with its exact signature. Compiled
// once against std and once against the facades; `sync` is whichever of them.

use std::fmt::{self, Debug, Display};
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;
use sync::*;

static MUTEX: Mutex<u8> = Mutex::new(0);
static RWLOCK: RwLock<u8> = RwLock::new(0);
static CONDVAR: Condvar = Condvar::new();
static BARRIER: Barrier = Barrier::new(1);
static ONCE: Once = Once::new();
#[allow(deprecated, reason = "still public")]
static OLD_ONCE: Once = ONCE_INIT;
static ONCE_LOCK: OnceLock<u8> = OnceLock::new();
static LAZY_LOCK: LazyLock<u8> = LazyLock::new(|| 1);

pub(crate) fn statics() -> usize {
    fn size<T: Sync>(_: &'static T) -> usize {
        usize::from(size_of::<T>() > 0)
    }
    size(&MUTEX)
        + size(&RWLOCK)
        + size(&CONDVAR)
        + size(&BARRIER)
        + size(&ONCE)
        + size(&OLD_ONCE)
        + size(&ONCE_LOCK)
        + size(&LAZY_LOCK)
}

fn is<Traits: ?Sized>() {
    let _ = std::marker::PhantomData::<Traits>;
}

pub(crate) fn mutex<T: Debug + Display + Default + 'static>() {
    let _: fn(T) -> Mutex<T> = Mutex::new;
    let _: for<'a> fn(&'a Mutex<T>) -> LockResult<MutexGuard<'a, T>> = Mutex::lock;
    let _: for<'a> fn(&'a Mutex<T>) -> TryLockResult<MutexGuard<'a, T>> = Mutex::try_lock;
    let _: fn(&Mutex<T>) -> bool = Mutex::is_poisoned;
    let _: fn(&Mutex<T>) = Mutex::clear_poison;
    let _: fn(Mutex<T>) -> LockResult<T> = Mutex::into_inner;
    let _: for<'a> fn(&'a mut Mutex<T>) -> LockResult<&'a mut T> = Mutex::get_mut;
    let _: fn(T) -> Mutex<T> = From::from;
    let _: fn() -> Mutex<T> = Default::default;
    fn guard<'a, T: Debug + Display, G: Deref<Target = T> + DerefMut + Debug + Display + 'a>() {}
    guard::<T, MutexGuard<'static, T>>();
    let _: for<'a> fn(&'a Mutex<[T]>) -> LockResult<MutexGuard<'a, [T]>> = Mutex::lock;
    let _: fn(Box<Mutex<[T; 2]>>) -> Box<Mutex<[T]>> = |unsized_to| unsized_to;
}

pub(crate) fn condvar<T, F: FnMut(&mut T) -> bool>() {
    let _: fn() -> Condvar = Condvar::new;
    let _: fn() -> Condvar = Default::default;
    let _: for<'a> fn(&Condvar, MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> = Condvar::wait;
    let _: for<'a> fn(&Condvar, MutexGuard<'a, T>, F) -> LockResult<MutexGuard<'a, T>> = Condvar::wait_while;
    type Timed<'a, T> = LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>;
    let _: for<'a> fn(&Condvar, MutexGuard<'a, T>, Duration) -> Timed<'a, T> = Condvar::wait_timeout;
    let _: for<'a> fn(&Condvar, MutexGuard<'a, T>, Duration, F) -> Timed<'a, T> = Condvar::wait_timeout_while;
    #[allow(deprecated, reason = "still public")]
    let _: for<'a> fn(&Condvar, MutexGuard<'a, T>, u32) -> LockResult<(MutexGuard<'a, T>, bool)> =
        Condvar::wait_timeout_ms;
    let _: [fn(&Condvar); 2] = [Condvar::notify_one, Condvar::notify_all];
    let _: fn(&WaitTimeoutResult) -> bool = WaitTimeoutResult::timed_out;
    fn result<R: Debug + PartialEq + Eq + Copy>() {}
    result::<WaitTimeoutResult>();
}

pub(crate) fn rwlock<T: Debug + Display + Default + 'static>() {
    let _: fn(T) -> RwLock<T> = RwLock::new;
    let _: for<'a> fn(&'a RwLock<T>) -> LockResult<RwLockReadGuard<'a, T>> = RwLock::read;
    let _: for<'a> fn(&'a RwLock<T>) -> TryLockResult<RwLockReadGuard<'a, T>> = RwLock::try_read;
    let _: for<'a> fn(&'a RwLock<T>) -> LockResult<RwLockWriteGuard<'a, T>> = RwLock::write;
    let _: for<'a> fn(&'a RwLock<T>) -> TryLockResult<RwLockWriteGuard<'a, T>> = RwLock::try_write;
    let _: fn(&RwLock<T>) -> bool = RwLock::is_poisoned;
    let _: fn(&RwLock<T>) = RwLock::clear_poison;
    let _: fn(RwLock<T>) -> LockResult<T> = RwLock::into_inner;
    let _: for<'a> fn(&'a mut RwLock<T>) -> LockResult<&'a mut T> = RwLock::get_mut;
    let _: fn(RwLockWriteGuard<'static, T>) -> RwLockReadGuard<'static, T> = RwLockWriteGuard::downgrade;
    let _: fn(T) -> RwLock<T> = From::from;
    let _: fn() -> RwLock<T> = Default::default;
    fn guard<T, G: Deref<Target = T> + Debug + Display>() {}
    guard::<T, RwLockReadGuard<'static, T>>();
    guard::<T, RwLockWriteGuard<'static, T>>();
    fn mutable<G: DerefMut>() {}
    mutable::<RwLockWriteGuard<'static, T>>();
    let _: fn(Box<RwLock<[T; 2]>>) -> Box<RwLock<[T]>> = |unsized_to| unsized_to;
    fn covariant<'short>(guard: RwLockReadGuard<'short, &'static str>) -> RwLockReadGuard<'short, &'short str> {
        guard
    }
    is::<fn(RwLockReadGuard<'static, &'static str>)>();
    let _ = covariant;
}

pub(crate) fn barrier() {
    let _: fn(usize) -> Barrier = Barrier::new;
    let _: fn(&Barrier) -> BarrierWaitResult = Barrier::wait;
    let _: fn(&BarrierWaitResult) -> bool = BarrierWaitResult::is_leader;
}

pub(crate) fn once<F: FnOnce(), G: FnOnce(&OnceState)>() {
    let _: fn() -> Once = Once::new;
    let _: fn(&Once, F) = Once::call_once;
    let _: fn(&Once, G) = Once::call_once_force;
    let _: fn(&Once) -> bool = Once::is_completed;
    let _: [fn(&Once); 2] = [Once::wait, Once::wait_force];
    let _: fn(&OnceState) -> bool = OnceState::is_poisoned;
}

pub(crate) fn once_lock<T: Clone + PartialEq + Debug, F: FnOnce() -> T>() {
    let _: fn() -> OnceLock<T> = OnceLock::new;
    let _: for<'a> fn(&'a OnceLock<T>) -> Option<&'a T> = OnceLock::get;
    let _: for<'a> fn(&'a mut OnceLock<T>) -> Option<&'a mut T> = OnceLock::get_mut;
    let _: for<'a> fn(&'a OnceLock<T>) -> &'a T = OnceLock::wait;
    let _: fn(&OnceLock<T>, T) -> Result<(), T> = OnceLock::set;
    let _: for<'a> fn(&'a OnceLock<T>, F) -> &'a T = OnceLock::get_or_init;
    let _: fn(OnceLock<T>) -> Option<T> = OnceLock::into_inner;
    let _: fn(&mut OnceLock<T>) -> Option<T> = OnceLock::take;
    let _: fn(T) -> OnceLock<T> = From::from;
    let _: fn() -> OnceLock<T> = Default::default;
    let _: fn(&OnceLock<T>) -> OnceLock<T> = Clone::clone;
    let _: fn(&OnceLock<T>, &OnceLock<T>) -> bool = PartialEq::eq;
}

// The cell does not use a value when it is dropped, so it may borrow from what is dropped with it.
pub(crate) fn once_lock_may_dangle() {
    struct Node<'a>(OnceLock<&'a Node<'a>>);
    let (first, second) = (Node(OnceLock::new()), Node(OnceLock::new()));
    let _ = first.0.set(&second);
    let _ = second.0.set(&first);
}

pub(crate) fn lazy_lock<T: Default, F: FnOnce() -> T>() {
    let _: fn(F) -> LazyLock<T, F> = LazyLock::new;
    let _: for<'a> fn(&'a LazyLock<T, F>) -> &'a T = LazyLock::force;
    let _: for<'a> fn(&'a LazyLock<T, F>) -> Option<&'a T> = LazyLock::get;
    let _: for<'a> fn(&'a mut LazyLock<T, F>) -> Option<&'a mut T> = LazyLock::get_mut;
    let _: for<'a> fn(&'a mut LazyLock<T, F>) -> &'a mut T = LazyLock::force_mut;
    let _: for<'a> fn(&'a LazyLock<T, F>) -> &'a T = Deref::deref;
    let _: for<'a> fn(&'a mut LazyLock<T, F>) -> &'a mut T = DerefMut::deref_mut;
    let _: fn() -> LazyLock<T> = Default::default;
}

pub(crate) fn channels<T: Debug + 'static>() {
    use sync::mpsc::*;
    let _: fn() -> (Sender<T>, Receiver<T>) = channel;
    let _: fn(usize) -> (SyncSender<T>, Receiver<T>) = sync_channel;
    let _: fn(&Sender<T>, T) -> Result<(), SendError<T>> = Sender::send;
    let _: fn(&SyncSender<T>, T) -> Result<(), SendError<T>> = SyncSender::send;
    let _: fn(&SyncSender<T>, T) -> Result<(), TrySendError<T>> = SyncSender::try_send;
    let _: fn(&Receiver<T>) -> Result<T, RecvError> = Receiver::recv;
    let _: fn(&Receiver<T>) -> Result<T, TryRecvError> = Receiver::try_recv;
    let _: fn(&Receiver<T>, Duration) -> Result<T, RecvTimeoutError> = Receiver::recv_timeout;
    let _: for<'a> fn(&'a Receiver<T>) -> Iter<'a, T> = Receiver::iter;
    let _: for<'a> fn(&'a Receiver<T>) -> TryIter<'a, T> = Receiver::try_iter;
    let _: fn(Receiver<T>) -> IntoIter<T> = IntoIterator::into_iter;
    let _: fn(&'static Receiver<T>) -> Iter<'static, T> = IntoIterator::into_iter;
    let _: fn(&Sender<T>) -> Sender<T> = Clone::clone;
    let _: fn(&SyncSender<T>) -> SyncSender<T> = Clone::clone;
    fn iterates<T, I: Iterator<Item = T> + Debug>() {}
    iterates::<T, Iter<'static, T>>();
    iterates::<T, TryIter<'static, T>>();
    iterates::<T, IntoIter<T>>();
    fn error<E: std::error::Error>() {}
    error::<SendError<T>>();
    error::<TrySendError<T>>();
    error::<RecvError>();
    error::<TryRecvError>();
    error::<RecvTimeoutError>();
}

/// For each type, which traits it has.
pub(crate) fn traits() -> Vec<crate::std_parity::Traits> {
    macro_rules! table {
        ($($type:ty),* $(,)?) => { vec![$((stringify!($type), crate::traits_of!($type)),)*] };
    }
    macro_rules! containers {
        ($($name:ident)*) => { vec![$(
            table!(
                $name<u8>,
                $name<std::cell::Cell<u8>>,
                $name<std::rc::Rc<u8>>,
                $name<std::sync::MutexGuard<'static, u8>>,
                $name<&'static mut u8>,
                $name<std::marker::PhantomPinned>,
            ),
        )*].concat() };
    }
    use sync::mpsc::{IntoIter, Receiver, Sender, SyncSender};
    type Guard<T> = MutexGuard<'static, T>;
    type ReadGuard<T> = RwLockReadGuard<'static, T>;
    type WriteGuard<T> = RwLockWriteGuard<'static, T>;
    type Iter<T> = sync::mpsc::Iter<'static, T>;
    type TryIter<T> = sync::mpsc::TryIter<'static, T>;
    let mut all = containers! {
        Mutex Guard RwLock ReadGuard WriteGuard OnceLock LazyLock Sender SyncSender Receiver IntoIter Iter TryIter
    };
    all.extend(table![Condvar, Barrier, Once, OnceState, BarrierWaitResult, WaitTimeoutResult]);
    all
}

pub(crate) fn unwind_safety_is_named<T: UnwindSafe + RefUnwindSafe>() -> fmt::Result {
    Ok(())
}
