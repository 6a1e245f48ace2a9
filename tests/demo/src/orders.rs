//! A queue of payment orders: clerks wait until there is one.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

/// Looks and waits in two separate steps.
pub mod buggy {
    use super::*;

    /// Orders, first come, first served.
    #[derive(Debug, Default)]
    pub struct Orders {
        waiting: Mutex<VecDeque<u32>>,
        arrived: Condvar,
    }

    impl Orders {
        /// Hands in an order.
        pub fn submit(&self, order: u32) {
            self.waiting.lock().unwrap().push_back(order);
            self.arrived.notify_one();
        }

        /// Takes the oldest order; waits for one if there is none.
        pub fn take(&self) -> u32 {
            let is_empty = self.waiting.lock().unwrap().is_empty();
            // BUG: an order submitted here notifies nobody, and `wait` below sleeps for ever.
            let mut waiting = self.waiting.lock().unwrap();
            if is_empty {
                waiting = self.arrived.wait(waiting).unwrap();
            }
            waiting.pop_front().expect("woken because an order arrived")
        }
    }
}

/// Looks again, under the same lock, before every wait.
pub mod fixed {
    use super::*;

    /// Orders, first come, first served.
    #[derive(Debug, Default)]
    pub struct Orders {
        waiting: Mutex<VecDeque<u32>>,
        arrived: Condvar,
    }

    impl Orders {
        /// Hands in an order.
        pub fn submit(&self, order: u32) {
            self.waiting.lock().unwrap().push_back(order);
            self.arrived.notify_one();
        }

        /// Takes the oldest order; waits for one if there is none.
        pub fn take(&self) -> u32 {
            let waiting = self.waiting.lock().unwrap();
            let mut waiting = self.arrived.wait_while(waiting, |waiting| waiting.is_empty()).unwrap();
            waiting.pop_front().expect("checked under the same lock")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn buggy_queue_leaves_the_clerk_asleep() {
        let orders = buggy::Orders::default();
        thread::scope(|scope| {
            scope.spawn(|| orders.submit(7));
            assert_eq!(orders.take(), 7);
        });
    }

    #[test]
    fn fixed_queue_wakes_the_clerk() {
        let orders = fixed::Orders::default();
        thread::scope(|scope| {
            scope.spawn(|| orders.submit(7));
            assert_eq!(orders.take(), 7);
        });
    }
}
