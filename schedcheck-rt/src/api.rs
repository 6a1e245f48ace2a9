//! What a test can say to the explorer. Outside of it, all of this is one plain run.

#[cfg(feature = "engine")]
use crate::exec::active;
#[cfg(feature = "engine")]
use crate::model::{Kind, Op};
#[cfg(feature = "engine")]
use crate::search::step::ObjectId;

/// Chooses a number below `n`: each of them is explored, together with the schedules. In a plain run
/// it is 0.
///
/// ```
/// let size = schedcheck_rt::choose(3);
/// assert!(size < 3);
/// ```
///
/// # Panics
/// If there is nothing to choose from.
#[track_caller]
#[inline(never)]
pub fn choose(n: usize) -> usize {
    assert!(n > 0, "there must be something to choose from");
    #[cfg(feature = "engine")]
    if let Some(active) = active() {
        assert!(n <= MOST_CHOICES, "at most {MOST_CHOICES} choices");
        let op = Op::new(Kind::Choose, ObjectId::NONE, std::panic::Location::caller());
        return active.perform(Op { arg: n as u32, ..op }) as usize;
    }
    0
}

/// The largest argument of [`choose`] under exploration.
#[cfg(feature = "engine")]
const MOST_CHOICES: usize = 60_000;

/// Chooses one of `values`: each of them is explored. In a plain run it is the first.
///
/// ```
/// let capacity = *schedcheck_rt::choose_from(&[0, 1, 8]);
/// assert!(capacity < 9);
/// ```
///
/// # Panics
/// If there is nothing to choose from.
#[track_caller]
pub fn choose_from<T>(values: &[T]) -> &T {
    &values[choose(values.len())]
}

/// Drops this execution if `condition` does not hold: it counts neither as passed nor as failed. In
/// a plain run nothing happens.
///
/// ```
/// let (a, b) = (schedcheck_rt::choose(3), schedcheck_rt::choose(3));
/// schedcheck_rt::assume(a <= b);
/// ```
#[track_caller]
#[inline(never)]
pub fn assume(condition: bool) {
    #[cfg(feature = "engine")]
    if !condition && let Some(active) = active() {
        active.abandon(std::panic::Location::caller());
    }
    #[cfg(not(feature = "engine"))]
    let _ = condition;
}

/// Gives whatever synchronisation objects lie within `object` a name, for `--var LABEL`: schedules
/// that differ in the order of operations on them come first. In a plain run nothing happens.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// let jobs = Arc::new(Mutex::new(Vec::<u32>::new()));
/// schedcheck_rt::name(&*jobs, "jobs"); // the mutex, not the pointer to it
/// ```
#[inline(never)]
pub fn name<T: ?Sized>(object: &T, label: &str) {
    #[cfg(feature = "engine")]
    if let Some(active) = active() {
        let start = std::ptr::from_ref(object).addr();
        active.label(start, start + size_of_val(object), label);
    }
    #[cfg(not(feature = "engine"))]
    let _ = (object, label);
}

/// A point in the code under test at which a [`scenario`](crate::scenario) can stop a thread. With
/// `--cooperative`, threads are switched only there and where they block. Otherwise, and in a plain
/// run, nothing happens: the call compiles to nothing.
///
/// ```
/// fn transfer(from: &mut u32, to: &mut u32) {
///     *from -= 1;
///     schedcheck_rt::label("in between");
///     *to += 1;
/// }
/// # transfer(&mut 1, &mut 2);
/// ```
#[track_caller]
#[cfg_attr(feature = "engine", inline(never))]
#[cfg_attr(not(feature = "engine"), inline(always))]
pub fn label(name: &str) {
    #[cfg(feature = "engine")]
    if let Some(active) = active() {
        active.at_label(name, std::panic::Location::caller());
    }
    #[cfg(not(feature = "engine"))]
    let _ = name;
}

/// What [`yield_read`] and [`yield_write`] are about: memory, or something that has a name only, such
/// as a file.
///
/// ```
/// use schedcheck_rt::{Variable, yield_write};
///
/// let mut screen = [0_u8; 4];
/// yield_write("draw", Variable::at(&screen)); // a foreign library is going to draw there
/// screen.fill(1);
/// yield_write("save", Variable::named("screen.png"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    #[cfg_attr(not(feature = "engine"), expect(dead_code, reason = "nobody looks at it in a plain run"))]
    key: u64,
}

impl Variable {
    /// Whatever lies here.
    pub fn at<T: ?Sized>(place: &T) -> Variable {
        Variable { key: std::ptr::from_ref(place).addr() as u64 }
    }

    /// Something that the program calls by this name.
    pub fn named(name: &str) -> Variable {
        // FNV-1a, out of the range of addresses. Two names that collide are taken for one variable,
        // which costs executions and nothing else.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Variable { key: hash >> 16 | 1 << 55 }
    }
}

/// A [`label`] before the code reads something that the explorer does not see by itself, such as a file
/// or memory of a foreign library: the orders of reads and writes of the same variable are explored. In
/// a plain run nothing happens.
///
/// ```
/// use schedcheck_rt::{Variable, yield_read, yield_write};
///
/// fn append(entry: &str) {
///     yield_read("look", Variable::named("journal"));
///     let before = std::fs::read_to_string("journal").unwrap_or_default();
///     yield_write("append", Variable::named("journal"));
///     # if false {
///     std::fs::write("journal", before + entry).unwrap();
///     # }
/// }
/// # append("");
/// ```
#[track_caller]
#[cfg_attr(feature = "engine", inline(never))]
#[cfg_attr(not(feature = "engine"), inline(always))]
pub fn yield_read(name: &str, variable: Variable) {
    #[cfg(feature = "engine")]
    if let Some(active) = active() {
        active.at_variable(name, Kind::YieldRead, variable.key, std::panic::Location::caller());
    }
    #[cfg(not(feature = "engine"))]
    let _ = (name, variable);
}

/// A [`label`] before the code writes such a thing; see [`yield_read`].
///
/// ```
/// use schedcheck_rt::{Variable, yield_write};
///
/// fn log(line: &str) {
///     yield_write("log", Variable::named("standard output"));
///     println!("{line}");
/// }
/// # log("");
/// ```
#[track_caller]
#[cfg_attr(feature = "engine", inline(never))]
#[cfg_attr(not(feature = "engine"), inline(always))]
pub fn yield_write(name: &str, variable: Variable) {
    #[cfg(feature = "engine")]
    if let Some(active) = active() {
        active.at_variable(name, Kind::YieldWrite, variable.key, std::panic::Location::caller());
    }
    #[cfg(not(feature = "engine"))]
    let _ = (name, variable);
}

/// Runs `body` in so many threads and waits for all of them. They are interchangeable: of the
/// schedules that differ only in which of them did what, one is explored (`--symmetry off`: all).
///
/// The body must do the same whichever thread runs it: it must not ask for the name or the number of
/// its thread, compare addresses of its own allocations, or depend on the order of a `HashMap`.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// let count = AtomicU32::new(0);
/// schedcheck_rt::symmetric(3, || {
///     count.fetch_add(1, Relaxed);
/// });
/// assert_eq!(count.into_inner(), 3);
/// ```
///
/// # Panics
/// If one of the threads does.
#[track_caller]
pub fn symmetric(threads: usize, body: impl Fn() + Sync) {
    #[cfg(feature = "engine")]
    if let Some(active) = active() {
        let mut before = None;
        return crate::facade::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(&body);
                let slot = active.youngest();
                active.make_twin(slot, before);
                before = Some(slot);
            }
        });
    }
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(&body);
        }
    });
}
