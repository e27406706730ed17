//! What the parts cost, at the prices that the user gave.

use serde::Serialize;

use super::PartsNeeded;

/// Prices of one part each, in the user's currency.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    /// Of a disk.
    pub disk: Option<f64>,
    /// Of a controller.
    pub controller: Option<f64>,
    /// Of a network card.
    pub nic: Option<f64>,
    /// What all of them are in: `USD`.
    pub currency: String,
}

/// What it costs: the sum over the parts that have a price and a number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Of the counts' values.
    pub value: f64,
    /// Of as few as may do.
    pub low: f64,
    /// Of as many as may be needed; `None` where nothing bounds a count.
    pub high: Option<f64>,
    /// What it is in; empty where none was typed.
    pub currency: String,
    /// The parts of the sum.
    pub items: Vec<Item>,
    /// Parts that have no price, or no number: not in the sum.
    pub without: Vec<&'static str>,
}

/// One kind of part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// `disks`, `controllers`, `nics`.
    pub part: &'static str,
    /// How many, of the counts' values.
    pub count: u64,
    /// What one costs.
    pub each: f64,
    /// What they cost.
    pub value: f64,
}

/// The cost of disks, controllers and network cards, in this order; beside each count, what other
/// requirement asks for at least as many. `None` without any price.
pub fn cost(prices: &Prices, needs: [(&PartsNeeded, Option<u64>); 3]) -> Option<Cost> {
    let all = [
        ("disks", prices.disk, needs[0]),
        ("controllers", prices.controller, needs[1]),
        ("nics", prices.nic, needs[2]),
    ];
    if all.iter().all(|(_, price, _)| price.is_none()) {
        return None;
    }
    let currency = prices.currency.clone();
    let mut cost = Cost {
        value: 0.0,
        low: 0.0,
        high: Some(0.0),
        currency,
        items: Vec::new(),
        without: Vec::new(),
    };
    for (part, price, (need, at_least)) in all {
        let (Some(each), Some(value)) = (price, need.value) else {
            cost.without.push(part);
            continue;
        };
        let count = |number: u64| number.max(at_least.unwrap_or(0));
        let of = |number: u64| count(number) as f64 * each;
        cost.value += of(value);
        cost.low += of(need.low.unwrap_or(value));
        cost.high = cost.high.zip(need.high).map(|(sum, high)| sum + of(high));
        cost.items.push(Item { part, count: count(value), each, value: of(value) });
    }
    Some(cost)
}
