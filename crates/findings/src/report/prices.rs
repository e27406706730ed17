//! (pure) The prices of a plan among the figures of cells: of a GB/s, of an I/O per second, of a
//! TB.
//!
//! What they come to is computed by `analysis::cost`; here they are put beside the other figures of
//! cells whose bytes the device moved.

use super::{Input, cells};
use crate::analysis::AnalysisInput;
use crate::analysis::cost::{self, PRICE_PER_GB_PER_S, PRICE_PER_IOPS, PRICE_PER_TB};
use base::stats::Estimate;
use experiment::measurement::figure_names;
use experiment::measurement::figures::Cell;

/// Gives every cell that has one its price of a GB/s, of an I/O per second and of a TB.
pub fn add(input: &mut Input<'_>) {
    if input.campaign.prices.is_empty() {
        return;
    }
    let campaign = input.campaign;
    let (inventory, prices) = (&campaign.inventory, &campaign.prices);
    let asked = AnalysisInput::new(&[], inventory, prices);
    let groups = cells::groups(input);
    let rows = cells::rows(groups.iter());
    let device = rows.into_iter().filter(|row| row.source.is_device());
    let of_device: Vec<Vec<u32>> = device.map(|row| row.cell.trials.clone()).collect();
    for cell in input.cells.iter_mut().filter(|cell| of_device.contains(&cell.trials)) {
        let Some(price) = cost::price(&asked, &cell.settings) else { continue };
        // What was accepted is no more the device's than what was cached.
        let figure = [figure_names::DURABLE_THROUGHPUT, figure_names::THROUGHPUT];
        let moved = figure.into_iter().find_map(|name| Some((name, cells::figure(cell, name)?)));
        if let Some((name, moved)) = moved.filter(|(_, moved)| moved.value > 0.0) {
            add_price(cell, PRICE_PER_GB_PER_S, name, cost::per(price, moved, 1e9));
            // Operations that were accepted are no more the device's than such bytes.
            let taken = cells::figure(cell, figure_names::DURABLE_THROUGHPUT).is_none();
            let iops =
                cells::figure(cell, figure_names::IOPS).filter(|iops| taken && iops.value > 0.0);
            if let Some(iops) = iops {
                add_price(cell, PRICE_PER_IOPS, figure_names::IOPS, cost::per(price, iops, 1.0));
            }
            if let Some(bytes) = cost::usable_bytes(&asked, &cell.settings) {
                let per_tb = Estimate::bare(price / (bytes / 1e12));
                cell.figures.insert(PRICE_PER_TB.into(), per_tb);
            }
        }
    }
}

/// Adds what a unit of the figure `of` costs: its spread is that figure's, pooled or not.
fn add_price(cell: &mut Cell, name: &str, of: &str, price: Estimate) {
    cell.figures.insert(name.into(), price);
    if let Some(cells) = cell.pooled.get(of).copied() {
        cell.pooled.insert(name.into(), cells);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;
    use crate::report::fixture;
    use experiment::campaign::Campaign;
    use experiment::knob::testing::settings;

    fn prices(campaign: &mut Campaign) {
        campaign.prices = [("disk".to_owned(), 310.0), ("controller".to_owned(), 640.0)].into();
        campaign.inventory = serde_json::json!({ "targets": [
            { "disks": ["sda", "sdb"], "source": "/dev/md0", "total_bytes": 2e12 },
            { "disks": ["sdb", "sdc"], "source": "/dev/md1", "total_bytes": 1e12 },
        ]});
    }

    #[test]
    fn each_disk_costs_and_one_of_all_else() {
        let asked = |campaign: &Campaign, settings: &experiment::knob::Settings| {
            let (inventory, prices) = (&campaign.inventory, &campaign.prices);
            let asked = AnalysisInput::new(&[], inventory, prices);
            (cost::price(&asked, settings), cost::usable_bytes(&asked, settings))
        };
        let price = |campaign: &Campaign, settings: &_| asked(campaign, settings).0;
        let mut campaign = Campaign::default();
        let file = settings("file", &[]);
        assert_eq!(price(&campaign, &file), None, "nobody said what anything costs");
        prices(&mut campaign);
        assert_eq!(price(&campaign, &file), Some(3.0 * 310.0 + 640.0), "sdb is one disk");
        assert_eq!(asked(&campaign, &file).1, Some(3e12));
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
        for row in cells::rows(groups.iter()) {
            let price = cells::figure(row.cell, PRICE_PER_GB_PER_S);
            if !row.source.is_device() {
                assert!(price.is_none(), "{:?}", row.source);
                cached += 1;
            }
            let Some(price) = price else { continue };
            let moved = cells::figure(row.cell, figure_names::DURABLE_THROUGHPUT);
            let moved = moved.or(cells::figure(row.cell, figure_names::THROUGHPUT)).unwrap();
            assert!((price.value * moved.value / 1e9 - 1570.0).abs() < 1e-6);
            if let (Some(price), Some(moved)) = (price.interval, moved.interval) {
                assert!((price.high * moved.low / 1e9 - 1570.0).abs() < 1e-6);
            }
            with += 1;
        }
        assert!(with > 0 && cached > 0, "{with} {cached}");
        let text = crate::report::find("text").unwrap().bytes(&input).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("per GB/s"), "{text}");
    }
}
