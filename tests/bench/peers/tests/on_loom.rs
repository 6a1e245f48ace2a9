use loom::sync::atomic::{AtomicU32, Ordering::SeqCst};
use loom::sync::{Arc, Mutex};
use loom::thread;

#[test]
#[should_panic(expected = "a sale was not counted")]
fn every_sale_is_counted() {
    loom::model(|| {
        let (sold, cash) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(0)));
        let sell = |sold: Arc<AtomicU32>, cash: Arc<Mutex<u32>>| {
            move || {
                *cash.lock().unwrap() += 10;
                sold.store(sold.load(SeqCst) + 1, SeqCst);
            }
        };
        let other = thread::spawn(sell(sold.clone(), cash.clone()));
        sell(sold.clone(), cash.clone())();
        other.join().unwrap();
        assert_eq!(*cash.lock().unwrap(), 20);
        assert_eq!(sold.load(SeqCst), 2, "a sale was not counted");
    });
}
