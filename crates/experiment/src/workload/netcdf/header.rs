//! The header of a file of netCDF's classic format, written and read: CDF-2 (64-bit offsets) and
//! CDF-5 (64-bit data) of float arrays.
//!
//! By the grammar in "The NetCDF Classic Format Specification" (Unidata, netCDF documentation,
//! Appendix B; OGC 10-092r3) and "CDF-5 Format Specification" (Northwestern University and Argonne,
//! PnetCDF). All numbers are big-endian; names and values are padded to four bytes.

use super::FLOAT_BYTES;

const DIMENSIONS: u32 = 0x0A;
const VARIABLES: u32 = 0x0B;
const ATTRIBUTES: u32 = 0x0C;
const CHAR: u32 = 2;
const FLOAT: u32 = 5;
/// Bytes of a value of each external type, from 1 (byte) to 11 (unsigned 64-bit).
const TYPE_BYTES: [u64; 12] = [0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8];
/// CDF-2 counts the bytes of an array, or of one record of it, in 32 bits, less what rounding up to
/// four may add.
pub const NARROW_BYTES_MAX: u64 = u32::MAX as u64 - 3;
/// What the file calls itself.
const TITLE: &str = "made by brickyard as a load";

/// A dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// 0 is the record dimension: as long as the file has records.
    pub length: u64,
}

/// An array of floats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Places of its dimensions among those of the file; the last varies fastest.
    pub dimensions: Vec<usize>,
    /// Where it begins in the file, or where its first record does.
    pub begin: u64,
}

/// What stands before the arrays. Attributes are not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// CDF-5 instead of CDF-2.
    pub wide: bool,
    /// Records.
    pub records: u64,
    /// Dimensions.
    pub dimensions: Vec<Dimension>,
    /// Arrays.
    pub variables: Vec<Variable>,
}

impl Header {
    /// Whether an array has the record dimension, which is its first.
    pub fn has_records(&self, variable: &Variable) -> bool {
        variable.dimensions.first().is_some_and(|first| self.dimensions[*first].length == 0)
    }

    /// Bytes of an array, or of one record of it.
    pub fn piece_bytes(&self, variable: &Variable) -> u64 {
        let lengths = variable.dimensions.iter().map(|at| self.dimensions[*at].length);
        lengths.filter(|length| *length > 0).fold(FLOAT_BYTES, u64::saturating_mul)
    }

    /// Bytes of one record of all arrays that have records.
    pub fn record_bytes(&self) -> u64 {
        let with_records = self.variables.iter().filter(|variable| self.has_records(variable));
        with_records.fold(0, |sum, variable| sum.saturating_add(self.piece_bytes(variable)))
    }

    /// Pieces of an array: records, or 1.
    pub fn pieces(&self, variable: &Variable) -> u64 {
        if self.has_records(variable) { self.records } else { 1 }
    }

    /// The same with its arrays one behind the other: those without records, then the first record
    /// of the others.
    #[must_use]
    pub fn laid_out(mut self) -> Header {
        let mut at = self.encode().len() as u64;
        for records in [false, true] {
            for number in 0..self.variables.len() {
                if self.has_records(&self.variables[number]) == records {
                    self.variables[number].begin = at;
                    at = at.saturating_add(self.piece_bytes(&self.variables[number]));
                }
            }
        }
        self
    }

