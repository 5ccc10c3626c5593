//! What a Parquet file says that it holds, held against its length before it is decoded.
//!
//! A decoder makes room for as many values, and as long lists, as a file says that it has. Where
//! there is no such room the process ends, with whatever it was doing; so a damaged file is found
//! here, where it is an error. Nothing is decoded: footer and page headers are read and skipped.

use std::io::{BufReader, Read, Seek, SeekFrom};

use polars_parquet_format::thrift::protocol::TCompactInputProtocol;
use polars_parquet_format::{ColumnMetaData, FileMetaData, PageHeader};

use crate::room::{gigabytes, lacking};

/// How a file ends.
const MAGIC: &[u8; 4] = b"PAR1";
/// The length of the footer, and the magic.
const END: u64 = 8;

/// What is read of a list's length is counted as so many bytes by element; in the file each has one.
const COUNTED_BYTES: usize = 16;

/// What a page may unpack to whatever its length, and for each of its bytes. Pages are written at
/// one megabyte, and one value repeated packs to a few bytes of that.
const MOST_PAGE_BYTES: u64 = 1 << 24;
const MOST_PAGE_BYTES_A_BYTE: u64 = 1000;

/// Page headers are short, and between them stands what is skipped.
const READ_AHEAD: usize = 512;

/// That a file can hold what it says, and that this fits in memory.
///
/// # Errors
/// Says what contradicts what.
pub(crate) fn check(file: &mut (impl Read + Seek)) -> Result<(), String> {
    let length = file.seek(SeekFrom::End(0)).map_err(|it| it.to_string())?;
    let about = footer(file, length)?;
    let mut rows = 0_u64;
    let mut pages = BufReader::with_capacity(READ_AHEAD, file);
    let mut columns = 0;
    for group in &about.row_groups {
        let height = whole(group.num_rows, "rows")?;
        rows = rows.saturating_add(height);
        columns = columns.max(group.columns.len());
        for column in &group.columns {
            let Some(column) = &column.meta_data else { continue };
            let name = column.path_in_schema.join(".");
            // A list in a row has as many values as it likes.
            let is_flat = column.path_in_schema.len() == 1;
            let values = whole(column.num_values, "values")?;
            if is_flat && values != height {
                return Err(format!("its column `{name}` has {values} values in a group of {height} rows"));
            }
            check_pages(&mut pages, column, values, length)
                .map_err(|it| format!("its column `{name}` {it}"))?;
        }
    }
    if whole(about.num_rows, "rows")? != rows {
        return Err(format!("it says that it has {} rows, and its groups have {rows}", about.num_rows));
    }
    match lacking(rows, columns) {
        Some((needed, free)) => Err(format!(
            "its {rows} rows and {columns} columns take about {} GB, and {} GB of memory are free; read it piece by \
             piece (`polars.scan_parquet` in Python)",
            gigabytes(needed),
            gigabytes(free)
        )),
        None => Ok(()),
    }
}

fn footer(file: &mut (impl Read + Seek), length: u64) -> Result<FileMetaData, String> {
    let none = || "it does not end as a Parquet file does".to_owned();
    let from = length.checked_sub(END).ok_or_else(none)?;
    let mut end = [0; 8];
    file.seek(SeekFrom::Start(from)).and_then(|_| file.read_exact(&mut end)).map_err(|it| it.to_string())?;
    let (size, magic) = end.split_at(4);
    if magic != MAGIC {
        return Err(none());
    }
    let size = u64::from(u32::from_le_bytes(size.try_into().expect("the first of two halves")));
    let from = from
        .checked_sub(size)
        .ok_or_else(|| format!("its footer of {size} bytes is longer than the file"))?;
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from)).map_err(|it| it.to_string())?;
    file.take(size).read_to_end(&mut bytes).map_err(|it| it.to_string())?;
    let mut fields = TCompactInputProtocol::new(&bytes[..], COUNTED_BYTES * bytes.len());
    FileMetaData::read_from_in_protocol(&mut fields).map_err(|it| format!("its footer is damaged: {it}"))
}

