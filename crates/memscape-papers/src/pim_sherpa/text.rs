//! Numbers that the text prints and no figure's table holds.

use memscape_explore::{Column, Parameters, Table, read};
use memscape_ondevice::hardware::HOSTS;
use memscape_ondevice::mapping::Scheme;
use memscape_ondevice::{PrefillAnswer, PrefillStudy};
use memscape_plot::{Figure, TextTable};
use memscape_study::Study;
use memscape_workload::Model;
use std::num::NonZeroU64;

use super::common::{MODELS, title};
use crate::error::Error;
use crate::sweeps::for_study;

/// What counts as comparable: within 5 %.
pub const COMPARABLE: f64 = 1.05;

/// The effective prompt that Sec. 7 quotes, over the longest that is evaluated.
const LONG_PROMPT: f64 = 131_072.0 / 192.0;

/// Quantity, model, value and unit.
type Row = (&'static str, String, f64, &'static str);

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let phone: PrefillStudy = read(&for_study("ondevice.prefill", changed)?)?;
    let answer = |model: &str, scheme, tokens: u64| -> Result<PrefillAnswer, Error> {
        let study = PrefillStudy {
            model: Model::named(model).map_err(Error::no_answer)?,
            scheme,
            prompt_tokens: NonZeroU64::new(tokens).unwrap_or(NonZeroU64::MIN),
            ..phone.clone()
        };
        study.answer().map_err(Error::no_answer)
    };
    let mut rows: Vec<Row> = Vec::new();
    for model in MODELS {
        let name = title(model);
        let ddb = |tokens| answer(model, Scheme::Ddb, tokens);
        let mut add = |what, value, unit| rows.push((what, name.clone(), value, unit));
        add("swizzled copies, DDB", ddb(128)?.copy_s, "s");
        add("swizzled copies, OWR", answer(model, Scheme::Owr, 128)?.copy_s, "s");
        add("GEMM, 32 tokens", ddb(32)?.gemm_s, "s");
        let (at_32, owr) = (ddb(32)?, answer(model, Scheme::Owr, 32)?);
        add("DDB over OWR, 32 tokens", at_32.ttft_s / owr.ttft_s, "×");
        let hidden =
            (1..=16).map(|it| 32 * it).find(|it| ddb(*it).is_ok_and(|it| it.over_gemm <= COMPARABLE));
        #[expect(clippy::cast_precision_loss, reason = "a few hundred tokens")]
        if let Some(hidden) = hidden {
            add("first prompt with DDB comparable to FACIL-O", hidden as f64, "tokens");
        }
        add("peak bandwidth that two copy threads take", ddb(128)?.copy_bandwidth_share, "");
        #[expect(clippy::cast_precision_loss, reason = "a few stages")]
        {
            let (of_64, of_128) = (ddb(64)?, ddb(128)?);
            let most = f64::from(u8::from(2 * of_64.copy_critical_stages > of_64.stages));
            add("copy is critical in most stages, 64 tokens", most, "");
            add("stages that hide their copy, 128 tokens", of_128.hidden_stages as f64, "");
        }
    }
    let phone_intensity = answer(MODELS[0], Scheme::Ddb, 1)?.flop_per_byte;
    let edge = HOSTS.find("jetson-agx-orin-gpu").map_err(Error::no_answer)?.parameters.flop_per_byte;
    let growth = LONG_PROMPT / (edge / phone_intensity);
    rows.push(("growth of prompts over that of FLOP per byte", "any".to_owned(), growth, "×"));
    let texts = |pick: &dyn Fn(&Row) -> String| Column::Text(rows.iter().map(|it| Some(pick(it))).collect());
    Ok(Table::from_columns([
        ("quantity", texts(&|it| it.0.to_owned())),
        ("model", texts(&|it| it.1.clone())),
        ("value", Column::Float(rows.iter().map(|it| Some(it.2)).collect())),
        ("unit", texts(&|it| it.3.to_owned())),
    ])?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let (names, models) = (table.text("quantity")?, table.text("model")?);
    let (values, units) = (table.f64("value")?, table.text("unit")?);
    let text = (0..table.height()).fold(TextTable::new(["Quantity", "Model", "Value"]), |text, row| {
        let value = values[row].map(|it| ((it * 1e3).round() / 1e3).to_string()).unwrap_or_default();
        let unit = units[row].clone().unwrap_or_default();
        text.row([
            names[row].clone().unwrap_or_default(),
            models[row].clone().unwrap_or_default(),
            format!("{value} {unit}").trim().to_owned(),
        ])
    });
    Ok(Figure::two_columns().panel("", text))
}