    /// What ncecat makes of `files` such files: each is one record, in a new record dimension that
    /// comes before all others.
    ///
    /// # Errors
    /// For what ncecat would not join so.
    pub fn joined(&self, files: u64) -> Result<Header, String> {
        const RECORD: &str = "record";
        if self.dimensions.iter().any(|dimension| dimension.name == RECORD) {
            return Err(format!("there is a dimension `{RECORD}` already"));
        }
        if self.records == 0 && self.dimensions.iter().any(|dimension| dimension.length == 0) {
            return Err("there is no record in it".to_owned());
        }
        let coordinate = |variable: &&Variable| {
            self.dimensions.iter().any(|dimension| dimension.name == variable.name)
        };
        if let Some(variable) = self.variables.iter().find(coordinate) {
            return Err(format!("`{}` is a coordinate, which is not joined", variable.name));
        }
        let mut dimensions = vec![Dimension { name: RECORD.to_owned(), length: 0 }];
        dimensions.extend(self.dimensions.iter().map(|old| match old.length {
            0 => Dimension { length: self.records, ..old.clone() },
            _ => old.clone(),
        }));
        let variables = self.variables.iter().map(|old| {
            let behind = old.dimensions.iter().map(|at| at + 1);
            Variable { dimensions: std::iter::once(0).chain(behind).collect(), ..old.clone() }
        });
        let variables = variables.collect();
        let joined = Header { wide: self.wide, records: files, dimensions, variables };
        let over = |variable: &&Variable| joined.piece_bytes(variable) > NARROW_BYTES_MAX;
        if let Some(variable) = joined.variables.iter().filter(|_| !joined.wide).find(over) {
            return Err(format!("`{}` has more than 4 GiB, which needs CDF-5", variable.name));
        }
        Ok(joined.laid_out())
    }

    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer { bytes: Vec::new(), wide: self.wide };
        to.bytes.extend([b'C', b'D', b'F', if self.wide { 5 } else { 2 }]);
        to.count(self.records);
        to.list(DIMENSIONS, self.dimensions.len());
        for dimension in &self.dimensions {
            to.name(&dimension.name);
            to.count(dimension.length);
        }
        to.list(ATTRIBUTES, 1);
        to.name("title");
        to.bytes.extend(CHAR.to_be_bytes());
        to.name(TITLE);
        to.list(VARIABLES, self.variables.len());
        for variable in &self.variables {
            to.name(&variable.name);
            to.count(variable.dimensions.len() as u64);
            for dimension in &variable.dimensions {
                to.count(*dimension as u64);
            }
            to.list(0, 0);
            to.bytes.extend(FLOAT.to_be_bytes());
            to.count(self.piece_bytes(variable));
            to.bytes.extend(variable.begin.to_be_bytes());
        }
        to.bytes
    }

    /// Reads the beginning of a file.
    ///
    /// # Errors
    /// When it was cut short, is no such file, or has what is not known here.
    pub fn parse(bytes: &[u8]) -> Result<Header, String> {
        let mut from = Reader { rest: bytes, wide: false };
        let magic = from.take(4)?;
        from.wide = match magic {
            b"CDF\x02" => false,
            b"CDF\x05" => true,
            _ => return Err("it is no netCDF file of the formats CDF-2 and CDF-5".to_owned()),
        };
        let records = from.count()?;
        if records == if from.wide { u64::MAX } else { u64::from(u32::MAX) } {
            return Err("its records are not counted".to_owned());
        }
        let mut dimensions = Vec::new();
        for _ in 0..from.list(DIMENSIONS)? {
            dimensions.push(Dimension { name: from.name()?, length: from.count()? });
        }
        if dimensions.iter().filter(|dimension| dimension.length == 0).count() > 1 {
            return Err("it has two record dimensions".to_owned());
        }
        from.attributes()?;
        let mut variables = Vec::new();
        for _ in 0..from.list(VARIABLES)? {
            variables.push(from.variable(&dimensions)?);
        }
        Ok(Header { wide: from.wide, records, dimensions, variables })
    }
}

struct Writer {
    bytes: Vec<u8>,
    wide: bool,
}

impl Writer {
    /// A number that CDF-5 has in 64 bits; CDF-2 has its largest for all that are larger.
    fn count(&mut self, number: u64) {
        match self.wide {
            true => self.bytes.extend(number.to_be_bytes()),
            false => {
                let narrow = u32::try_from(number).unwrap_or(u32::MAX);
                self.bytes.extend(narrow.to_be_bytes());
            }
        }
    }

    fn list(&mut self, tag: u32, entries: usize) {
        self.bytes.extend(tag.to_be_bytes());
        self.count(entries as u64);
    }

