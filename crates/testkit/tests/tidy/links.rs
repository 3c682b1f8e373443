//! Link rules: links between the pages lead somewhere.

use std::path::Path;

use crate::none;
use crate::repository::{File, files, root};

/// The pages: everything in `docs`, and the Markdown files at the root.
fn pages() -> Vec<File> {
    let is_page = |file: &File| {
        file.path.ends_with(".md") && (file.path.starts_with("docs/") || !file.path.contains('/'))
    };
    files("").into_iter().filter(is_page).collect()
}

/// A page's lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    })
}

/// The targets of a page's inline links, code left out.
fn targets(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in prose(text) {
        // After an odd number of backticks the link stands inside code and is none.
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("](") {
            let Some((target, left)) = after.split_once(')') else { break };
            if before.matches('`').count() % 2 == 0 {
                found.push(target);
            }
            rest = left;
        }
    }
    found
}

/// A heading as links name it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn has_anchor(page: &str, wanted: &str) -> bool {
    prose(page)
        .filter(|line| line.starts_with('#'))
        .any(|line| anchor(line.trim_start_matches('#')) == wanted)
}

/// Whether a link leads to a file, folder or heading that exists.
fn resolves(page: &File, target: &str) -> bool {
    let (path, heading) = target.split_once('#').map_or((target, None), |(p, h)| (p, Some(h)));
    let folder = root().join(&page.path);
    let folder = folder.parent().unwrap_or_else(|| Path::new(""));
    let file = if path.is_empty() { root().join(&page.path) } else { folder.join(path) };
    match heading {
        None => file.exists(),
        Some(heading) => std::fs::read_to_string(file).is_ok_and(|text| has_anchor(&text, heading)),
    }
}

fn is_elsewhere(target: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| target.starts_with(scheme))
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        let dead = targets(&page.text).into_iter().filter(|target| !is_elsewhere(target));
        let dead = dead.filter(|target| !resolves(&page, target));
        broken.extend(dead.map(|target| format!("{} links to {target}", page.path)));
    }
    none("a link leads to a file or heading that exists", broken);
}

#[test]
fn links_are_found_in_prose_and_not_in_code() {
    let page = "See [one](a.md) and [`two`](b.md#x).\n```\n[no](c.md)\n```\nNot `[this](d.md)`.\n";
    assert_eq!(targets(page), ["a.md", "b.md#x"]);
    assert!(has_anchor("# A title\n## What to do, then\n", "what-to-do-then"));
}
