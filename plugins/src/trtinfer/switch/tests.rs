use super::*;

/// An instance of a model that is named by a letter.
struct Fake {
    model: char,
    is_used: bool,
}

impl Replaceable for Fake {
    type Selection = char;

    fn selection(&self) -> char {
        self.model
    }

    fn is_used(&self) -> bool {
        self.is_used
    }
}

type Switch = ModelSwitch<Fake, &'static str>;

fn fake(model: char) -> Arc<Fake> {
    Arc::new(Fake { model, is_used: false })
}

/// A slot with a name, and an element that uses model `a` in it.
fn shared() -> (Arc<Slot<Fake>>, Switch, Arc<Fake>) {
    let (slot, a) = (Arc::new(Slot::new(Some("shared".to_owned()))), fake('a'));
    slot.open(|_, _| Ok::<_, ()>(true), || Ok(Arc::clone(&a))).unwrap();
    (Arc::clone(&slot), element(&slot, &a), a)
}

/// An element that uses `instance`, which is in `slot`.
fn element(slot: &Arc<Slot<Fake>>, instance: &Arc<Fake>) -> Switch {
    let switch = Switch::default();
    switch.open(Arc::clone(slot), Arc::clone(instance));
    switch.begin();
    switch
}

/// Requests a model, and takes the request in the loader's thread.
fn request(switch: &Switch) -> Load {
    switch.request(|| Ok::<_, ()>("thread"), |_| ()).unwrap();
    switch.take_request().unwrap()
}

fn model(instance: Option<Arc<Fake>>) -> Option<char> {
    instance.map(|instance| instance.model)
}

#[test]
fn a_model_that_was_loaded_is_next_until_it_is_taken() {
    let (slot, switch, _a) = shared();
    assert_eq!(model(switch.next()), None);
    let load = request(&switch);
    let b = fake('b');
    drop(switch.offer(load, &b, None));
    assert_eq!((model(switch.next()), model(switch.in_use())), (Some('b'), Some('a')));
    let taken = switch.take(&b);
    // This element has changed the model itself: its properties name it.
    assert_eq!((taken.followed, model(switch.next()), model(switch.in_use())), (None, None, Some('b')));
    assert_eq!((switch.take_request(), model(slot.current())), (None, Some('b')));
}

#[test]
fn requests_while_a_model_loads_are_one_which_the_thread_takes_next() {
    let (_slot, switch, _a) = shared();
    let first = request(&switch);
    for _ in 0..2 {
        switch.request(|| panic!("the thread runs"), |_| ()).unwrap_or_else(|()| unreachable!());
    }
    assert!(!switch.is_wanted(first) && switch.is_current(first));
    drop(switch.offer(first, &fake('b'), None));
    assert_eq!(model(switch.next()), None, "it was not wanted any more");
    let second = switch.take_request().unwrap();
    assert!(switch.is_wanted(second));
    assert_eq!((switch.take_request(), switch.take_thread()), (None, Some("thread")));
}

#[test]
fn a_thread_that_has_ended_is_joined_before_the_next_and_one_that_cannot_start_is_an_error() {
    let (_slot, switch, _a) = shared();
    request(&switch);
    assert_eq!(switch.take_request(), None);
    let mut joined = None;
    assert_eq!(switch.request(|| Err("no thread"), |thread| joined = Some(thread)), Err("no thread"));
    assert_eq!((joined, switch.take_request(), switch.take_thread()), (Some("thread"), None, None));
}

#[test]
fn what_was_begun_before_a_stop_is_not_offered_after_it() {
    let (slot, switch, _a) = shared();
    let load = request(&switch);
    switch.stop();
    assert!(!switch.is_current(load) && !switch.is_wanted(load));
    switch.request(|| Err("nothing is requested while the element is stopped"), |_| ()).unwrap();
    switch.begin();
    drop(switch.offer(load, &fake('b'), None));
    assert_eq!((model(switch.next()), model(slot.current())), (None, Some('a')));
    // The thread that runs takes what is requested after the start.
    switch.request(|| Err("the thread runs"), |_| ()).unwrap();
    assert!(switch.take_request().is_some_and(|load| switch.is_wanted(load)));
}

#[test]
fn all_who_use_the_slot_follow_and_only_their_properties_are_changed() {
    let (slot, switch, a) = shared();
    let other = element(&slot, &a);
    let b = fake('b');
    drop(switch.offer(request(&switch), &b, None));
    let next = other.next().unwrap();
    assert_eq!((next.model, other.take(&next).followed), ('b', Some('a')));
    assert_eq!((switch.take(&b).followed, model(switch.next()), model(other.next())), (None, None, None));
    // An element that starts with the model that was replaced gets the one in use.
    let opened = slot.open(|_, replaced| Ok(replaced == ['a']), || Err("another is opened"));
    assert_eq!(opened.map(|instance| instance.model), Ok('b'));
}

