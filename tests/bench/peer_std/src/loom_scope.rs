//! `std::thread::scope` of loom's threads, which loom does not have.

use loom::thread::JoinHandle;
use std::marker::PhantomData;
use std::mem;
use std::sync::{Arc, Mutex};

/// A thread's handle, until somebody joins it.
type Handle = Arc<Mutex<Option<JoinHandle<()>>>>;

/// `std::thread::Scope`.
pub struct Scope<'scope, 'env: 'scope> {
    threads: Mutex<Vec<Handle>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    environment: PhantomData<&'env mut &'env ()>,
}

/// `std::thread::ScopedJoinHandle`.
pub struct ScopedJoinHandle<'scope, T> {
    thread: Handle,
    result: Arc<Mutex<Option<T>>>,
    scope: PhantomData<&'scope ()>,
}

impl<'scope> Scope<'scope, '_> {
    pub fn spawn<T: Send + 'scope>(
        &'scope self,
        body: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        let result = Arc::new(Mutex::new(None));
        let place = Arc::clone(&result);
        let body: Box<dyn FnOnce() + Send + 'scope> = Box::new(move || set(&place, body()));
        // SAFETY: `scope` returns only after the thread has ended. The process ends with the first panic, so nothing
        // unwinds past it.
        let body: Box<dyn FnOnce() + Send + 'static> = unsafe { mem::transmute(body) };
        let thread = Arc::new(Mutex::new(Some(loom::thread::spawn(body))));
        self.threads.lock().expect("nobody panics").push(Arc::clone(&thread));
        ScopedJoinHandle { thread, result, scope: PhantomData }
    }
}

fn set<T>(place: &Mutex<Option<T>>, value: T) {
    *place.lock().expect("nobody panics") = Some(value);
}

impl<T> ScopedJoinHandle<'_, T> {
    pub fn join(self) -> std::thread::Result<T> {
        join(&self.thread);
        Ok(self.result.lock().expect("nobody panics").take().expect("the thread has ended"))
    }
}

fn join(thread: &Handle) {
    let thread = thread.lock().expect("nobody panics").take();
    if let Some(thread) = thread {
        thread.join().expect("the process ends with the first panic");
    }
}

/// `std::thread::scope`.
pub fn scope<'env, T>(body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
    let scope = Scope { threads: Mutex::default(), scope: PhantomData, environment: PhantomData };
    let result = body(&scope);
    loop {
        let Some(thread) = scope.threads.lock().expect("nobody panics").pop() else { return result };
        join(&thread);
    }
}
