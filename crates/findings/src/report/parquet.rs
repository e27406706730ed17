//! (pure) The table of trials as Parquet: typed columns with nulls, for DuckDB, pandas and others.
//!
//! Source: Apache Parquet, "File Format" and "Logical Types" of parquet-format 2.11. Written column
//! by column from the records themselves, so that no second table of them stands in memory.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use super::columns::{self, ColumnType, ColumnValue, TrialColumn};
use super::nature::Nature;
use super::{Input, TrialView};
use experiment::measurement::Record;

/// Rows of one row group: what is in memory of a column while it is written.
const GROUP_ROWS: usize = 16_384;

/// A row a trial, in the columns of [`columns::trial_columns`]. What a trial does not have is
/// null. The file's metadata say whose it is, and the unit of each column.
///
/// # Errors
/// Never in practice: it is written to memory.
pub fn render(input: &Input<'_>) -> Result<Vec<u8>> {
    let columns = columns::trial_columns(input);
    let trials: Vec<(&Record, &TrialView)> = input.records.iter().zip(&input.trials).collect();
    let fields: Vec<TypePtr> =
        columns.iter().map(|column| field(column, &trials)).collect::<Result<_>>()?;
    let schema = Type::group_type_builder("trials").with_fields(fields).build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(metadata(input, &columns)))
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    for rows in trials.chunks(GROUP_ROWS) {
        let mut group = file.next_row_group()?;
        for column in &columns {
            let none = || ParquetError::General(format!("no column {} in the file", column.name));
            let mut writer = group.next_column()?.ok_or_else(none)?;
            write(&mut writer, column, rows)?;
            writer.close()?;
        }
        group.close()?;
    }
    file.into_inner()
}

/// Whether a file is such a table, of whatever version: its footer has our keys.
pub fn is_ours(start: &[u8], end: &[u8]) -> bool {
    let whole = start.starts_with(b"PAR1") && end.ends_with(b"PAR1");
    let has = |key: &[u8]| end.windows(key.len()).any(|bytes| bytes == key);
    // Their names stand one after the other, with a value between (parquet.thrift, KeyValue).
    whole && KEYS.iter().all(|key| has(key.as_bytes()))
}

/// Keys of the footer by which ours are known.
const KEYS: [&str; 3] = ["brickyard", "campaign", "started_unix_ns"];

fn field(column: &TrialColumn<'_>, trials: &[(&Record, &TrialView)]) -> Result<TypePtr> {
    let (physical, logical) = match column.kind {
        ColumnType::Integer => (Physical::INT64, unsigned(column, trials)),
        ColumnType::Number => (Physical::DOUBLE, None),
        ColumnType::Switch => (Physical::BOOLEAN, None),
        ColumnType::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let field = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    field.build().map(Arc::new)
}

/// Whole numbers are signed, which every reader knows and can subtract; a column that has one of
/// 2^63 or more is not.
fn unsigned(column: &TrialColumn<'_>, trials: &[(&Record, &TrialView)]) -> Option<LogicalType> {
    let mut cells = trials.iter().filter_map(|(record, view)| column.cell(record, view));
    let is_large = |n: u64| i64::try_from(n).is_err();
    cells
        .any(|cell| matches!(cell, ColumnValue::Integer(n) if is_large(n)))
        .then(|| LogicalType::integer(64, false))
}

fn write(
    to: &mut SerializedColumnWriter<'_>,
    column: &TrialColumn<'_>,
    rows: &[(&Record, &TrialView)],
) -> Result<()> {
    let cells = rows.iter().map(|(record, view)| column.cell(record, view));
    match column.kind {
        ColumnType::Integer => typed::<Int64Type>(to, cells, |cell| match cell {
            ColumnValue::Integer(number) => Some(number as i64),
            _ => None,
        }),
        ColumnType::Number => typed::<DoubleType>(to, cells, |cell| cell.number()),
        ColumnType::Switch => typed::<BoolType>(to, cells, |cell| match cell {
            ColumnValue::Switch(on) => Some(on),
            _ => None,
        }),
        ColumnType::Text => typed::<ByteArrayType>(to, cells, |cell| {
            Some(ByteArray::from(cell.to_string().into_bytes()))
        }),
    }
}

/// Values, and for each row whether it has one (the definition level).
fn typed<'a, T: DataType>(
    to: &mut SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = Option<ColumnValue<'a>>>,
    value: impl Fn(ColumnValue<'a>) -> Option<T::T>,
) -> Result<()> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        let found = cell.and_then(&value);
        levels.push(i16::from(found.is_some()));
        values.extend(found);
    }
    to.typed::<T>().write_batch(&values, Some(&levels), None).map(|_| ())
}

