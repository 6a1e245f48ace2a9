//! What std promises about channels, as plain std and under control.

use crate::support::exhaust::exhaust;
use crate::support::{alone, execute, passes, promised, report};
use schedcheck_rt::exec::TestResult;
use schedcheck_rt::facade::sync::mpsc::{
    RecvTimeoutError, TryRecvError, TrySendError, channel, sync_channel,
};
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::step::Alt;
use std::time::Duration;

#[test]
fn items_arrive_in_order_and_end_with_the_last_sender() {
    promised(|| {
        let (sender, receiver) = channel();
        let other = sender.clone();
        thread::spawn(move || (0..3).for_each(|item| sender.send(item).unwrap()));
        drop(other);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
        assert!(receiver.recv().is_err());
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        assert_eq!(receiver.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Disconnected));
        Ok(())
    });
}

#[test]
fn sends_fail_when_nobody_receives_and_give_the_item_back() {
    promised(|| {
        let (sender, receiver) = channel();
        sender.send(Box::new(1)).unwrap();
        drop(receiver);
        assert_eq!(*sender.send(Box::new(2)).unwrap_err().0, 2);
        let (sender, receiver) = sync_channel(1);
        drop(receiver);
        assert!(matches!(sender.try_send(3), Err(TrySendError::Disconnected(3))));
        Ok(())
    });
}

#[test]
fn a_dropped_receiver_drops_what_it_did_not_receive() {
    promised(|| {
        let item = std::rc::Rc::new(());
        let (sender, receiver) = channel();
        sender.send(item.clone()).unwrap();
        assert_eq!(std::rc::Rc::strong_count(&item), 2);
        drop(receiver);
        assert_eq!(std::rc::Rc::strong_count(&item), 1);
        Ok(())
    });
}

#[test]
fn a_bounded_channel_is_full_at_its_bound() {
    promised(|| {
        let (sender, receiver) = sync_channel(2);
        sender.send(1).unwrap();
        sender.try_send(2).unwrap();
        assert!(matches!(sender.try_send(3), Err(TrySendError::Full(3))));
        assert_eq!(receiver.try_recv(), Ok(1));
        let rest = thread::spawn(move || (3..6).for_each(|item| sender.send(item).unwrap()));
        assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [2, 3, 4, 5]);
        rest.join().unwrap();
        Ok(())
    });
}

#[test]
fn a_rendezvous_send_returns_when_the_item_was_taken() {
    promised(|| {
        let (sender, receiver) = sync_channel(0);
        assert!(matches!(sender.try_send(0), Err(TrySendError::Full(0))));
        let sends = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
            sender.send(3).unwrap_err().0
        });
        assert_eq!(receiver.recv(), Ok(1));
        assert_eq!(receiver.recv(), Ok(2));
        drop(receiver);
        assert_eq!(sends.join().unwrap(), 3);
        Ok(())
    });
}

#[test]
fn a_blocked_sender_is_told_when_the_receiver_leaves() {
    promised(|| {
        let (sender, receiver) = sync_channel(1);
        let sends = thread::spawn(move || (0..5).find_map(|item| sender.send(item).err()));
        assert_eq!(receiver.recv(), Ok(0));
        drop(receiver);
        assert!(sends.join().unwrap().is_some());
        Ok(())
    });
}

#[test]
fn try_iter_takes_what_is_there() {
    promised(|| {
        let (sender, receiver) = channel();
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        drop(sender);
        assert_eq!((&receiver).into_iter().next(), None::<i32>);
        Ok(())
    });
}

#[test]
fn debug_shows_what_std_shows() {
    let _alone = alone();
    let (ours, std) = (channel::<u8>(), std::sync::mpsc::channel::<u8>());
    assert_eq!(format!("{ours:?}"), format!("{std:?}"));
    let (ours, std) = (sync_channel::<u8>(1), std::sync::mpsc::sync_channel::<u8>(1));
    assert_eq!(format!("{ours:?}"), format!("{std:?}"));
    assert_eq!(format!("{:?}", ours.1.iter()), format!("{:?}", std.1.iter()));
}

fn late_item() -> TestResult {
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        scope.spawn(|| sender.send(1));
        report(receiver.recv_timeout(Duration::from_secs(1)));
    });
    Ok(())
}

