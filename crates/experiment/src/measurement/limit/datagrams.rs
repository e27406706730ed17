//! (pure) What limits datagrams: nobody holds them back, so what is too much is lost, and where it
//! was lost is where the limit is.

use super::{Limits, Resource, Standing, TimedTrial, Use};
use crate::measurement::datagrams::DatagramCount;
use base::value::percent;

/// Fewer are lost by accident.
pub const LOST: f64 = 0.01;

/// Adds the network where it lost some, and says of the processors where the receiver did.
pub fn judge(facts: &TimedTrial<'_>, limits: &mut Limits) {
    let Some(count) = DatagramCount::from_measurement(facts.measurement) else { return };
    let Some(on_the_way) = count.on_the_way_share() else { return };
    let by_socket = count.lost_share() - on_the_way;
    let told = format!(
        "{} of the datagrams were lost on the way, and {} found the receiver's socket full",
        percent(on_the_way),
        percent(by_socket)
    );
    if on_the_way >= LOST {
        limits.uses.push(Use {
            resource: Resource::Network,
            standing: Standing::Binds,
            share: 1.0,
            allows_bytes_per_s: Some(facts.bytes_per_s),
            at_least: false,
            evidence: told,
        });
        return;
    }
    if by_socket < LOST {
        return;
    }
    for used in &mut limits.uses {
        if used.resource == Resource::Core {
            used.standing = used.standing.max(Standing::Near);
            used.evidence += &format!("; {told}");
        }
    }
}
