//! Functions of the C library that lead out of the execution. They are the real ones; when user code calls them, it is
//! noted, so that a verdict can say what it rests on.
//!
//! What does not pass through a function of the C library stays unseen: system calls by assembly, instructions that read
//! random numbers. `mmap` is not among them: memory is no outside, and where it maps a file, the file was
//! opened before.

use super::{counter, events, set_error_number};
use crate::exec::outside::Kind;
use crate::exec::{Active, active};
use std::ffi::{CStr, c_int, c_long};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Any of them. All take integers and pointers, six at most, which travel in registers; so do those that are not in the
/// declaration of the functions that take more than they say (`open`).
type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;

/// A function of the C library.
struct Real {
    name: &'static CStr,
    kind: Kind,
    /// Where it is, once it was looked up. Elsewhere, since all that can change is put back after each execution.
    address: &'static AtomicUsize,
}

impl Real {
    /// Looks up where it is; 0: this C library does not have it.
    fn resolve(&self) -> usize {
        let mut address = self.address.load(Ordering::Relaxed);
        if address == 0 {
            address = look_up(self.name);
            self.address.store(address, Ordering::Relaxed);
        }
        address
    }

    /// Calls it.
    ///
    /// # Safety
    /// As the C library's.
    unsafe fn call(&self, arguments: [usize; 6]) -> usize {
        let real = |[a, b, c, d, e, f]: [usize; 6]| match self.resolve() {
            0 => {
                set_error_number(libc::ENOSYS);
                usize::MAX
            }
            real => {
                // SAFETY: a function that takes at most these arguments; the caller vouches for them.
                let call = || unsafe { std::mem::transmute::<usize, Function>(real)(a, b, c, d, e, f) };
                if self.kind == Kind::Processes { counter::released(call) } else { call() }
            }
        };
        let Some(active) = active().filter(Active::in_user) else { return real(arguments) };
        if !self.is_harmless(arguments[0]) && !events::is_controlled(self.name, arguments) {
            active.meets(self.kind, self.name);
        }
        events::perform(active, self.name, arguments, real)
    }

    /// Whether a call has no influence on the execution: it prints, or asks how much to print.
    fn is_harmless(&self, first: usize) -> bool {
        match self.name.to_bytes() {
            b"write" | b"writev" => matches!(first, 1 | 2),
            // What is done with a descriptor matters where it was opened.
            b"close" | b"dup" | b"dup2" | b"dup3" | b"fcntl" | b"fcntl64" | b"epoll_ctl"
            | b"timerfd_settime" | b"timerfd_gettime" => true,
            b"getenv" => {
                // SAFETY: the program passed a text to the C library.
                let variable = unsafe { CStr::from_ptr(first as *const std::ffi::c_char) };
                matches!(variable.to_bytes(), b"RUST_BACKTRACE" | b"RUST_LIB_BACKTRACE")
            }
            _ => false,
        }
    }
}

/// The C library's symbol: its newest version, for which the library itself has to be asked.
pub(super) fn look_up(name: &CStr) -> usize {
    // SAFETY: finds a library that is loaded, and symbols.
    unsafe {
        let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        let own = if library.is_null() { library } else { libc::dlsym(library, name.as_ptr()) };
        if own.is_null() { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()).addr() } else { own.addr() }
    }
}

/// Makes a system call that has to do with waiting, as the function of the C library that is for it. `None` for others.
///
/// # Safety
/// As for the system call itself.
pub(super) unsafe fn call_by_number(number: c_long, arguments: [usize; 6]) -> Option<c_long> {
    let position = match number {
        libc::SYS_pipe2 => Position::pipe2,
        libc::SYS_socketpair => Position::socketpair,
        libc::SYS_eventfd2 => Position::eventfd,
        libc::SYS_timerfd_create => Position::timerfd_create,
        libc::SYS_timerfd_settime => Position::timerfd_settime,
        libc::SYS_timerfd_gettime => Position::timerfd_gettime,
        libc::SYS_epoll_create1 => Position::epoll_create1,
        libc::SYS_epoll_ctl => Position::epoll_ctl,
        libc::SYS_epoll_pwait => Position::epoll_pwait,
        libc::SYS_read => Position::read,
        libc::SYS_write => Position::write,
        libc::SYS_readv => Position::readv,
        libc::SYS_writev => Position::writev,
        libc::SYS_dup => Position::dup,
        libc::SYS_dup3 => Position::dup3,
        libc::SYS_fcntl => Position::fcntl,
        libc::SYS_close => Position::close,
        _ => return None,
    };
    // SAFETY: it takes the same arguments; the caller vouches for them.
    let answer = unsafe { REAL[position as usize].call(arguments) };
    // None of them answers more than fits there, and most answer no more than that.
    Some((answer as c_int).into())
}

/// Looks all of them up, before the first execution.
pub(super) fn resolve() {
    for real in &REAL {
        real.resolve();
    }
    std::hint::black_box(FUNCTIONS);
}

macro_rules! outside {
    ($( $kind:ident: $( $name:ident )*; )*) => {
        /// Positions in the table.
        #[expect(non_camel_case_types, reason = "the C library's names")]
        #[derive(Clone, Copy)]
        enum Position { $( $( $name, )* )* }

        static ADDRESSES: [AtomicUsize; FUNCTIONS.len()] = [const { AtomicUsize::new(0) }; FUNCTIONS.len()];

        static REAL: [Real; FUNCTIONS.len()] = [ $( $( Real {
            name: c_name(concat!(stringify!($name), "\0")),
            kind: Kind::$kind,
            address: &ADDRESSES[Position::$name as usize],
        }, )* )* ];

        /// So that the linker keeps them.
        const FUNCTIONS: &[Function] = &[ $( $( $name, )* )* ];

        $( $(
            #[doc = concat!("`", stringify!($name), "`.")]
            ///
            /// # Safety
            /// As the C library's.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> usize {
                // SAFETY: the caller's promise.
                unsafe { REAL[Position::$name as usize].call([a, b, c, d, e, f]) }
            }
        )* )*
    };
}

const fn c_name(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name with a zero at its end"),
    }
}

outside! {
    Files: open open64 openat openat64 creat creat64 fopen fopen64 opendir readdir readdir64 read readv pread pread64
        write writev pwrite pwrite64 statx access faccessat unlink unlinkat rename renameat link symlink readlink realpath
        mkdir rmdir truncate64 ftruncate64 flock lockf getcwd chdir;
    Sockets: socket socketpair bind listen accept accept4 connect send sendto sendmsg recv recvfrom recvmsg getaddrinfo;
    Waiting: pipe pipe2 eventfd timerfd_create timerfd_settime timerfd_gettime inotify_init1 poll ppoll select pselect epoll_create1 epoll_ctl epoll_wait
        epoll_pwait eventfd_read eventfd_write close dup dup2 dup3 fcntl fcntl64;
    Processes: fork posix_spawn posix_spawnp execv execve execvp execvpe system popen waitpid waitid;
    Threads: pthread_create;
    Locks: pthread_mutex_lock pthread_mutex_trylock pthread_mutex_timedlock pthread_rwlock_rdlock pthread_rwlock_wrlock
        pthread_spin_lock pthread_barrier_wait pthread_setspecific sem_wait sem_trywait sem_timedwait sem_post;
    Time: nanosleep clock_nanosleep sleep usleep;
    Random: rand random getentropy;
    Environment: getenv secure_getenv setenv unsetenv;
    Signals: sigaction signal raise kill pthread_kill sigwait sigwaitinfo pause;
    SharedMemory: shm_open memfd_create shmget;
    Identity: getpid getppid gettid getuid gethostname uname;
}
