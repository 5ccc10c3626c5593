//! Do the traces have the form other programs read?

use std::io::{self, Write};

use memscape_dram::export::{ChromeTrace, CommandCsv, DramSim3Trace, RamulatorTrace};
use memscape_dram::{AddressMap, Command, Dram, Engine, Kind, Pattern, RefreshPolicy, Sink, pim_constraints};
use memscape_units::Picoseconds;

use crate::{PIM, at, preset};

/// A small device, so that all-bank lines stay readable.
fn device() -> Dram {
    let [bank_groups, banks_per_channel] = [2, 4].map(|it| it.try_into().unwrap());
    Dram { bank_groups, banks_per_channel, ..preset("lpddr5-6400") }
}

fn feed(sink: &mut impl Sink) {
    let dram = device();
    let engine = Engine::new(dram.geometry(), &pim_constraints(&dram, PIM)).unwrap();
    let refresh = RefreshPolicy::AllBank { interval: Picoseconds(100_000) };
    let mut engine = engine.with_refresh(refresh).unwrap();
    let commands: [Command; 9] = [
        Kind::Act.at(at(1, 0, 5, 0)),
        Kind::Rd.at(at(1, 0, 5, 2)),
        Kind::Wr.at(at(1, 0, 5, 3)),
        Kind::Pre.at(at(1, 0, 0, 0)),
        Kind::ActAll.at(at(0, 0, 7, 0)),
        Kind::RegWrite.at(at(0, 0, 0, 1)),
        Kind::Mac.at(at(0, 0, 7, 4)),
        Kind::Spill.at(at(0, 0, 7, 6)),
        Kind::PreAll.at(at(0, 0, 0, 0)),
    ];
    for command in commands {
        engine.issue_into(command, sink).unwrap();
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn timed_commands() {
    let mut csv = CommandCsv::new(Vec::new(), 3, device().tck_ns.to_picoseconds());
    feed(&mut csv);
    insta::assert_snapshot!(text(csv.finish().unwrap()), @r"
        clock,command,Channel,Rank,BankGroup,Bank,Row,Column,type,source
        0,ACT,3,0,1,0,5,-1,-1,0
        15,RD,3,0,1,0,5,2,0,0
        27,WR,3,0,1,0,5,3,1,0
        66,PRE,3,0,1,0,-1,-1,-1,0
        81,REFab,3,0,-1,-1,-1,-1,-1,1
        249,ACTAB,3,0,-1,-1,7,-1,-1,0
        283,PREA,3,0,-1,-1,-1,-1,-1,1
        300,REFab,3,0,-1,-1,-1,-1,-1,1
        468,REFab,3,0,-1,-1,-1,-1,-1,1
        636,REGWR,3,0,-1,-1,-1,-1,1,0
        640,REFab,3,0,-1,-1,-1,-1,-1,1
        808,REFab,3,0,-1,-1,-1,-1,-1,1
        976,REFab,3,0,-1,-1,-1,-1,-1,1
        1144,ACTAB,3,0,-1,-1,7,-1,-1,1
        1159,MAC,3,0,-1,-1,7,4,0,0
        1178,PREA,3,0,-1,-1,-1,-1,-1,1
        1195,REFab,3,0,-1,-1,-1,-1,-1,1
        1363,REFab,3,0,-1,-1,-1,-1,-1,1
        1531,ACTAB,3,0,-1,-1,7,-1,-1,1
        1546,SPILL,3,0,-1,-1,7,6,1,0
        1585,PREA,3,0,-1,-1,-1,-1,-1,1
        1602,REFab,3,0,-1,-1,-1,-1,-1,1
        1770,REFab,3,0,-1,-1,-1,-1,-1,1
        1938,PREA,3,0,-1,-1,-1,-1,-1,0
        ");
}

#[test]
fn ramulator_lines() {
    let mut trace = RamulatorTrace::new(Vec::new(), 3, device().geometry());
    feed(&mut trace);
    insta::assert_snapshot!(text(trace.finish().unwrap()), @r"
        R 3,0,1,0,5,2
        W 3,0,1,0,5,3
        R 3,0,0,0,7,4
        R 3,0,0,1,7,4
        R 3,0,1,0,7,4
        R 3,0,1,1,7,4
        W 3,0,0,0,7,6
        W 3,0,0,1,7,6
        W 3,0,1,0,7,6
        W 3,0,1,1,7,6
        ");
}

#[test]
fn dramsim3_lines() {
    let dram = device();
    let map = AddressMap::new(&dram, Pattern::Interleaved.order());
    let mut trace = DramSim3Trace::new(Vec::new(), &dram, map, 0, dram.tck_ns.to_picoseconds());
    feed(&mut trace);
    insta::assert_snapshot!(text(trace.finish().unwrap()), @r"
        0xA0A0 READ 15
        0xA0E0 WRITE 27
        0xE100 READ 1159
        0xF100 READ 1159
        0xE120 READ 1159
        0xF120 READ 1159
        0xE180 WRITE 1546
        0xF180 WRITE 1546
        0xE1A0 WRITE 1546
        0xF1A0 WRITE 1546
        ");
}

#[test]
fn chrome_trace_is_json_with_a_track_per_bank() {
    let mut trace = ChromeTrace::new(Vec::new(), &device(), 3, PIM.slot);
    feed(&mut trace);
    let json = text(trace.finish().unwrap());
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let events = value["traceEvents"].as_array().unwrap();
    assert_eq!(events.iter().filter(|it| it["ph"] == "M").count(), 1 + 1 + 4);
    assert!(events.iter().all(|it| it["pid"] == 3));
    let mut times = events.iter().filter_map(|it| it["ts"].as_f64());
    assert!(times.clone().zip(times.by_ref().skip(1)).all(|(a, b)| a <= b));
    insta::assert_snapshot!(json, @r#"
        {"displayTimeUnit":"ns","traceEvents":[
        {"ph":"M","name":"process_name","pid":3,"tid":0,"args":{"name":"channel 3"}},
        {"ph":"M","name":"thread_name","pid":3,"tid":0,"args":{"name":"rank 0, all banks"}},
        {"ph":"M","name":"thread_name","pid":3,"tid":1,"args":{"name":"rank 0, group 0, bank 0"}},
        {"ph":"M","name":"thread_name","pid":3,"tid":2,"args":{"name":"rank 0, group 0, bank 1"}},
        {"ph":"M","name":"thread_name","pid":3,"tid":3,"args":{"name":"rank 0, group 1, bank 0"}},
        {"ph":"M","name":"thread_name","pid":3,"tid":4,"args":{"name":"rank 0, group 1, bank 1"}},
        {"ph":"X","name":"ACT","cat":"stream","pid":3,"tid":3,"ts":0.000000,"dur":0.018750,"args":{"row":5}},
        {"ph":"X","name":"RD","cat":"stream","pid":3,"tid":3,"ts":0.018750,"dur":0.002500,"args":{"row":5,"column":2}},
        {"ph":"X","name":"WR","cat":"stream","pid":3,"tid":3,"ts":0.033750,"dur":0.002500,"args":{"row":5,"column":3}},
        {"ph":"X","name":"PRE","cat":"stream","pid":3,"tid":3,"ts":0.082500,"dur":0.018750,"args":{}},
        {"ph":"X","name":"REFab","cat":"refresh","pid":3,"tid":0,"ts":0.101250,"dur":0.210000,"args":{}},
        {"ph":"X","name":"ACTAB","cat":"stream","pid":3,"tid":0,"ts":0.311250,"dur":0.018750,"args":{"row":7}},
        {"ph":"X","name":"PREA","cat":"refresh","pid":3,"tid":0,"ts":0.353750,"dur":0.021250,"args":{}},
        {"ph":"X","name":"REFab","cat":"refresh","pid":3,"tid":0,"ts":0.375000,"dur":0.210000,"args":{}},
        {"ph":"X","name":"REFab","cat":"refresh","pid":3,"tid":0,"ts":0.585000,"dur":0.210000,"args":{}},
        {"ph":"X","name":"REGWR","cat":"stream","pid":3,"tid":0,"ts":0.795000,"dur":0.004267,"args":{}},
        {"ph":"X","name":"REFab","cat":"refresh","pid":3,"tid":0,"ts":0.799267,"dur":0.210000,"args":{}},
        {"ph":"X","name":"REFab","cat":"refresh","pid":3,"tid":0,"ts":1.009267,"dur":0.210000,"args":{}},
        {"ph":"X","name":"REFab","cat":"refresh","pid":3,"tid":0,"ts":1.219267,"dur":0.210000,"args":{}},
        {"ph":"X","name":"ACTAB","cat":"refresh","pid":3,"tid":0,"ts":1.429267,"dur":0.018750,"args":{"row":7}},
        {"ph":"X","name":"MAC","cat":"stream","pid":3,"tid":0,"ts":1.448017,"dur":0.004267,"args":{"row":7,"column":4}},
        {"ph":"X","name":"PREA","cat":"refresh","pid":3,"tid":0,"ts":1.471767,"dur":0.021250,"args":{}},
        {"ph":"X","name":"REFab","cat":"refresh","pid":3,"tid":0,"ts":1.493017,"dur":0.210000,"args":{}},
        {"ph":"X","name":"REFab","cat":"refresh","pid":3,"tid":0,"ts":1.703017,"dur":0.210000,"args":{}},
        {"ph":"X","name":"ACTAB","cat":"refresh","pid":3,"tid":0,"ts":1.913017,"dur":0.018750,"args":{"row":7}},
        {"ph":"X","name":"SPILL","cat":"stream","pid":3,"tid":0,"ts":1.931767,"dur":0.004267,"args":{"row":7,"column":6}},
        {"ph":"X","name":"PREA","cat":"refresh","pid":3,"tid":0,"ts":1.980517,"dur":0.021250,"args":{}},
        {"ph":"X","name":"REFab","cat":"refresh","pid":3,"tid":0,"ts":2.001767,"dur":0.210000,"args":{}},
        {"ph":"X","name":"REFab","cat":"refresh","pid":3,"tid":0,"ts":2.211767,"dur":0.210000,"args":{}},
        {"ph":"X","name":"PREA","cat":"stream","pid":3,"tid":0,"ts":2.421767,"dur":0.021250,"args":{}}
        ]}
        "#);
}

/// An output that fails after some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    let mut csv = CommandCsv::new(Full(100), 0, Picoseconds(1));
    feed(&mut csv);
    assert_eq!(csv.finish().err().unwrap().kind(), io::ErrorKind::StorageFull);
}
