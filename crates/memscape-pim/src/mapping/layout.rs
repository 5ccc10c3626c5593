//! Where each weight lies: matrix element, bank word, virtual address, and back.

use super::plan::Plan;

/// A weight's place in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// Bank over all channels; a channel's banks are neighbours, and so are the
    /// channels of one split-K part.
    pub bank: u64,
    /// DRAM row.
    pub row: u64,
    /// Column access within the row.
    pub column: u64,
    /// SIMD lane within the column access.
    pub lane: u64,
}

impl Plan {
    /// Where the element of matrix row `i` and column `j` lies.
    ///
    /// # Panics
    /// If the matrix has no such element.
    #[must_use]
    pub fn place(&self, i: u64, j: u64) -> Place {
        assert!(i < self.gemv.m() && j < self.gemv.k(), "element ({i}, {j}) is outside the matrix");
        self.place_unbounded(i, j)
    }

    /// As [`Plan::place`], also for the padding rows of the last row-blocks.
    pub(crate) fn place_unbounded(&self, i: u64, j: u64) -> Place {
        let (part, j) = (j / self.part_k(), j % self.part_k());
        let (chunk, j) = (j / self.k(), j % self.k());
        let (bank, row_block, i) = self.bank_of_row(i);
        let bank = part * self.banks + bank;
        if self.is_column_major() {
            let word = self.column_major_word(row_block, j) + i / self.lanes;
            let (row, column) = (word / self.row_words, word % self.row_words);
            return Place { bank, row, column, lane: i % self.lanes };
        }
        let (pass, row_block) = (row_block / self.cr_degree, row_block % self.cr_degree);
        let (burst, j) = (j / self.burst_inputs, j % self.burst_inputs);

        let before_pass = (chunk * self.row_blocks + pass * self.cr_degree) * self.row_block_words();
        let before_burst = burst * self.pass_row_blocks(pass) * self.words(self.burst_inputs);
        let before_visit = row_block * self.words(self.inputs_of_burst(burst));
        let (word, lane) = if self.tile.m >= self.lanes {
            (j * (self.tile.m / self.lanes) + i / self.lanes, i % self.lanes)
        } else {
            let columns = self.lanes / self.tile.m;
            (j / columns, j % columns * self.tile.m + i)
        };
        let word = before_pass + before_burst + before_visit + word;
        Place { bank, row: word / self.row_words, column: word % self.row_words, lane }
    }

    /// The bank of a split-K part that has a matrix row, its row-block there, and
    /// the row within that.
    fn bank_of_row(&self, i: u64) -> (u64, u64, u64) {
        let (unit, i) = (i / self.dealt_rows, i % self.dealt_rows);
        let row_block = unit / self.banks * self.row_blocks_of_unit() + i / self.tile.m;
        (unit % self.banks, row_block, i % self.tile.m)
    }

    /// The inverse of [`Plan::bank_of_row`].
    pub(crate) fn row_of_bank(&self, bank: u64, row_block: u64, i: u64) -> u64 {
        let unit = row_block / self.row_blocks_of_unit() * self.banks + bank;
        unit * self.dealt_rows + row_block % self.row_blocks_of_unit() * self.tile.m + i
    }

    /// The first word of a row-block's share of a matrix column, where weights lie
    /// column by column.
    pub(crate) fn column_major_word(&self, row_block: u64, j: u64) -> u64 {
        let (unit, part) = (row_block / self.row_blocks_of_unit(), row_block % self.row_blocks_of_unit());
        j * self.column_words() + (unit * self.dealt_rows + part * self.tile.m) / self.lanes
    }

