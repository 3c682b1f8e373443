//! Wire name tests: each tool has one name that every client takes, whatever else is loaded.

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use haft_catalog::{WireNames, is_wire_name};
    use haft_contract::Contract;
    use haft_model::ToolKey;
    use haft_testkit::SeededRandom;
    use serde_json::json;

    use crate::export::contracts::contract;
    use crate::surface::catalog::snapshot_of;

    /// An id, a version and lines of `metadata.haft`.
    type Tool<'t> = (&'t str, &'t str, &'t str);

    fn tool((id, version, haft): Tool<'_>) -> Contract {
        let lines = format!("metadata: {{ haft: {{ {haft} }} }}");
        contract(id, version, &json!({"type": "object"}), &lines)
    }

    fn names(tools: &[Tool<'_>]) -> Vec<String> {
        let contracts: Vec<Contract> = tools.iter().copied().map(tool).collect();
        let names = WireNames::of(&contracts);
        let name = |contract: &Contract| names.name(contract.key()).unwrap().to_string();
        contracts.iter().map(name).collect()
    }

    #[test]
    fn names_are_ids_unless_they_collide_or_are_long() {
        let long = "a-rather-long-namespace.with-a-very-long-part.one";
        let cases: [(&[Tool<'_>], &[&str]); 11] = [
            (&[("fs.read", "1.0.0", ""), ("fs-read", "1.0.0", "")], &["fs_read", "fs-read"]),
            (&[("7zip.pack", "1.0.0", "")], &["_7zip_pack"]),
            (&[("pay", "1.0.0", ""), ("pay", "2.0.0", "")], &["pay_v1", "pay"]),
            (&[("pay", "1.0.0", ""), ("pay", "2.0.0-rc.1", "")], &["pay", "pay_v2"]),
            (&[("a.b", "1.0.0", "exposed_as: test_simple_text")], &["test_simple_text"]),
            (
                &[("a.b", "1.0.0", ""), ("c.d", "1.0.0", "exposed_as: a_b")],
                &["a_b", "a_b_4faf24a9"],
            ),
            (
                &[("a.b", "1.0.0", "exposed_as: go"), ("c.d", "1.0.0", "exposed_as: go")],
                &["go_b59b8491", "go_4faf24a9"],
            ),
            (
                &[("c.d", "1.0.0", ""), ("c.d", "2.0.0", ""), ("c.d.v1", "1.0.0", "")],
                &["c_d_v1_4faf24a9", "c_d", "c_d_v1"],
            ),
            (&[("a.b", "1.0.0", ""), ("c.d", "1.0.0", "aliases: [a_b]")], &["a_b_b59b8491", "c_d"]),
            (&[("a.b", "1.0.0", "exposed_as: tool_search")], &["tool_search_b59b8491"]),
            (&[(long, "1.0.0", "")], &["a-rather-long-namespace_with-a-very-lon_ef5920f2"]),
        ];
        for (tools, expected) in cases {
            assert_eq!(names(tools), expected, "{tools:?}");
        }
    }

    /// Some tool out of few ids, majors, exposed names and aliases, so that many collide.
    fn any_tool(random: &mut SeededRandom) -> Contract {
        let long = "a-rather-long-namespace.with-long-part";
        let parts = ["aa", "bb", "7z", "v1", "aa-bb", long];
        let id = match random.below(3) {
            0 => random.choose(&parts).to_owned(),
            _ => format!("{}.{}", random.choose(&parts), random.choose(&parts)),
        };
        let version = random.choose(&["1.0.0", "1.0.0", "2.0.0", "3.0.0-rc.1"]);
        let haft = match random.below(4) {
            0 => {
                let exposed = ["aa_bb", "aa.bb", "tool_load", "call_read", "7z", "aa_v1"];
                format!("exposed_as: \"{}\"", random.choose(&exposed))
            }
            1 => format!("aliases: [{}]", random.choose(&["aa_bb", "zz", "v1_v1", "aa.bb"])),
            _ => String::new(),
        };
        tool((&id, version, &haft))
    }

    fn any_tools(random: &mut SeededRandom) -> BTreeMap<ToolKey, Contract> {
        let count = 1 + random.below(12);
        let tools = (0..count).map(|_| any_tool(random));
        tools.map(|tool| (tool.key().clone(), tool)).collect()
    }

    #[test]
    fn random_ids_get_distinct_names_that_clients_take() {
        for seed in 0..400 {
            let tools = any_tools(&mut SeededRandom::new(seed));
            let names = WireNames::of(tools.values());
            let backwards = WireNames::of(tools.values().rev());
            let mut seen = BTreeSet::new();
            for (key, tool) in &tools {
                let name = names.name(key).unwrap();
                assert_eq!(backwards.name(key), Some(name), "seed {seed}: {key}");
                assert_eq!(names.key(name), Some(key), "seed {seed}: {name}");
                assert!(is_wire_name(name) && seen.insert(name.clone()), "seed {seed}: {name}");
                let foreign = tools.values().filter(|other| other.key().id != tool.key().id);
                let mut foreign = foreign.flat_map(|other| {
                    let aliases = other.tool.extras.aliases.iter().map(String::as_str);
                    aliases.chain([other.key().id.as_str()])
                });
                assert!(!foreign.any(|other| other == &**name), "seed {seed}: {name}");
            }
        }
    }

    #[test]
    fn added_tool_changes_only_names_that_it_contests() {
        let mut changed = 0;
        for seed in 0..2000 {
            let random = &mut SeededRandom::new(seed);
            let tools = any_tools(random);
            let new = any_tool(random);
            if tools.keys().any(|key| key.id == new.key().id) {
                continue;
            }
            let before = WireNames::of(tools.values());
            let after = WireNames::of(tools.values().chain([&new]));
            for (key, old) in &tools {
                let name = before.name(key).unwrap();
                if after.name(key) == Some(name) {
                    continue;
                }
                changed += 1;
                // Without its main major, an older one would take the name over.
                let others = tools.values().filter(|other| other.key().id != key.id);
                let without = WireNames::of(others.chain([&new]));
                let contested = without.name(new.key()) == Some(name);
                let aliased = new.tool.extras.aliases.iter().any(|alias| **alias == **name);
                let exposed = old.tool.extras.exposed_as.is_some();
                let by_id = !exposed && names(&[(key.id.as_str(), "1.0.0", "")]) == [&**name];
                assert!(aliased || contested && !by_id, "seed {seed}: {key} was {name}");
            }
        }
        assert!(changed > 20, "{changed} names changed: too few tools collided");
    }

    #[test]
    fn newer_major_takes_the_name_of_the_older_alone() {
        for seed in 0..400 {
            let random = &mut SeededRandom::new(seed);
            let mut tools = any_tools(random);
            tools.retain(|_, tool| tool.tool.extras.exposed_as.is_none());
            let Some(id) = tools.keys().next().map(|key| key.id.to_string()) else { continue };
            let before = WireNames::of(tools.values());
            let newer = tool((&id, "9.0.0", ""));
            let after = WireNames::of(tools.values().chain([&newer]));
            for key in tools.keys().filter(|key| key.id.as_str() != id) {
                assert_eq!(after.name(key), before.name(key), "seed {seed}: {key}");
            }
        }
    }

    #[test]
    fn tool_is_found_by_every_name_it_has() {
        let snapshot = snapshot_of(&[
            ("order.get", "Shows one.", "[]", "aliases: [purchase], exposed_as: order.show"),
            ("order.list", "Lists all.", "[]", ""),
        ]);
        for name in ["order.get", "order.get@1", "order_show", "order.show", "purchase"] {
            let found = snapshot.find_called(name, |_| true).unwrap();
            assert_eq!(found.contract.key().to_string(), "order.get@1", "{name}");
        }
        assert!(snapshot.find_called("order_get", |_| true).is_none());
        let unknown = |name: &str| snapshot.unknown(name).help.unwrap();
        assert_eq!(unknown("order_lits"), "did you mean `order_list`?");
        assert_eq!(unknown("order.lits"), "did you mean `order.list`?");
    }
}
