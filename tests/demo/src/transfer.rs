//! Transfers between accounts.

use std::sync::Mutex;

/// An account, known by its number.
#[derive(Debug)]
pub struct Account {
    number: u32,
    balance: Mutex<u64>,
}

impl Account {
    /// An account with some money in it.
    pub fn new(number: u32, balance: u64) -> Self {
        Account { number, balance: Mutex::new(balance) }
    }

    /// What is in it.
    pub fn balance(&self) -> u64 {
        *self.balance.lock().unwrap()
    }
}

/// Locks in the order of the parameters.
pub mod buggy {
    use super::Account;

    /// Moves `amount` from one account to the other.
    pub fn transfer(from: &Account, to: &Account, amount: u64) {
        // BUG: a transfer the other way round takes the same two locks in the opposite order.
        let mut source = from.balance.lock().unwrap();
        let mut target = to.balance.lock().unwrap();
        *source -= amount;
        *target += amount;
    }
}

/// Locks in the order of the account numbers.
pub mod fixed {
    use super::Account;

    /// Moves `amount` from one account to the other, which must not be the same.
    pub fn transfer(from: &Account, to: &Account, amount: u64) {
        let (first, second) = if from.number < to.number { (from, to) } else { (to, from) };
        let first_balance = first.balance.lock().unwrap();
        let second_balance = second.balance.lock().unwrap();
        let (mut source, mut target) = if from.number < to.number {
            (first_balance, second_balance)
        } else {
            (second_balance, first_balance)
        };
        *source -= amount;
        *target += amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn transfers_in_both_directions(transfer: fn(&Account, &Account, u64)) {
        let (alice, bob) = (Account::new(1, 100), Account::new(2, 100));
        thread::scope(|scope| {
            scope.spawn(|| transfer(&alice, &bob, 30));
            scope.spawn(|| transfer(&bob, &alice, 50));
        });
        assert_eq!((alice.balance(), bob.balance()), (120, 80));
    }

    #[test]
    fn buggy_transfers_lock_each_other_out() {
        transfers_in_both_directions(buggy::transfer);
    }

    #[test]
    fn fixed_transfers_both_arrive() {
        transfers_in_both_directions(fixed::transfer);
    }
}
