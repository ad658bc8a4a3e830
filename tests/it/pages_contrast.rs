//! The colours of the style sheet: each pair that stands upon one another can be told apart, in light and in dark.

use std::collections::BTreeMap;

const SHEET: &str = include_str!("../../src/admin/static/oncehook.css");

/// Text, and what it stands on.
const TEXT: &[(&str, &str)] = &[
    ("text", "page"),
    ("text", "surface"),
    ("text", "sunken"),
    ("muted", "page"),
    ("muted", "surface"),
    ("muted", "sunken"),
    ("link", "page"),
    ("link", "surface"),
    ("link", "sunken"),
    ("primary-text", "primary"),
    ("danger-text", "danger"),
    ("good", "good-back"),
    ("bad", "bad-back"),
    ("warn", "warn-back"),
    ("busy", "busy-back"),
    ("idle", "idle-back"),
    ("good", "surface"),
    ("bad", "surface"),
    ("warn", "surface"),
    ("bad", "page"),
    ("bad", "sunken"),
    ("text", "busy-back"),
    ("muted", "busy-back"),
    ("link", "busy-back"),
];

/// What is no text: frames of fields, focus, bars and lines of plots.
const SHAPES: &[(&str, &str)] = &[
    ("muted", "surface"),
    ("focus", "page"),
    ("focus", "surface"),
    ("plot-good", "surface"),
    ("plot-calm", "surface"),
    ("plot-bad", "surface"),
    ("plot-p50", "surface"),
    ("plot-p99", "surface"),
    ("primary", "surface"),
    ("danger", "surface"),
];

fn colours(block: &str) -> BTreeMap<&str, [f64; 3]> {
    let lines = block.lines().filter_map(|line| line.trim().strip_prefix("--")?.strip_suffix(';')?.split_once(": #"));
    let part = |hex: &str, at: usize| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
    lines.map(|(name, hex)| (name, [part(hex, 0), part(hex, 2), part(hex, 4)])).collect()
}

/// WCAG 2: relative luminance.
fn luminance(colour: [f64; 3]) -> f64 {
    let linear = colour.map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn schemes() -> [(&'static str, BTreeMap<&'static str, [f64; 3]>); 2] {
    let (light, rest) = SHEET.split_once("@media (prefers-color-scheme: dark)").unwrap();
    let dark = rest.split("/* --- Ground").next().unwrap();
    [("light", colours(light)), ("dark", colours(dark))]
}

#[test]
fn text_has_a_contrast_of_at_least_four_and_a_half_and_shapes_of_three() {
    for (scheme, colours) in schemes() {
        for (pairs, least) in [(TEXT, 4.5), (SHAPES, 3.0)] {
            for (front, back) in pairs {
                let found = contrast(colours[front], colours[back]);
                assert!(found >= least, "{scheme}: {front} on {back} has {found:.2}, below {least}");
            }
        }
    }
}

#[test]
fn dark_and_light_have_the_same_colours_and_nothing_else_names_one() {
    let [(_, light), (_, dark)] = schemes();
    assert_eq!(light.keys().collect::<Vec<_>>(), dark.keys().collect::<Vec<_>>());
    let rules = SHEET.split("/* --- Ground").nth(1).unwrap();
    assert!(!rules.contains(": #") && !rules.contains("rgb("), "colours are variables");
    assert!(!SHEET.contains("url(") && !SHEET.contains("@import"), "nothing is loaded from elsewhere");
}
