//! (pure) What the next transaction is about, drawn by the rules of TPC-B.
//!
//! TPC Benchmark B, Standard Specification, Revision 2.0 (7 June 1994): clause 4.2 for how many
//! tellers and accounts a branch has, clause 5.3 for what is drawn.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use base::pattern::Data;

/// Tellers of a branch.
pub const TELLERS: u64 = 10;
/// Accounts of a branch.
pub const ACCOUNTS: u64 = 100_000;
/// An amount is drawn from minus this to this.
const MOST: i64 = 999_999;
/// Of a hundred customers so many come to a branch of their own.
const LOCAL: u64 = 85;

/// One transaction. Numbers begin at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Of the account.
    pub account: i64,
    /// Of the teller.
    pub teller: i64,
    /// Of the teller's branch, which need not be the account's.
    pub branch: i64,
    /// What is added to all three balances.
    pub delta: i64,
}

/// Draws the transfers of one client.
#[derive(Clone, Debug)]
pub struct TransferDraw {
    branches: u64,
    random: Xoshiro256PlusPlus,
}

impl TransferDraw {
    /// Of a bank with so many branches; the same for the same seed.
    pub fn new(branches: u64, seed: u64) -> TransferDraw {
        TransferDraw { branches: branches.max(1), random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product: at most one in 2^40 too often for banks of this size.
        ((u128::from(self.random.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// The next transaction.
    pub fn transfer(&mut self) -> Transfer {
        let teller = self.below(self.branches * TELLERS);
        let branch = teller / TELLERS;
        let home = match self.branches {
            1 => branch,
            several => match self.below(100) < LOCAL {
                true => branch,
                false => (branch + 1 + self.below(several - 1)) % several,
            },
        };
        let account = home * ACCOUNTS + self.below(ACCOUNTS);
        let delta = self.below(2 * MOST as u64 + 1) as i64 - MOST;
        let number = |from_0: u64| from_0 as i64 + 1;
        let (account, teller, branch) = (number(account), number(teller), number(branch));
        Transfer { account, teller, branch, delta }
    }

    /// Fills what a row has beside its numbers.
    pub fn fill(&mut self, data: Data, bytes: &mut [u8]) {
        let zeros = match data {
            Data::Random => 0,
            Data::Zero => bytes.len(),
            Data::Compressible(share) => (bytes.len() as f64 * share).round() as usize,
        };
        let random_bytes = bytes.len().saturating_sub(zeros);
        let (random, zeros) = bytes.split_at_mut(random_bytes);
        self.random.fill_bytes(random);
        zeros.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_branch_has_all_its_customers_and_of_several_85_in_100_come_to_their_own() {
        let mut draw = TransferDraw::new(1, 3);
        for _ in 0..1000 {
            let Transfer { account, teller, branch, delta } = draw.transfer();
            assert_eq!(branch, 1);
            assert!((1..=10).contains(&teller) && (1..=100_000).contains(&account));
            assert!((-999_999..=999_999).contains(&delta));
        }
        let (mut draw, mut home, mut seen) = (TransferDraw::new(4, 3), 0, [0; 4]);
        for _ in 0..20_000 {
            let Transfer { account, teller, branch, .. } = draw.transfer();
            assert_eq!((teller - 1) / 10 + 1, branch, "a teller is of one branch");
            let of = (account - 1) / 100_000 + 1;
            home += i32::from(of == branch);
            seen[of as usize - 1] += 1;
        }
        // 17 000 expected, with a standard deviation of 50.
        assert!((16_700..17_300).contains(&home), "{home}");
        assert!(seen.iter().all(|count| (4500..5500).contains(count)), "{seen:?}");
    }

    #[test]
    fn the_same_seed_draws_the_same_and_rows_are_filled_as_asked() {
        let (mut one, mut other) = (TransferDraw::new(7, 5), TransferDraw::new(7, 5));
        assert!((0..100).all(|_| one.transfer() == other.transfer()));
        let mut bytes = [1; 40];
        one.fill(Data::Zero, &mut bytes);
        assert_eq!(bytes, [0; 40]);
        one.fill(Data::Compressible(0.5), &mut bytes);
        assert!(bytes[20..] == [0; 20] && bytes[..20] != [0; 20]);
        one.fill(Data::Random, &mut bytes);
        let mut again = [0; 40];
        one.fill(Data::Random, &mut again);
        assert_ne!(bytes, again);
    }
}
