//! The ways of data as a tree: disks and ports are leaves, links narrow, memory is the root.
//!
//! Every figure is an upper bound, so that what is not known bounds nothing.

use facts::inventory::ceiling::Capacity;

/// What a node of the tree stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A disk.
    Disk,
    /// A network port.
    Port,
    /// A link between a controller and its disks.
    Hop,
    /// A PCI Express link, or what stands for it where there is none.
    Pci,
    /// The memory of a NUMA node.
    Memory,
}

/// A part that data passes.
#[derive(Clone, Debug)]
pub struct Node {
    /// Tells it from all others.
    pub id: String,
    /// For people.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// The next one towards memory; always one that was added before.
    pub above: Option<usize>,
    /// What it can carry.
    pub capacity: Option<Capacity>,
    /// Why that is not known; empty when it is, or when it has none of its own.
    pub unknown: String,
}

/// All parts of a server that data passes.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
}

/// What leaves can deliver together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// At most this, bytes per second; `None` when nothing on their way bounds it.
    pub bytes_per_s: Option<f64>,
    /// The nodes that hold it there.
    pub bound_by: Vec<usize>,
}

impl Tree {
    /// The place of `node`: that of the one with the same identity, if there is one already.
    pub fn add(&mut self, node: Node) -> usize {
        if let Some(place) = self.nodes.iter().position(|other| other.id == node.id) {
            return place;
        }
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The node at a place that [`Tree::add`] gave.
    pub fn node(&self, place: usize) -> &Node {
        &self.nodes[place]
    }

    /// From a node to the root, itself first.
    pub fn chain(&self, from: usize) -> Vec<usize> {
        std::iter::successors(Some(from), |place| self.nodes[*place].above).collect()
    }

    /// What these leaves deliver together, at most: a link carries the lesser of its own capacity
    /// and what all below it deliver.
    pub fn flow(&self, leaves: &[usize]) -> Flow {
        let mut inflow: Vec<Option<f64>> = vec![None; self.nodes.len()];
        for leaf in leaves {
            inflow[*leaf] = Some(f64::INFINITY);
        }
        let capacity = |place: usize| {
            let held = self.nodes[place].capacity.as_ref();
            held.map_or(f64::INFINITY, |capacity| capacity.bytes_per_s)
        };
        // A node's place is behind that of the one above it.
        let mut total = None;
        for place in (0..self.nodes.len()).rev() {
            let Some(comes_in) = inflow[place] else { continue };
            let goes_on = comes_in.min(capacity(place));
            let into = match self.nodes[place].above {
                Some(above) => &mut inflow[above],
                None => &mut total,
            };
            *into = Some(into.unwrap_or(0.0) + goes_on);
        }
        let Some(rate) = total.filter(|rate| rate.is_finite()) else { return Flow::default() };
        let mut flow = Flow { bytes_per_s: Some(rate), bound_by: Vec::new() };
        // The uppermost that narrow: below one of these nothing matters.
        let narrows = |place: usize| inflow[place].is_some_and(|rate| capacity(place) < rate);
        for leaf in leaves {
            let chain = self.chain(*leaf);
            if let Some(place) = chain.iter().rev().find(|place| narrows(**place))
                && !flow.bound_by.contains(place)
            {
                flow.bound_by.push(*place);
            }
        }
        flow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, above: Option<usize>, bytes_per_s: Option<f64>) -> Node {
        let capacity = bytes_per_s.map(|bytes_per_s| Capacity {
            bytes_per_s,
            encoded_bytes_per_s: bytes_per_s,
            ..Capacity::default()
        });
        let (id, name) = (id.to_owned(), String::new());
        Node { id, name, kind: NodeKind::Hop, above, capacity, unknown: String::new() }
    }

    #[test]
    fn a_shared_link_counts_once_and_names_itself() {
        let mut tree = Tree::default();
        let root = tree.add(node("memory", None, None));
        let shared = tree.add(node("shared", Some(root), Some(10.0)));
        let a = tree.add(node("a", Some(shared), Some(6.0)));
        let b = tree.add(node("b", Some(shared), Some(7.0)));
        let c = tree.add(node("c", Some(root), Some(3.0)));
        assert_eq!(tree.add(node("a", None, None)), a, "the same identity is the same node");
        assert_eq!(tree.flow(&[a]), Flow { bytes_per_s: Some(6.0), bound_by: vec![a] });
        assert_eq!(tree.flow(&[a, b]), Flow { bytes_per_s: Some(10.0), bound_by: vec![shared] });
        let all = tree.flow(&[a, b, c]);
        assert_eq!(all, Flow { bytes_per_s: Some(13.0), bound_by: vec![shared, c] });
        assert_eq!(tree.chain(a), [a, shared, root]);
    }

    #[test]
    fn what_is_not_known_bounds_nothing_and_an_unbounded_sum_is_none() {
        let mut tree = Tree::default();
        let root = tree.add(node("memory", None, None));
        let known = tree.add(node("known", Some(root), Some(5.0)));
        let unknown = tree.add(node("unknown", Some(root), None));
        assert_eq!(tree.flow(&[known, unknown]), Flow::default());
        assert_eq!(tree.flow(&[]), Flow::default());
        let under = tree.add(node("under", Some(known), None));
        assert_eq!(tree.flow(&[under]).bytes_per_s, Some(5.0));
    }
}
