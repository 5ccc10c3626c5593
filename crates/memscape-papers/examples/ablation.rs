//! What each reading of PIMnast does to its claims, as the table in
//! `docs/pimnast.md`: `cargo run --release -p memscape-papers --example ablation`.

use memscape_explore::Parameters;
use memscape_papers::Error;
use memscape_papers::claims::{Role, evaluate_with, published};
use serde_json::{Value, json};

/// Named options against the default, and the changed parameters.
fn readings() -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
    vec![
        ("as chosen", vec![]),
        ("`register_rule = printed` (no scale factors)", vec![("register_rule", json!("printed"))]),
        ("`pim.swap_commands = 0`", vec![("pim.swap_commands", json!(0))]),
        ("`pim.swap_commands = 1`", vec![("pim.swap_commands", json!(1))]),
        ("`pim.host_turnaround_ns = 0`", vec![("pim.host_turnaround_ns", json!(0.0))]),
        ("`pim.row_after_write = overlapped`", vec![("pim.row_after_write", json!("overlapped"))]),
        ("`pim.cross_lane = lane-shift-last`", vec![("pim.cross_lane", json!("lane-shift-last"))]),
        ("`pim.cross_lane = any-shift`", vec![("pim.cross_lane", json!("any-shift"))]),
        ("`memory.trtp_ns = 5.367` (without the burst)", vec![("memory.trtp_ns", json!(5.367))]),
        ("`memory.trtp_ns = 0` (hidden behind the slot)", vec![("memory.trtp_ns", json!(0.0))]),
        ("`refresh = true`", vec![("refresh", json!(true))]),
        ("`charge_reduction = true`", vec![("charge_reduction", json!(true))]),
        ("`attention = unfused`", vec![("attention", json!("unfused"))]),
        ("`kv_bits = 16`", vec![("kv_bits", json!(16))]),
        ("`lm_head = pim`", vec![("lm_head", json!("pim"))]),
    ]
}

const SHOWN: [&str; 8] = [
    "pimnast.fig8.base.max",
    "pimnast.fig9.base.125M",
    "pimnast.fig9.opt.125M",
    "pimnast.fig9.opt.avg",
    "pimnast.fig12.8b.avg",
    "pimnast.fig15.hw.avg",
    "pimnast.fig15.splitk.avg",
    "pimnast.fig14.token.avg",
];

fn main() -> Result<(), Error> {
    let claims: Vec<_> = published(Some("pimnast"))?.into_iter().flat_map(|it| it.claims).collect();
    println!(
        "| reading | within 5 % / 10 % | {} |",
        SHOWN.map(|it| it.trim_start_matches("pimnast.")).join(" | ")
    );
    println!("|---|---|{}", "---|".repeat(SHOWN.len()));
    let published = SHOWN.map(|id| claims.iter().find(|it| it.id == id).map_or("", |it| it.value.as_str()));
    println!("| published | | {} |", published.join(" | "));
    for (name, parameters) in readings() {
        let changed: Parameters =
            parameters.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
        // Not every experiment knows every parameter: leave those out that do not.
        let verdicts: Vec<_> = claims
            .iter()
            .filter(|it| it.query.is_some() && it.role != Role::Input)
            .filter_map(|it| {
                evaluate_with(std::slice::from_ref(it), &changed)
                    .or_else(|_| {
                        if name == "as chosen" || changed.contains_key("register_rule") {
                            return Ok(Vec::new());
                        }
                        evaluate_with(std::slice::from_ref(it), &Parameters::new())
                    })
                    .ok()
            })
            .flatten()
            .collect();
        let predictions = verdicts.iter().filter(|it| it.is_held());
        let within = |tolerance| predictions.clone().filter(|it| it.is_within(tolerance)).count();
        let cells = SHOWN.map(|id| {
            let found = verdicts.iter().find(|it| it.id == id).and_then(|it| it.computed);
            found.map_or("–".to_owned(), |it| format!("{it:.2}"))
        });
        println!(
            "| {name} | {} / {} of {} | {} |",
            within(0.05),
            within(0.1),
            predictions.clone().count(),
            cells.join(" | ")
        );
    }
    Ok(())
}