#[test]
fn a_timed_receive_gives_up_within_the_budget_or_when_nothing_else_can_happen() {
    let trace = passes(late_item, &[]);
    let received = trace.events.iter().position(|event| event.costly_alts.contains(timeout())).unwrap();
    let before = trace.events[received].enabler;
    let trace = passes(late_item, &[(before, 0, Alt::TIMEOUT)]);
    assert_eq!(trace.events[before as usize].alt, Alt::TIMEOUT);
    let (trace, outcome) = execute(
        || {
            let (_sender, receiver) = channel::<u8>();
            assert_eq!(receiver.recv_timeout(Duration::from_secs(1)), Err(RecvTimeoutError::Timeout));
            Ok(())
        },
        &[],
    );
    assert_eq!(outcome.word(), "passed");
    assert!(trace.events.iter().any(|event| event.forced));
}

fn timeout() -> schedcheck_rt::search::step::BudgetKind {
    schedcheck_rt::search::step::BudgetKind::Timeout
}

#[test]
fn sends_and_receives_of_different_items_have_one_order() {
    fn three_items(bound: Option<usize>) -> TestResult {
        let consume = |items: &mut dyn Iterator<Item = u8>| assert_eq!(items.take(3).sum::<u8>(), 6);
        match bound {
            None => {
                let (sender, receiver) = channel();
                let sends = thread::spawn(move || [1, 2, 3].map(|item| sender.send(item).unwrap()));
                consume(&mut receiver.iter());
                sends.join().unwrap();
            }
            Some(bound) => {
                let (sender, receiver) = sync_channel(bound);
                let sends = thread::spawn(move || [1, 2, 3].map(|item| sender.send(item).unwrap()));
                consume(&mut receiver.iter());
                sends.join().unwrap();
            }
        }
        Ok(())
    }
    let bodies: [fn() -> TestResult; 4] =
        [|| three_items(None), || three_items(Some(0)), || three_items(Some(1)), || three_items(Some(2))];
    for body in bodies {
        assert_eq!(exhaust(body).classes, 1);
    }
}

#[test]
fn two_senders_have_every_order_of_their_items() {
    fn received(bound: Option<usize>) -> TestResult {
        thread::scope(|scope| {
            let receiver = match bound {
                None => {
                    let (sender, receiver) = channel();
                    let other = sender.clone();
                    scope.spawn(move || sender.send(1).and_then(|()| sender.send(2)));
                    scope.spawn(move || other.send(3));
                    receiver
                }
                Some(bound) => {
                    let (sender, receiver) = sync_channel(bound);
                    let other = sender.clone();
                    scope.spawn(move || sender.send(1).and_then(|()| sender.send(2)));
                    scope.spawn(move || other.send(3));
                    receiver
                }
            };
            report(receiver.iter().collect::<Vec<_>>());
        });
        Ok(())
    }
    let bodies: [fn() -> TestResult; 4] =
        [|| received(None), || received(Some(0)), || received(Some(1)), || received(Some(2))];
    for body in bodies {
        let summary = exhaust(body);
        assert_eq!(summary.results.len(), 3, "{summary:?}");
    }
}

#[test]
fn try_recv_and_try_send_see_both_states() {
    let summary = exhaust(|| {
        let (sender, receiver) = channel();
        thread::scope(|scope| {
            scope.spawn(move || sender.send(1));
            report([receiver.try_recv(), receiver.try_recv()]);
        });
        Ok(())
    });
    assert_eq!(summary.results.len(), 4, "{summary:?}");
    for bound in [0, 1, 2] {
        let bodies: [fn() -> TestResult; 3] = [|| full_or_not(0), || full_or_not(1), || full_or_not(2)];
        let summary = exhaust(bodies[bound]);
        assert_eq!(summary.results.len(), 2, "{bound}: {summary:?}");
    }
}

fn full_or_not(bound: usize) -> TestResult {
    let (sender, receiver) = sync_channel(bound);
    (0..bound).for_each(|item| sender.send(item).unwrap());
    thread::scope(|scope| {
        scope.spawn(move || receiver.iter().count());
        report(sender.try_send(9).is_ok());
        drop(sender);
    });
    Ok(())
}

#[test]
fn a_receiver_that_leaves_races_with_sends() {
    fn leaving(bound: usize) -> TestResult {
        let (sender, receiver) = sync_channel(bound);
        thread::scope(|scope| {
            scope.spawn(move || drop(receiver));
            report((0..2).map(|item| sender.send(item).is_ok()).collect::<Vec<_>>());
        });
        Ok(())
    }
    let bodies: [(fn() -> TestResult, usize); 3] =
        [(|| leaving(0), 1), (|| leaving(1), 2), (|| leaving(2), 3)];
    for (body, outcomes) in bodies {
        let summary = exhaust(body);
        assert_eq!(summary.results.len(), outcomes, "{summary:?}");
    }
}
