//! Size of a JSON value, and the limit up to which work that is linear in it stays on an async worker.

use serde_json::Value;

/// How many values a small value holds at most, itself included.
const SMALL_NODES: u64 = 4096;

/// How many bytes its texts and names have at most.
const SMALL_BYTES: u64 = 64 << 10;

/// Whether work that is linear in a value takes well under a millisecond. At most 4096 values of it are
/// looked at.
pub fn is_small(value: &Value) -> bool {
    Size::small(value).is_some()
}

/// How large a value is.
pub(super) struct Size {
    pub(super) nodes: u64,
    pub(super) bytes: u64,
    pub(super) depth: u64,
}

/// Where measuring ends before the value does.
struct Most {
    nodes: u64,
    bytes: u64,
}

impl Size {
    /// Nothing that is read from a text is deeper; what is, counts as if it were endless.
    pub(super) const DEEPEST: u64 = 1000;

    pub(super) fn of(value: &Value) -> Size {
        let mut size = Size { nodes: 0, bytes: 0, depth: 0 };
        size.add(value, 1, &Most { nodes: u64::MAX, bytes: u64::MAX });
        size
    }

    /// The size of a small value; none where it is larger.
    pub(super) fn small(value: &Value) -> Option<Size> {
        let mut size = Size { nodes: 0, bytes: 0, depth: 0 };
        let most = Most { nodes: SMALL_NODES, bytes: SMALL_BYTES };
        (size.add(value, 1, &most) && size.depth < Size::DEEPEST).then_some(size)
    }

    /// Adds a value, and says whether all of it was within the limits.
    fn add(&mut self, value: &Value, depth: u64, most: &Most) -> bool {
        self.nodes = self.nodes.saturating_add(1);
        self.depth = self.depth.max(depth);
        if depth >= Size::DEEPEST {
            self.nodes = u64::MAX / 2;
            return false;
        }
        let is_within = match value {
            Value::String(text) => {
                self.bytes += text.len() as u64;
                true
            }
            Value::Array(items) => items.iter().all(|item| self.add(item, depth + 1, most)),
            Value::Object(fields) => fields.iter().all(|(name, item)| {
                self.bytes += name.len() as u64;
                self.add(item, depth + 1, most)
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
        };
        is_within && self.nodes <= most.nodes && self.bytes <= most.bytes
    }
}
