//! What there is: the phone's memory and its address map, PIM blocks, CPU cores;
//! and other hosts.

mod bit_map;
mod blocks;
mod burst_map;
mod cpu;
mod host;
mod map_text;
mod phone;

pub use bit_map::{BitMap, BitMapError, CoordinateBit};
pub use blocks::PimBlocks;
pub use burst_map::BurstMap;
pub use cpu::{Cores, Cpu, CpuError, MAX_THREADS, Region};
pub use host::{HOSTS, Host};
pub use map_text::{MapText, MapTextError};
pub use memscape_dram::{Dims, Field, Place};
pub use phone::{CALIBRATION, PHONES, Phone};
