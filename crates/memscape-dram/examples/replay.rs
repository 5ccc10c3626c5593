//! A stream of reads for `DRAMsim3`, and how long this engine takes for it: `data/agreement/README.md` says how the
//! two are held against each other.
//!
//! `cargo run --release -p memscape-dram --example replay -- PATTERN READS > trace`, with `interleaved`,
//! `row-by-row`, `row-conflict` or `random` for PATTERN.

use std::io::{BufWriter, Write, stdout};

use memscape_dram::stream::{Policy, serve};
use memscape_dram::{
    Address, AddressMap, Dram, Engine, Field, Kind, MEMORIES, Pattern, Place, RefreshPolicy, constraints,
};
use memscape_study::random::Key;

fn addresses(pattern: &str, dram: &Dram) -> Result<Box<dyn Iterator<Item = Address>>, String> {
    let map = AddressMap::new(dram, Pattern::RowByRow.order());
    let bursts = dram.capacity().0 / u64::from(dram.column_bytes());
    let key = Key::new(1);
    Ok(match pattern {
        "interleaved" => Box::new(Pattern::Interleaved.addresses(dram)),
        "row-by-row" => Box::new(Pattern::RowByRow.addresses(dram)),
        "row-conflict" => Box::new(Pattern::RowConflict.addresses(dram)),
        "random" => Box::new((0..).filter_map(move |it| Some(map.decode(key.bits(it) % bursts)?.address()))),
        other => return Err(format!("`{other}` is no pattern")),
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut given = std::env::args().skip(1);
    let pattern = given.next().ok_or("give a pattern")?;
    let reads: usize = given.next().ok_or("give a number of reads")?.parse()?;
    let dram = MEMORIES.get("ddr4-3200");
    // DRAMsim3's `rochrababgco`, from the right.
    let order = [Field::Column, Field::BankGroup, Field::Bank, Field::Rank, Field::Channel, Field::Row];
    let map = AddressMap::new(dram, order);
    let mut out = BufWriter::new(stdout().lock());
    for at in addresses(&pattern, dram)?.take(reads) {
        let burst = map.encode(&Place::of(0, at)).ok_or("an address of another memory")?;
        writeln!(out, "0x{:X} READ 0", burst * u64::from(dram.column_bytes()))?;
    }
    out.flush()?;
    let engine = Engine::new(dram.geometry(), &constraints(dram))?;
    let mut engine = engine.with_refresh(RefreshPolicy::all_bank(dram))?;
    let all = addresses(&pattern, dram)?.take(reads).map(|at| Kind::Rd.at(at));
    let served = serve(&mut engine, all, 32, Policy::FirstReady, &mut ())?;
    let clocks = served.last.saturating_sub(served.first).as_ns() / dram.tck().as_f64();
    let between = f64::from(u32::try_from(served.accesses)?.max(2) - 1);
    eprintln!("{pattern},{reads},{:.3}", clocks / between);
    Ok(())
}
