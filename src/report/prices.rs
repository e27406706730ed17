//! (pure) What the prices of a plan make of its figures: the price of a GB/s, and of a TB.
//!
//! Only of bytes that the device moved: memory's speed would make any disk look cheap. The hardware
//! of a cell is what its settings and the inventory say: so many disks, and one of each other part
//! that has a price.

use serde_json::Value as Json;

use super::{Input, cells};
use crate::knob::Settings;
use crate::stats::{Estimate, Interval};
use crate::store::Campaign;
use crate::value::Value;

/// Price of the hardware over its throughput in 10^9 bytes per second.
pub const PRICE_PER_GB_PER_S: &str = "price_per_gb_per_s";
/// Price of the hardware over the size of its file systems in 10^12 bytes.
pub const PRICE_PER_TB: &str = "price_per_tb";

/// What the hardware of a cell costs: each disk of it, and one of all else that has a price. `None`
/// without prices, and where disks have one and nobody knows how many there are.
fn price(campaign: &Campaign, settings: &Settings) -> Option<f64> {
    if campaign.prices.is_empty() || settings.engine() == "sim" {
        return None;
    }
    let mut sum = 0.0;
    for (part, price) in &campaign.prices {
        sum += price * if part == "disk" { disks(campaign, settings)? } else { 1.0 };
    }
    Some(sum)
}

/// How many disks a cell was measured on: as its settings say, else those of the inventory.
fn disks(campaign: &Campaign, settings: &Settings) -> Option<f64> {
    if let Some(Value::Count(disks)) = settings.find("disks") {
        return Some(*disks as f64);
    }
    let mut names: Vec<&str> = Vec::new();
    for target in targets(campaign) {
        let disks = target["disks"].as_array()?;
        names.extend(disks.iter().filter_map(Json::as_str));
    }
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then_some(names.len() as f64)
}

/// Bytes of the file systems that were there when the campaign began, each once; `None` where
/// layouts were made, as each has its own.
fn size_bytes(campaign: &Campaign, settings: &Settings) -> Option<f64> {
    if matches!(settings.find("disks"), Some(Value::Count(_))) {
        return None;
    }
    let mut sizes: Vec<(&str, f64)> = Vec::new();
    for target in targets(campaign) {
        let (source, bytes) = (target["source"].as_str()?, target["total_bytes"].as_f64()?);
        if sizes.iter().all(|(other, _)| *other != source) {
            sizes.push((source, bytes));
        }
    }
    let sum: f64 = sizes.iter().map(|(_, bytes)| bytes).sum();
    (sum > 0.0).then_some(sum)
}

fn targets(campaign: &Campaign) -> impl Iterator<Item = &Json> {
    campaign.inventory["targets"].as_array().into_iter().flatten()
}

/// Gives every cell that has one its price of a GB/s and of a TB.
pub fn add(input: &mut Input<'_>) {
    if input.campaign.prices.is_empty() {
        return;
    }
    let groups = cells::groups(input);
    let rows = cells::rows(groups.iter().filter(|group| !crate::plan::prepares(group.name)));
    let device = rows.into_iter().filter(|row| row.source.is_device());
    let of_device: Vec<Vec<u32>> = device.map(|row| row.cell.trials.clone()).collect();
    for cell in input.cells.iter_mut().filter(|cell| of_device.contains(&cell.trials)) {
        let Some(price) = price(input.campaign, &cell.settings) else { continue };
        // What was accepted is no more the device's than what was cached.
        let figure = [cells::DURABLE, cells::THROUGHPUT];
        let moved = figure.into_iter().find_map(|name| cells::figure(cell, name));
        if let Some(moved) = moved.filter(|moved| moved.value > 0.0) {
            cell.figures.insert(PRICE_PER_GB_PER_S.into(), per(price, moved));
            if let Some(bytes) = size_bytes(input.campaign, &cell.settings) {
                let per_tb = Estimate::bare(price / (bytes / 1e12));
                cell.figures.insert(PRICE_PER_TB.into(), per_tb);
            }
        }
    }
}

/// The price of 10^9 bytes per second: dear where they are few.
fn per(price: f64, moved: Estimate) -> Estimate {
    let of = |bytes_per_s: f64| price / (bytes_per_s / 1e9);
    let interval = moved.interval.filter(|interval| interval.low > 0.0);
    let interval =
        interval.map(|interval| Interval { low: of(interval.high), high: of(interval.low) });
    Estimate { value: of(moved.value), interval }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::testing::settings;
    use crate::report::fixture;

    fn prices(campaign: &mut Campaign) {
        campaign.prices = [("disk".to_owned(), 310.0), ("controller".to_owned(), 640.0)].into();
        campaign.inventory = serde_json::json!({ "targets": [
            { "disks": ["sda", "sdb"], "source": "/dev/md0", "total_bytes": 2e12 },
            { "disks": ["sdb", "sdc"], "source": "/dev/md1", "total_bytes": 1e12 },
        ]});
    }

    #[test]
    fn each_disk_costs_and_one_of_all_else() {
        let mut campaign = Campaign::default();
        let file = settings("file", &[]);
        assert_eq!(price(&campaign, &file), None, "nobody said what anything costs");
        prices(&mut campaign);
        assert_eq!(price(&campaign, &file), Some(3.0 * 310.0 + 640.0), "sdb is one disk");
        assert_eq!(size_bytes(&campaign, &file), Some(3e12));
        assert_eq!(price(&campaign, &settings("sim", &[])), None);
        campaign.inventory = Json::Null;
        assert_eq!(price(&campaign, &file), None, "nobody knows how many disks there are");
        campaign.prices.remove("disk");
        assert_eq!(price(&campaign, &file), Some(640.0));
    }

    #[test]
    fn a_slow_cell_is_dear_and_what_memory_moved_has_no_price() {
        let mut fixture = fixture::evaluated();
        prices(&mut fixture.campaign);
        let mut input = fixture.input();
        add(&mut input);
        let (mut with, mut cached) = (0, 0);
        let groups = cells::groups(&input);
        for row in cells::rows(groups.iter().filter(|group| !crate::plan::prepares(group.name))) {
            let price = cells::figure(row.cell, PRICE_PER_GB_PER_S);
            if !row.source.is_device() {
                assert!(price.is_none(), "{:?}", row.source);
                cached += 1;
            }
            let Some(price) = price else { continue };
            let moved = cells::figure(row.cell, cells::DURABLE);
            let moved = moved.or(cells::figure(row.cell, cells::THROUGHPUT)).unwrap();
            assert!((price.value * moved.value / 1e9 - 1570.0).abs() < 1e-6);
            if let (Some(price), Some(moved)) = (price.interval, moved.interval) {
                assert!((price.high * moved.low / 1e9 - 1570.0).abs() < 1e-6);
            }
            with += 1;
        }
        assert!(with > 0 && cached > 0, "{with} {cached}");
        let text = (crate::report::find("text").unwrap().render)(&input).unwrap();
        assert!(text.contains("per GB/s"), "{text}");
    }
}