    fn name(&mut self, name: &str) {
        self.count(name.len() as u64);
        self.bytes.extend(name.as_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    wide: bool,
}

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: u64) -> Result<&'a [u8], String> {
        let short = || "its header is cut short".to_owned();
        let bytes = usize::try_from(bytes).map_err(|_| short())?;
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or_else(short)?;
        self.rest = rest;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u32, String> {
        Ok(self.take(4)?.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
    }

    fn long(&mut self) -> Result<u64, String> {
        Ok(self.take(8)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    fn count(&mut self) -> Result<u64, String> {
        if self.wide { self.long() } else { self.word().map(u64::from) }
    }

    /// How many entries a list has; one that is not there begins with a zero.
    fn list(&mut self, tag: u32) -> Result<u64, String> {
        let (found, entries) = (self.word()?, self.count()?);
        match found == tag || (found == 0 && entries == 0) {
            true => Ok(entries),
            false => Err(format!("its header has a list {found} where {tag} is due")),
        }
    }

    /// What is padded to four bytes.
    fn padded(&mut self, bytes: u64) -> Result<&'a [u8], String> {
        let with = bytes.checked_next_multiple_of(4).ok_or("its header is cut short")?;
        let taken = self.take(with)?;
        Ok(&taken[..bytes as usize])
    }

    fn name(&mut self) -> Result<String, String> {
        let bytes = self.count()?;
        let name = self.padded(bytes)?;
        String::from_utf8(name.to_vec()).map_err(|_| "a name in it is not UTF-8".to_owned())
    }

    fn attributes(&mut self) -> Result<(), String> {
        for _ in 0..self.list(ATTRIBUTES)? {
            self.name()?;
            let kind = self.word()?;
            let each = TYPE_BYTES.get(kind as usize).filter(|bytes| **bytes > 0);
            let each = each.ok_or_else(|| format!("an attribute in it has a type {kind}"))?;
            let values = self.count()?;
            self.padded(values.checked_mul(*each).ok_or("its header is cut short")?)?;
        }
        Ok(())
    }

    fn variable(&mut self, dimensions: &[Dimension]) -> Result<Variable, String> {
        let name = self.name()?;
        let mut places = Vec::new();
        for nth in 0..self.count()? {
            let place = usize::try_from(self.count()?).ok();
            let place = place.filter(|place| dimensions.get(*place).is_some());
            let place =
                place.ok_or_else(|| format!("`{name}` has a dimension that there is not"))?;
            if nth > 0 && dimensions[place].length == 0 {
                return Err(format!("the record dimension of `{name}` is not its first"));
            }
            places.push(place);
        }
        self.attributes()?;
        let kind = self.word()?;
        if kind != FLOAT {
            return Err(format!("`{name}` is of type {kind}; only floats are known here"));
        }
        self.count()?;
        Ok(Variable { name, dimensions: places, begin: self.long()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::netcdf::NetcdfShape;

    fn shape() -> NetcdfShape {
        NetcdfShape { variables: 2, records: 3, rows: 2 }
    }

    /// The whole header of a small file, byte for byte by the grammar of the specification.
    #[test]
    fn a_header_is_what_the_specification_says() {
        let header = Header {
            wide: false,
            records: 3,
            dimensions: vec![
                Dimension { name: "time".to_owned(), length: 0 },
                Dimension { name: "x".to_owned(), length: 5 },
            ],
            variables: vec![Variable { name: "v".to_owned(), dimensions: vec![0, 1], begin: 0 }],
        };
        let mut due = b"CDF\x02\0\0\0\x03".to_vec();
        due.extend(b"\0\0\0\x0A\0\0\0\x02");
        due.extend(b"\0\0\0\x04time\0\0\0\0");
        due.extend(b"\0\0\0\x01x\0\0\0\0\0\0\x05");
        due.extend(b"\0\0\0\x0C\0\0\0\x01\0\0\0\x05title\0\0\0\0\0\0\x02\0\0\0\x1B");
        due.extend(b"made by brickyard as a load\0");
        due.extend(b"\0\0\0\x0B\0\0\0\x01\0\0\0\x01v\0\0\0");
        due.extend(b"\0\0\0\x02\0\0\0\0\0\0\0\x01");
        due.extend(b"\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0\x14");
        let end = due.len() as u64 + 8;
        due.extend(end.to_be_bytes());
        assert_eq!(header.laid_out().encode(), due);
    }

    #[test]
    fn records_lie_interleaved_and_those_of_joined_files_in_one_piece_each() {
        let header = shape().header();
        let slice = shape().slice_bytes();
        let begins: Vec<u64> = header.variables.iter().map(|variable| variable.begin).collect();
        assert_eq!(begins[1] - begins[0], slice);
        assert_eq!((header.record_bytes(), header.pieces(&header.variables[0])), (2 * slice, 3));
        assert_eq!(begins[0], header.encode().len() as u64);
        let joined = header.joined(4).unwrap();
        let lengths: Vec<u64> = joined.dimensions.iter().map(|it| it.length).collect();
        assert_eq!((joined.records, lengths), (4, vec![0, 3, 2, 512]));
        assert_eq!(joined.variables[0].dimensions, [0, 1, 2, 3]);
        assert_eq!(joined.piece_bytes(&joined.variables[1]), 3 * slice);
        assert_eq!(joined.variables[1].begin - joined.variables[0].begin, 3 * slice);
        assert!(joined.joined(2).unwrap_err().contains("`record`"));
    }

    #[test]
    fn what_cannot_be_joined_is_refused_by_name() {
        let mut header = shape().header();
        header.variables[1].name = "time".to_owned();
        assert!(header.joined(2).unwrap_err().contains("`time` is a coordinate"));
        let empty = Header { records: 0, ..shape().header() };
        assert!(empty.joined(2).unwrap_err().contains("no record"));
        let mut large = NetcdfShape::within_bytes(9 << 30, 2).header();
        assert!(large.joined(2).is_ok());
        large.wide = false;
        assert!(large.joined(2).unwrap_err().contains("CDF-5"));
    }

    #[test]
    fn what_is_written_is_read_again_in_both_formats_and_no_cut_of_it_is() {
        for wide in [false, true] {
            let header = Header { wide, ..shape().header() }.laid_out();
            let mut bytes = header.encode();
            assert_eq!(Header::parse(&bytes), Ok(header.clone()));
            for end in 0..bytes.len() {
                let why = Header::parse(&bytes[..end]).unwrap_err();
                assert!(why.contains("cut short"), "{end}: {why}");
            }
            bytes.extend([7; 100]);
            assert_eq!(Header::parse(&bytes), Ok(header), "what follows is data");
        }
    }

    #[test]
    fn no_broken_byte_panics() {
        let bytes = shape().header().joined(3).unwrap().encode();
        for at in 0..bytes.len() {
            for to in [0, 1, 0x0A, 0x7F, 0xFF] {
                let mut broken = bytes.clone();
                broken[at] = to;
                if let Ok(header) = Header::parse(&broken) {
                    let _ = (header.record_bytes(), header.joined(2));
                    let _ = header.laid_out();
                }
            }
        }
    }

    #[test]
    fn other_formats_and_types_are_refused() {
        let bytes = shape().header().encode();
        let with = |at: usize, to: u8| {
            let mut broken = bytes.clone();
            broken[at] = to;
            Header::parse(&broken).unwrap_err()
        };
        assert!(with(3, 1).contains("CDF-2"));
        assert!(with(11, 0x0B).contains("a list"));
        let kind = bytes.len() - 13;
        assert_eq!(bytes[kind], FLOAT as u8);
        assert!(with(kind, 6).contains("only floats"));
        let mut uncounted = bytes.clone();
        uncounted[4..8].fill(0xFF);
        assert!(Header::parse(&uncounted).unwrap_err().contains("not counted"));
    }
}
