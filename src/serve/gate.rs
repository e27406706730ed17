//! How many pages of a kind are made at once, and how many wait: more are turned away at once, so
//! that no crowd of requests takes the machine's memory.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Who waits longer than this is turned away.
const WAIT_MAX: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 20 });

/// Lets so many in.
#[derive(Clone, Debug)]
pub struct Gate {
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// The right to make a page; lasts until it is dropped.
#[derive(Debug)]
pub struct Pass(#[expect(dead_code, reason = "held for its end")] OwnedSemaphorePermit);

impl Gate {
    /// Lets `running` in at once; `waiting` more may wait.
    pub fn new(running: usize, waiting: usize) -> Gate {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Gate { running: semaphore(running), waiting: semaphore(waiting) }
    }

    /// Waits for its turn; `None` when too many wait already, or for too long.
    pub async fn enter(&self) -> Option<Pass> {
        if let Ok(pass) = Arc::clone(&self.running).try_acquire_owned() {
            return Some(Pass(pass));
        }
        let _place = self.waiting.try_acquire().ok()?;
        let turn = Arc::clone(&self.running).acquire_owned();
        tokio::time::timeout(WAIT_MAX, turn).await.ok()?.ok().map(Pass)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_no_place_to_wait_is_turned_away_and_who_waits_comes_in() {
        crate::serve::testing::block_on(async {
            let gate = Gate::new(1, 1);
            let first = gate.enter().await.unwrap();
            let waits = tokio::spawn({
                let gate = gate.clone();
                async move { gate.enter().await.is_some() }
            });
            tokio::task::yield_now().await;
            assert!(gate.enter().await.is_none(), "the place to wait is taken");
            drop(first);
            assert!(waits.await.unwrap(), "its turn came");
            // Nobody leaves: the wait has an end.
            let _held = gate.enter().await.unwrap();
            assert!(gate.enter().await.is_none());
        });
    }
}