/// Whose trials they are; the keys are those of the JSON contract.
fn metadata(input: &Input<'_>, columns: &[TrialColumn<'_>]) -> Vec<KeyValue> {
    let campaign = input.campaign;
    let units = columns.iter().filter(|column| !column.unit.is_empty());
    let units: serde_json::Map<String, serde_json::Value> =
        units.map(|column| (column.name.clone(), column.unit.into())).collect();
    let pairs = [
        ("brickyard", campaign.version.clone()),
        ("campaign", campaign.id.to_string()),
        ("uid", campaign.uid.clone()),
        ("plan", campaign.plan.clone()),
        ("engine", campaign.engine.clone()),
        ("kind", Nature::of_campaign(campaign).name().to_owned()),
        ("host", campaign.host.clone()),
        ("seed", campaign.seed.to_string()),
        ("started_unix_ns", campaign.started_unix_ns.to_string()),
        ("units", serde_json::Value::from(units).to_string()),
    ];
    pairs.map(|(key, value)| KeyValue::new(key.to_owned(), value)).to_vec()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;
    use crate::report::fixture::{self, Fixture};
    use experiment::knob;

    fn read(bytes: Vec<u8>) -> SerializedFileReader<bytes::Bytes> {
        SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap()
    }

    /// As [`ColumnValue`] prints it, so that it can be held against a cell of CSV.
    fn printed(field: &Field) -> Option<String> {
        Some(match field {
            Field::Null => return None,
            Field::Bool(on) => on.to_string(),
            Field::Long(number) => number.to_string(),
            Field::ULong(number) => number.to_string(),
            Field::Double(number) => number.to_string(),
            Field::Str(text) => text.clone(),
            other => panic!("no column is of {other:?}"),
        })
    }

    /// Every value that CSV has is there, in a column of the same name, and nothing else is.
    fn is_as_csv(fixture: &Fixture) {
        let input = fixture.input();
        let file = read(render(&input).unwrap());
        assert_eq!(file.metadata().file_metadata().num_rows(), input.records.len() as i64);
        let columns = columns::trial_columns(&input);
        let mut rows = 0;
        for (row, place) in file.get_row_iter(None).unwrap().zip(0..) {
            let (record, view) = (&input.records[place], &input.trials[place]);
            let row = row.unwrap();
            assert_eq!(row.len(), columns.len());
            for ((name, field), column) in row.get_column_iter().zip(&columns) {
                assert_eq!(name, &column.name);
                let cell = column.cell(record, view).map(|cell| cell.to_string());
                assert_eq!(printed(field), cell, "{name} of row {place}");
            }
            rows += 1;
        }
        assert_eq!(rows, input.records.len());
    }

    #[test]
    fn every_value_comes_back_as_csv_has_it() {
        for fixture in [fixture::evaluated(), fixture::names(), fixture::campaign_of(vec![], 0)] {
            is_as_csv(&fixture);
        }
    }

    #[test]
    fn text_is_kept_whatever_it_is_and_numbers_however_large() {
        let mut fixture = fixture::evaluated();
        let texts = ["a,\"b\"\r\n=1", "\0\u{1b}[2J", "\u{202e}\u{fffd}", "", "'; DROP TABLE x;--"];
        for (record, text) in fixture.records.iter_mut().zip(texts.iter().cycle()) {
            record.trial.group = (*text).to_owned();
        }
        fixture.records[0].trial.settings.set(knob::STREAMS, u64::MAX);
        fixture.trials[1].set("x", base::stats::Estimate::bare(f64::NAN));
        fixture.trials[2].set("x", base::stats::Estimate::bare(5e-324));
        is_as_csv(&fixture);
    }

    #[test]
    fn the_file_says_whose_it_is_and_in_which_units() {
        let fixture = fixture::evaluated();
        let file = read(render(&fixture.input()).unwrap());
        let pairs = file.metadata().file_metadata().key_value_metadata().unwrap().clone();
        let find = |key: &str| pairs.iter().find(|pair| pair.key == key)?.value.clone();
        assert_eq!(find("host").as_deref(), Some("fileserver"));
        assert_eq!(find("seed").as_deref(), Some("42"));
        let units: serde_json::Value = serde_json::from_str(&find("units").unwrap()).unwrap();
        assert_eq!(units["block-size"], "bytes");
        assert_eq!(units["latency_ns_p50"], "ns");
        assert!(units.get("streams").is_none());
    }

    #[test]
    fn many_trials_are_several_groups_of_rows() {
        let (group, settings) = fixture::planned().remove(0);
        let cells = vec![(group, settings); 17_000];
        let fixture = fixture::campaign_of(experiment::plan::blocked(&cells, 1, 1), 0);
        let file = read(render(&fixture.input()).unwrap());
        let rows = file.metadata().row_groups().iter().map(|group| group.num_rows());
        assert_eq!(rows.collect::<Vec<_>>(), [16_384, 616]);
    }
}
