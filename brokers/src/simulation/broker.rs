//! A broker that goes away, is slow, loses acknowledgements, takes messages twice and refuses some.

use std::sync::Arc;
use std::time::Duration;

use super::machine::{Shared, machine};
use super::messages::{number, payload};
use crate::Message;
use crate::client::{Client, Failure, Sent};
use crate::world;

pub(super) struct SimulatedClient(Shared);

fn lost() -> Failure {
    Failure::Lost("the connection was reset".to_owned())
}

/// Connects, which takes up to ten seconds where nobody answers.
pub(super) fn connect(shared: &Shared) -> Result<Box<dyn Client>, Failure> {
    let (time, silent) = {
        let mut machine = machine(shared);
        let slow = machine.broker.slow;
        (slow.mul_f64(machine.random.f64()), machine.random.u8(..8) == 0)
    };
    world::sleep(time);
    let is_down = || world::passed() < machine(shared).broker.down_until;
    if is_down() && silent {
        world::sleep(Duration::from_secs(10));
    }
    let mut machine = machine(shared);
    if world::passed() < machine.broker.down_until || machine.random.u8(..) < machine.broker.lossy {
        return Err(lost());
    }
    if machine.broker.denies {
        return Err(Failure::Denied("the login is refused".to_owned()));
    }
    Ok(Box::new(SimulatedClient(Arc::clone(shared))))
}

impl SimulatedClient {
    /// A message arrives, once or twice.
    fn arrive(&self, message: &Message) {
        let number = number(message);
        assert_eq!(message.payload, payload(number), "message {number} is as it was pushed");
        let mut machine = machine(&self.0);
        machine.operate(|_, _| ());
        machine.broker.arrived.push(number);
        if machine.random.u8(..) == 0 {
            machine.broker.arrived.push(number);
        }
    }
}

impl Client for SimulatedClient {
    fn send(&mut self, messages: &[Arc<Message>]) -> Sent {
        for (place, message) in messages.iter().enumerate() {
            let (time, fate, later) = {
                let mut machine = machine(&self.0);
                let slow = machine.broker.slow;
                let later = machine.random.usize(..=messages.len() - place);
                let loses = machine.random.u8(..) < machine.broker.lossy;
                (slow.mul_f64(machine.random.f64()), loses.then(|| machine.random.u8(..3)), later)
            };
            world::sleep(time);
            if world::passed() < machine(&self.0).broker.down_until {
                return Sent::up_to(place, lost());
            }
            if number(message) % 37 == 36 {
                machine(&self.0).broker.refused.insert(number(message));
                return Sent::up_to(place, Failure::Unsendable("it is not wanted".to_owned()));
            }
            match fate {
                // Nothing has arrived.
                Some(0) => return Sent::up_to(place, lost()),
                // Some have, whose acknowledgements are lost.
                Some(_) => {
                    let arrive =
                        messages[place..].iter().take_while(|message| number(message) % 37 != 36).take(later);
                    arrive.for_each(|message| self.arrive(message));
                    return Sent::up_to(place, lost());
                }
                None => self.arrive(message),
            }
        }
        Sent::all(messages)
    }
}