#[test]
fn a_refused_model_is_not_tried_again_and_the_slot_has_the_one_in_use() {
    let (slot, switch, _a) = shared();
    let b = fake('b');
    drop(switch.offer(request(&switch), &b, None));
    let next = switch.next().unwrap();
    switch.refuse(Some(&next));
    assert_eq!(
        (model(switch.next()), model(switch.in_use()), model(slot.current())),
        (None, Some('a'), Some('a'))
    );
}

#[test]
fn a_refused_model_that_another_element_uses_stays_in_the_slot() {
    let (slot, switch, _a) = shared();
    let b = Arc::new(Fake { model: 'b', is_used: true });
    drop(switch.offer(request(&switch), &b, None));
    switch.refuse(Some(&b));
    assert_eq!((model(switch.next()), model(slot.current())), (None, Some('b')));
}

#[test]
fn a_refused_model_of_another_element_stays_in_the_slot() {
    let (slot, switch, a) = shared();
    let other = element(&slot, &a);
    let b = fake('b');
    drop(switch.offer(request(&switch), &b, None));
    other.refuse(other.next().as_ref());
    assert_eq!(
        (model(other.next()), model(switch.next()), model(slot.current())),
        (None, Some('b'), Some('b'))
    );
}

#[test]
fn frames_are_waited_for_as_long_as_a_queue_may_hold() {
    let (_slot, switch, _a) = shared();
    let b = fake('b');
    drop(switch.offer(request(&switch), &b, None));
    assert_eq!(switch.wait_for_tensors(), Patience::Ask);
    drop(switch.ask(&b));
    for _ in 0..PATIENCE {
        assert_eq!(switch.wait_for_tensors(), Patience::Wait);
    }
    assert_eq!(switch.wait_for_tensors(), Patience::Over);
}

#[test]
fn tensors_that_were_asked_for_may_come_when_another_model_is_next() {
    let (slot, switch, a) = shared();
    let (b, c) = (fake('b'), fake('c'));
    drop(switch.offer(request(&switch), &b, None));
    assert_eq!(switch.wait_for_tensors(), Patience::Ask);
    drop(switch.ask(&b));
    assert_eq!(switch.take_request(), None);
    drop(switch.offer(request(&switch), &c, None));
    assert_eq!((model(switch.asked()), model(switch.next())), (Some('b'), Some('c')));
    // The tensors for b come, and c is next still.
    let taken = switch.take(&b);
    assert_eq!((taken.followed, model(switch.in_use()), model(switch.next())), (None, Some('b'), Some('c')));
    assert_eq!((model(switch.asked()), switch.wait_for_tensors()), (None, Patience::Ask));
    drop(switch.take(&c));
    // The same with the model that was in use before: it follows again.
    drop(slot.replace(&a));
    assert_eq!(model(switch.next()), Some('a'));
}

#[test]
fn the_model_in_use_is_kept_if_it_is_requested_again() {
    let (slot, switch, a) = shared();
    drop(switch.offer(request(&switch), &fake('b'), None));
    drop(switch.keep(&a));
    assert_eq!((model(switch.next()), model(slot.current())), (None, Some('a')));
}

#[test]
fn nothing_is_held_once_the_element_is_closed() {
    let (_slot, switch, a) = shared();
    let b = fake('b');
    drop(switch.offer(request(&switch), &b, None));
    drop(switch.ask(&b));
    drop(switch.close());
    assert_eq!((Arc::strong_count(&a), Arc::strong_count(&b)), (1, 1));
    assert!(switch.in_use().is_none() && switch.next().is_none() && switch.slot().is_none());
}

#[test]
fn a_panic_while_an_instance_opens_lets_the_next_one_open() {
    let slot = Slot::<Fake>::new(None);
    let opens = || slot.open(|_, _| Ok::<_, ()>(true), || panic!("on purpose")).map(|_| ());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(opens)).is_err());
    assert_eq!(slot.open(|_, _| Ok(true), || Err("cannot be loaded")).map(|_| ()), Err("cannot be loaded"));
    let opened = slot.open(|_, _| Ok::<_, ()>(true), || Ok(fake('a'))).unwrap();
    assert_eq!(slot.open(|_, _| Err("is in use"), || Ok(fake('b'))).map(|_| ()), Err("is in use"));
    // One that does not serve is replaced.
    assert_eq!(slot.open(|_, _| Ok::<_, ()>(false), || Ok(fake('b'))).unwrap().model, 'b');
    drop(opened);
}
