//! Sec. 3 to 5: the devices as the model has them.

use memscape_explore::{Column, Parameters, Table, read};
use memscape_npu::mapping::dma::{DmaTile, WORD_BYTES};
use memscape_npu::{Device, GemmStudy};
use memscape_plot::{Figure, TextTable};

use super::common::{NPUS, printed, texts};
use crate::error::Error;
use crate::quantities::plain;
use crate::sweeps::for_preset;

/// Device, quantity, value, unit.
type Row = (&'static str, &'static str, f64, &'static str);

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let mut rows: Vec<Row> = Vec::new();
    for npu in NPUS {
        let mut parameters = for_preset(changed, npu);
        parameters.insert("device".to_owned(), npu.into());
        let study: GemmStudy = read(&parameters)?;
        rows.extend(
            quantities(&study.device, &study).into_iter().map(|(name, value, unit)| (npu, name, value, unit)),
        );
    }
    let text = |pick: fn(&Row) -> &'static str| {
        Column::Text(rows.iter().map(|it| Some(pick(it).to_owned())).collect())
    };
    Ok(Table::from_columns([
        ("npu", text(|it| it.0)),
        ("quantity", text(|it| it.1)),
        ("value", Column::Float(rows.iter().map(|it| Some(it.2)).collect())),
        ("unit", text(|it| it.3)),
    ])?)
}

fn quantities(device: &Device, study: &GemmStudy) -> Vec<(&'static str, f64, &'static str)> {
    let kib = |bytes: u32| f64::from(bytes) / 1024.0;
    let depth = f64::from(study.bds_in_flight.get());
    vec![
        ("rows used", device.rows.get().into(), ""),
        ("columns used", device.columns.get().into(), ""),
        ("clock", device.clock_mhz.as_f64() * 1e-3, "GHz"),
        ("L1 per compute tile", kib(device.l1_bytes.get()), "KiB"),
        ("L1 bank", kib(device.l1_bank_bytes.get()), "KiB"),
        ("stack", kib(device.stack_bytes), "KiB"),
        ("L1 for buffers", kib(device.l1_bytes.get() - device.stack_bytes), "KiB"),
        ("L2 per memory tile", kib(device.l2_bytes.get()), "KiB"),
        ("dimensions of addresses, compute tile", DmaTile::Compute.registers().dims.into(), ""),
        ("dimensions of addresses, memory tile", DmaTile::Memory.registers().dims.into(), ""),
        ("DMA channels each way, memory tile", device.memory_channels.get().into(), ""),
        ("granularity of addresses", f64::from(WORD_BYTES) * 8.0, "bit"),
        ("descriptors per interface tile", device.shim_bds.get().into(), ""),
        ("descriptors in flight per matrix", depth, ""),
        ("descriptors in flight", 3.0 * depth, ""),
        ("reconfiguration", device.reconfiguration_ns.as_f64() * 1e-6, "ms"),
        ("DRAM bandwidth of long reads", device.dram.read_gb_s.as_f64(), "GB/s"),
        ("DRAM data rate", device.dram.data_rate_mt_s.as_f64(), "MT/s"),
        ("run that saturates reads", device.dram.run_bytes.as_f64(), "B"),
        ("dispatch", device.dispatch_ns.as_f64() * 1e-6, "ms"),
        ("command processor per descriptor", device.bd_cycles.as_f64(), "cycles"),
        ("software pipeline", device.pipeline_cycles.as_f64(), "cycles"),
    ]
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let (first, second) = (table.filter("npu", NPUS[0])?, table.filter("npu", NPUS[1])?);
    let (names, units) = (texts(&first, "quantity")?, texts(&first, "unit")?);
    let (first, second) = (first.f64("value")?, second.f64("value")?);
    let header = ["Quantity", printed(NPUS[0]), printed(NPUS[1]), "Unit"];
    let value = |it: Option<f64>| it.map(plain).unwrap_or_default();
    let text = (0..names.len()).fold(TextTable::new(header), |text, row| {
        text.row([names[row].clone(), value(first[row]), value(second[row]), units[row].clone()])
    });
    Ok(Figure::one_column().panel("", text))
}
