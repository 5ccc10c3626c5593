//! Do address maps lose nothing, and refuse what is not there?

use memscape_dram::{AddressMap, Dims, Field, MEMORIES, Place};
use proptest::prelude::*;

proptest! {
    #[test]
    fn an_address_map_loses_nothing(
        seed in any::<u64>(),
        order in Just(Field::ALL).prop_shuffle(),
        device in 0_usize..4,
    ) {
        let dram = MEMORIES.all()[device].parameters;
        let map = AddressMap::new(&dram, order);
        let bursts = dram.capacity().0 / u64::from(dram.column_bytes());
        let place = map.decode(seed % bursts).unwrap();
        prop_assert!(Dims::of(&dram).contains(&place));
        prop_assert_eq!(map.encode(&place), Some(seed % bursts));
        let parts: u64 = Field::ALL.iter().map(|it| map.part(*it, place.get(*it))).sum();
        prop_assert_eq!(parts, seed % bursts);
        let channel = u32::try_from(place.channel).unwrap();
        prop_assert_eq!(Place::of(channel, place.address()), place);
    }
}

/// The byte addresses of `dramsim3` traces are these times the burst's bytes.
#[test]
fn what_is_not_there_has_no_number() {
    let dims = Dims { banks: 3, rows: 5, columns: 4, ..Dims::ONE };
    let map = AddressMap::of(dims, &[Field::Column, Field::Bank, Field::Row]).unwrap();
    assert_eq!(map.encode(&Place { bank: 2, row: 4, column: 3, ..Place::default() }), Some(59));
    assert_eq!(map.encode(&Place { bank: 3, ..Place::default() }), None);
    assert_eq!(map.encode(&Place { channel: 1, ..Place::default() }), None);
    assert_eq!(map.decode(60), None);
    let error = |order: &[Field]| AddressMap::of(dims, order).unwrap_err().to_string();
    assert!(error(&[Field::Column, Field::Bank]).ends_with("`row` is missing"));
    assert!(error(&[Field::Column, Field::Bank, Field::Row, Field::Bank]).ends_with("`bank` is there twice"));
    let empty = Dims { rows: 0, ..dims };
    assert!(AddressMap::of(empty, &Field::ALL).unwrap_err().to_string().contains("cannot be mapped"));
    assert_eq!(Dims { bank_groups: 4, ..dims }.ungrouped(), Dims { banks: 12, ..dims });
}
