//! Event fan-out tests: what the shared buffer holds, and what a subscriber gets of it.

use super::*;

fn event(number: u64, size: usize) -> (About, Arc<WireEvent>) {
    let place = EventCursor { entry: number, within: None };
    (About::default(), Arc::new(WireEvent { place, frame: Bytes::from(vec![b'x'; size]) }))
}

#[test]
fn event_ring_stays_within_bytes_and_reports_lagging_reader() {
    let mut ring = Ring::default();
    let (mut slow, mut quick) = (ring.end(), ring.end());
    for number in 0..10_000 {
        ring.push(event(number, 64 * 1024));
        assert!(ring.bytes() <= 4 * 1024 * 1024, "{}", ring.bytes());
        match ring.turn(&mut quick, |_| true) {
            NextEvents::Told(told) => assert_eq!(told.place.entry, number),
            other => panic!("{other:?}"),
        }
        assert!(matches!(ring.turn(&mut quick, |_| true), NextEvents::Wait));
    }
    assert!(matches!(ring.turn(&mut slow, |_| true), NextEvents::Behind));
    let NextEvents::Told(first) = ring.turn(&mut slow, |_| true) else { panic!("nothing is held") };
    assert_eq!(first.place.entry, 10_000 - 64, "it goes on with the first that is held");
    for number in 0..5_000 {
        ring.push(event(number, 1));
    }
    assert!(ring.bytes() <= 1024, "small events are counted too");
    ring.end_here();
    assert!(matches!(ring.turn(&mut slow, |_| true), NextEvents::Over) && ring.bytes() == 0);
}

#[test]
fn ring_keeps_one_event_that_is_larger_than_itself() {
    let mut ring = Ring::default();
    let mut next = ring.end();
    ring.push(event(1, 10 * 1024 * 1024));
    assert!(matches!(ring.turn(&mut next, |_| true), NextEvents::Told(_)));
}
