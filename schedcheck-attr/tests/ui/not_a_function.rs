//! Items that are no functions.
use schedcheck_attr::schedcheck;

#[schedcheck]
struct Account {
    balance: u64,
}

#[schedcheck]
mod accounts {
    pub fn open() {}
}

#[schedcheck]
static BALANCE: u64 = 0;

fn main() {
    accounts::open();
    let _ = Account { balance: BALANCE }.balance;
}
