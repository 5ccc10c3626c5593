//! DRAM devices, command streams, their timing and their energy.
//!
//! A [`Dram`] is plain data; [`constraints`] and [`pim_constraints`] spell out
//! its timing rules, again as data; an [`Engine`] walks a stream of
//! [`Command`]s through them on an integer clock, one channel at a time and in
//! order. Whoever wants to see the commands passes a [`Sink`]: the writers in
//! [`export`] are sinks, and the [`CommandCounts`] that a [`Meter`] turns into
//! energy. An [`AddressMap`] says where physical addresses lie.
//!
//! ```
//! use memscape_dram::{Address, Engine, Kind, MEMORIES, constraints};
//! use memscape_units::Picoseconds;
//!
//! let dram = MEMORIES.find("ddr4-3200")?.parameters;
//! let mut engine = Engine::new(dram.geometry(), &constraints(&dram))?;
//! let at = Address { bank_group: 1, row: 7, ..Address::default() };
//! engine.issue(Kind::Act.at(at))?;
//! assert_eq!(engine.issue(Kind::Rd.at(at))?, Picoseconds(13_750)); // tRCD
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod address;
pub mod constraint;
pub mod device;
pub mod energy;
pub mod engine;
pub mod export;
pub mod figures;
pub mod pim;
pub mod stream;

pub use address::{AddressMap, Dims, Field, MapError, Place};
pub use constraint::{Constraint, Constraints, Kind, PimTiming, Scope, Window, constraints, pim_constraints};
pub use device::{
    Dram, DramError, Geometry, MEMORIES, MemoryError, UNUSED_BY_ALL_BANKS, UNUSED_BY_READS, Yielding,
};
pub use energy::{CommandCounts, Meter, PimWork};
pub use engine::{
    Address, Command, Engine, EngineError, Origin, ProtocolError, Ready, RefreshPolicy, RowState, Sink,
};
pub use figures::DramEnergy;
pub use pim::{OnlyRefreshing, PimDelays};
pub use stream::Pattern;
