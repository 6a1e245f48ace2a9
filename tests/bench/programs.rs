//! The programs of the comparison, written once for every tool: `programs!(std)`, `programs!(loom)`.
//!
//! `Arc` is always std's, so that no tool branches on reference counts.

macro_rules! programs {
    ($tool:ident) => {
        use std::sync::Arc;
        use $tool::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        use $tool::sync::{Condvar, Mutex, mpsc};
        use $tool::thread::{self, JoinHandle};

        fn join(threads: Vec<JoinHandle<()>>) {
            for thread in threads {
                thread.join().unwrap();
            }
        }

        /// Every thread adds to one counter `times` times.
        pub fn fetch_add(threads: usize, times: usize) {
            let counter = Arc::new(AtomicUsize::new(0));
            let add = |counter: Arc<AtomicUsize>| {
                thread::spawn(move || {
                    for _ in 0..times {
                        counter.fetch_add(1, SeqCst);
                    }
                })
            };
            join((0..threads).map(|_| add(Arc::clone(&counter))).collect());
            assert_eq!(counter.load(SeqCst), threads * times);
        }

        /// As `fetch_add`, after `private` operations of each thread on a counter of its own: they
        /// make the program longer without a further schedule.
        pub fn padded(threads: usize, times: usize, private: usize) {
            let counter = Arc::new(AtomicUsize::new(0));
            let add = |counter: Arc<AtomicUsize>| {
                thread::spawn(move || {
                    let own = AtomicUsize::new(0);
                    for _ in 0..private {
                        own.fetch_add(1, SeqCst);
                    }
                    for _ in 0..times {
                        counter.fetch_add(1, SeqCst);
                    }
                })
            };
            join((0..threads).map(|_| add(Arc::clone(&counter))).collect());
            assert_eq!(counter.load(SeqCst), threads * times);
        }

        /// Every thread adds to one number under a lock `times` times.
        pub fn mutex(threads: usize, times: usize) {
            let number = Arc::new(Mutex::new(0));
            let add = |number: Arc<Mutex<usize>>| {
                thread::spawn(move || {
                    for _ in 0..times {
                        *number.lock().unwrap() += 1;
                    }
                })
            };
            join((0..threads).map(|_| add(Arc::clone(&number))).collect());
            assert_eq!(*number.lock().unwrap(), threads * times);
        }

        /// A producer and a consumer with room for one item between them.
        pub fn condvar(items: u32) {
            let slot = Arc::new((Mutex::new(None::<u32>), Condvar::new()));
            let other = Arc::clone(&slot);
            let producer = thread::spawn(move || {
                for item in 0..items {
                    let mut place = other.0.lock().unwrap();
                    while place.is_some() {
                        place = other.1.wait(place).unwrap();
                    }
                    *place = Some(item);
                    other.1.notify_one();
                }
            });
            for item in 0..items {
                let mut place = slot.0.lock().unwrap();
                while place.is_none() {
                    place = slot.1.wait(place).unwrap();
                }
                assert_eq!(place.take(), Some(item));
                slot.1.notify_one();
            }
            producer.join().unwrap();
        }

        /// Producers send `messages` each to one consumer.
        pub fn mpsc(producers: usize, messages: usize) {
            let (sender, receiver) = mpsc::channel();
            let produce = |sender: mpsc::Sender<usize>| {
                thread::spawn(move || {
                    for message in 0..messages {
                        sender.send(message).unwrap();
                    }
                })
            };
            let threads = (0..producers).map(|_| produce(sender.clone())).collect();
            let sum: usize = (0..producers * messages).map(|_| receiver.recv().unwrap()).sum();
            assert_eq!(sum, producers * messages * (messages - 1) / 2);
            join(threads);
        }

        /// Two threads load, then store: a bug.
        pub fn lost_update() {
            let counter = Arc::new(AtomicUsize::new(0));
            let add = |counter: Arc<AtomicUsize>| {
                thread::spawn(move || {
                    let value = counter.load(SeqCst);
                    counter.store(value + 1, SeqCst);
                })
            };
            join((0..2).map(|_| add(Arc::clone(&counter))).collect());
            assert_eq!(counter.load(SeqCst), 2);
        }

        /// The program of this name.
        pub fn program(name: &str) -> Option<fn()> {
            Some(match name {
                "fetch_add_2x3" => || fetch_add(2, 3),
                "fetch_add_2x9" => || fetch_add(2, 9),
                "mutex_3x2" => || mutex(3, 2),
                "mutex_3x4" => || mutex(3, 4),
                "condvar_2" => || condvar(2),
                "condvar_6" => || condvar(6),
                "mpsc_1x3" => || mpsc(1, 3),
                "mpsc_2x8" => || mpsc(2, 8),
                "lost_update" => lost_update,
                "padded_0" => || padded(2, 9, 0),
                "padded_8" => || padded(2, 9, 8),
                "padded_16" => || padded(2, 9, 16),
                "padded_32" => || padded(2, 9, 32),
                _ => return None,
            })
        }
    };
}