    /// The matrix element at a place; `None` where padding or no weight lies.
    #[must_use]
    pub fn element_at(&self, place: Place) -> Option<(u64, u64)> {
        let Place { bank, row, column, lane } = place;
        let word = row * self.row_words + column;
        let in_range = bank < self.banks * self.split_k && column < self.row_words && lane < self.lanes;
        if !in_range {
            return None;
        }
        if self.is_column_major() {
            let (j, row) = (word / self.column_words(), word % self.column_words() * self.lanes + lane);
            let row_block = row / self.tile.m;
            let i = self.row_of_bank(bank % self.banks, row_block, row % self.tile.m);
            return (i < self.gemv.m() && j < self.k()).then_some((i, bank / self.banks * self.part_k() + j));
        }
        let chunk_words = self.row_blocks * self.row_block_words();
        let (chunk, word) = (word / chunk_words, word % chunk_words);
        let pass_words = self.cr_degree * self.row_block_words();
        let (pass, word) = (word / pass_words, word % pass_words);
        let burst_words = self.pass_row_blocks(pass) * self.words(self.burst_inputs);
        let (burst, word) = (word / burst_words, word % burst_words);
        let visit_words = self.words(self.inputs_of_burst(burst));
        let (row_block, word) = (word / visit_words, word % visit_words);
        let (i, j) = if self.tile.m >= self.lanes {
            let words = self.tile.m / self.lanes;
            (word % words * self.lanes + lane, word / words)
        } else {
            (lane % self.tile.m, word * (self.lanes / self.tile.m) + lane / self.tile.m)
        };
        let j = burst * self.burst_inputs + j;
        let i = self.row_of_bank(bank % self.banks, pass * self.cr_degree + row_block, i);
        let first = bank / self.banks * self.part_k() + chunk * self.k();
        (i < self.gemv.m() && j < self.k() && chunk < self.chunks).then_some((i, first + j))
    }
}

impl Plan {
    /// The first bit of an element's code in the rearranged buffer: where software
    /// puts it in virtual addresses, so that the controller's interleaving brings
    /// it to [`Plan::place`].
    ///
    /// # Panics
    /// If the matrix has no such element.
    #[must_use]
    pub fn buffer_bit(&self, i: u64, j: u64, map: &Interleaving) -> u64 {
        let place = self.place(i, j);
        let bits = self.format.element_bits();
        let bit = (place.column * self.lanes + place.lane) * bits;
        map.address(BankByte { bank: place.bank, row: place.row, byte: bit / 8 }) * 8 + bit % 8
    }

    /// The element whose code starts at this bit of the rearranged buffer; `None`
    /// for padding and scale factors.
    #[must_use]
    pub fn element_at_bit(&self, bit: u64, map: &Interleaving) -> Option<(u64, u64)> {
        let place = map.place(bit / 8);
        let in_row = place.byte * 8 + bit % 8;
        let bits = self.format.element_bits();
        if !in_row.is_multiple_of(bits) {
            return None;
        }
        let element = in_row / bits;
        let (column, lane) = (element / self.lanes, element % self.lanes);
        self.element_at(Place { bank: place.bank, row: place.row, column, lane })
    }
}

/// How the memory controller spreads addresses: interleaving units take turns
/// over all banks, within a page that covers a row of each.
///
/// # Source
/// PIMnast, section V-A1 and figure 7: the rearranged matrix lies in virtual
/// addresses, and pages large enough carry its order into the banks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interleaving {
    /// Bytes of one interleaving unit.
    pub unit_bytes: u64,
    /// Banks of all channels.
    pub banks: u64,
    /// Bytes of one row.
    pub row_bytes: u64,
}

/// A byte's place in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BankByte {
    /// Bank over all channels.
    pub bank: u64,
    /// DRAM row.
    pub row: u64,
    /// Byte within the row.
    pub byte: u64,
}

impl Interleaving {
    /// Where the byte of a virtual address lies.
    #[must_use]
    pub fn place(&self, address: u64) -> BankByte {
        let (unit, byte) = (address / self.unit_bytes, address % self.unit_bytes);
        let in_bank = unit / self.banks * self.unit_bytes + byte;
        BankByte { bank: unit % self.banks, row: in_bank / self.row_bytes, byte: in_bank % self.row_bytes }
    }

    /// The virtual address of a byte: the inverse of [`Interleaving::place`].
    #[must_use]
    pub fn address(&self, place: BankByte) -> u64 {
        let in_bank = place.row * self.row_bytes + place.byte;
        (in_bank / self.unit_bytes * self.banks + place.bank) * self.unit_bytes + in_bank % self.unit_bytes
    }
}
