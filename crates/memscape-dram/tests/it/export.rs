//! Do the traces have the form other programs read?

use std::io::{self, Write};

use memscape_dram::export::{CommandCsv, CommandTimeline, DramSim3Trace, RamulatorTrace};
use memscape_dram::{AddressMap, Command, Dram, Engine, Kind, Pattern, RefreshPolicy, Sink, pim_constraints};
use memscape_study::{Csv, Timeline};
use memscape_units::Picoseconds;

use crate::{at, pim, preset};

/// A small device, so that all-bank lines stay readable.
fn device() -> Dram {
    let [bank_groups, banks_per_channel] = [2, 4].map(|it| it.try_into().unwrap());
    Dram { bank_groups, banks_per_channel, ..preset("lpddr5-6400") }
}

fn feed(sink: &mut impl Sink) {
    let dram = device();
    let engine = Engine::new(dram.geometry(), &pim_constraints(&dram, &pim())).unwrap();
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
    let mut csv = CommandCsv::new(Vec::new(), 3, device().tck().to_picoseconds());
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
    let mut trace = DramSim3Trace::new(Vec::new(), &dram, map, 0, dram.tck().to_picoseconds());
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
fn a_timeline_has_a_track_per_bank_and_two_per_rank() {
    let mut timeline = Timeline::default();
    feed(&mut CommandTimeline::new(&mut timeline, &device(), 3, Picoseconds(5_000)));
    assert_eq!(timeline.tracks.len(), 2 + 4);
    assert!(timeline.tracks.iter().all(|it| it.group == "channel 3"));
    assert!(timeline.spans.is_sorted_by_key(|it| it.start));
    let mut csv = Csv::new(Vec::new());
    timeline.replay(&mut csv);
    let lines = text(csv.finish().unwrap());
    insta::assert_snapshot!(lines.lines().take(12).collect::<Vec<_>>().join("\n"), @r#"
        group,track,name,category,start_ns,end_ns,details
        channel 3,"rank 0, group 1, bank 0",ACT,stream,0.000,18.750,row=5
        channel 3,"rank 0, group 1, bank 0",RD,stream,18.750,21.250,row=5;column=2
        channel 3,"rank 0, group 1, bank 0",WR,stream,33.750,36.250,row=5;column=3
        channel 3,"rank 0, group 1, bank 0",PRE,stream,82.500,101.250,
        channel 3,"rank 0, all banks",REFab,refresh,101.250,311.250,
        channel 3,"rank 0, all banks",ACTAB,stream,311.250,330.000,row=7
        channel 3,"rank 0, all banks",PREA,refresh,353.750,375.000,
        channel 3,"rank 0, all banks",REFab,refresh,375.000,585.000,
        channel 3,"rank 0, all banks",REFab,refresh,585.000,795.000,
        channel 3,"rank 0, PIM units",REGWR,stream,795.000,800.000,
        channel 3,"rank 0, all banks",REFab,refresh,800.000,1010.000,
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