/// The pages of one column in one group of rows.
fn check_pages(
    file: &mut BufReader<impl Read + Seek>,
    column: &ColumnMetaData,
    values: u64,
    length: u64,
) -> Result<(), String> {
    let mut at = whole(column.dictionary_page_offset.unwrap_or(column.data_page_offset), "bytes before it")?;
    let end = at.saturating_add(whole(column.total_compressed_size, "bytes")?);
    if length < end {
        return Err(format!("ends at byte {end}, and the file at {length}"));
    }
    let mut seen = 0;
    while seen < values && at < end {
        file.seek(SeekFrom::Start(at)).map_err(|it| it.to_string())?;
        let left = usize::try_from(end - at).unwrap_or(usize::MAX);
        let mut fields = TCompactInputProtocol::new(&mut *file, left.saturating_mul(COUNTED_BYTES));
        let page = PageHeader::read_from_in_protocol(&mut fields)
            .map_err(|it| format!("has a damaged page at byte {at}: {it}"))?;
        let first = file.stream_position().map_err(|it| it.to_string())?;
        let packed = whole(page.compressed_page_size.into(), "bytes in a page")?;
        let unpacked = whole(page.uncompressed_page_size.into(), "bytes in a page")?;
        let most = MOST_PAGE_BYTES + MOST_PAGE_BYTES_A_BYTE * packed;
        if most < unpacked {
            return Err(format!(
                "has a page of {packed} bytes at byte {at} that unpacks to {unpacked}, above {most}"
            ));
        }
        if let Some(dictionary) = &page.dictionary_page_header {
            let entries = whole(dictionary.num_values.into(), "values in a dictionary")?;
            // Each has a byte at least.
            if unpacked < entries {
                return Err(format!("has a dictionary of {entries} values in {unpacked} bytes at byte {at}"));
            }
        }
        let of_1 = page.data_page_header.as_ref().map(|it| it.num_values);
        let of_2 = page.data_page_header_v2.as_ref().map(|it| it.num_values);
        for count in [of_1, of_2].into_iter().flatten() {
            seen += whole(count.into(), "values in a page")?;
        }
        if values < seen {
            return Err(format!("has {values} values, and {seen} in its pages up to byte {at}"));
        }
        at = first.saturating_add(packed);
    }
    Ok(())
}

/// A count, which a damaged file may say to be negative.
fn whole(count: i64, of: &str) -> Result<u64, String> {
    u64::try_from(count).map_err(|_| format!("says that there are {count} {of}"))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use polars_parquet_format::thrift::protocol::TCompactOutputProtocol;

    use super::*;
    use crate::table::{Column, Table};

    fn file() -> Vec<u8> {
        let numbers = (0..1000).map(|it| Some(f64::from(it % 7)));
        let texts = (0..1000).map(|it| (it % 3 > 0).then(|| format!("row {}", it % 5)));
        let columns =
            [("time_ns", Column::Float(numbers.collect())), ("name", Column::Text(texts.collect()))];
        let mut bytes = Vec::new();
        Table::from_columns(columns).unwrap().encode_parquet(&mut bytes, None).unwrap();
        bytes
    }

    /// What is said of a file whose footer says something else.
    fn refused(change: impl FnOnce(&mut FileMetaData)) -> String {
        let bytes = file();
        let mut about = footer(&mut Cursor::new(&bytes), bytes.len() as u64).unwrap();
        let size = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap());
        let mut changed = bytes[..bytes.len() - 8 - size as usize].to_vec();
        let before = changed.len();
        change(&mut about);
        about.write_to_out_protocol(&mut TCompactOutputProtocol::new(&mut changed)).unwrap();
        let size = u32::try_from(changed.len() - before).unwrap();
        changed.extend(size.to_le_bytes());
        changed.extend(MAGIC);
        let decoded = Table::decode_parquet(Cursor::new(&changed[..]), None);
        decoded.expect_err("it is no table")
    }

    #[test]
    fn what_is_whole_passes() {
        check(&mut Cursor::new(file())).unwrap();
        assert_eq!(Table::decode_parquet(Cursor::new(&file()[..]), None).unwrap().height(), 1000);
    }

    #[test]
    fn a_footer_that_contradicts_its_file_is_refused() {
        let many = 1 << 60;
        let column = |about: &mut FileMetaData, change: &dyn Fn(&mut ColumnMetaData)| {
            change(about.row_groups[0].columns[0].meta_data.as_mut().unwrap());
        };
        let said = refused(|it| column(it, &|it| it.num_values = many));
        assert!(said.contains("`time_ns` has 1152921504606846976 values in a group of 1000 rows"), "{said}");
        let said = refused(|it| it.row_groups[0].num_rows = -1);
        assert!(said.contains("says that there are -1 rows"), "{said}");
        let said = refused(|it| it.num_rows = many);
        assert!(said.contains("it has 1152921504606846976 rows, and its groups have 1000"), "{said}");
        let said = refused(|it| column(it, &|it| it.total_compressed_size = 1 << 40));
        assert!(said.contains("and the file at"), "{said}");
        let said = refused(|it| {
            for group in &mut it.row_groups {
                group.num_rows = 999;
                group.columns.iter_mut().for_each(|it| it.meta_data.as_mut().unwrap().num_values = 999);
            }
        });
        assert!(said.contains("has 999 values, and 1000 in its pages"), "{said}");
    }

    #[test]
    fn what_does_not_fit_in_memory_is_refused() {
        let said = refused(|it| {
            it.num_rows = 1 << 60;
            for group in &mut it.row_groups {
                group.num_rows = 1 << 60;
                group.columns.iter_mut().for_each(|it| it.meta_data.as_mut().unwrap().num_values = 1 << 60);
            }
        });
        assert!(said.contains("GB of memory are free") || !cfg!(target_os = "linux"), "{said}");
    }

    #[test]
    fn no_parquet_file_is_said_to_be_none() {
        for bytes in [&b""[..], b"PAR1", b"one,two\n1,2\n", b"\xff\xff\xff\xffPAR1"] {
            let said = check(&mut Cursor::new(bytes)).unwrap_err();
            assert!(said.starts_with("it"), "{said}");
        }
    }
}
