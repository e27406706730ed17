//! Memory modules as SMBIOS describes them (types 16 and 17; DSP0134, 7.17 and 7.18), and the
//! channel that the names of their places tell.

use crate::inventory::server::smbios::{self, Structure};
use facts::inventory::server::Module;

/// Sockets of the system's memory in the order of the table, empty ones too. `vendor` is the maker
/// of the system: what a letter in a place means depends on it.
pub fn modules(table: &[u8], vendor: &str) -> Vec<Module> {
    const ARRAY: u8 = 16;
    const DEVICE: u8 = 17;
    let structures = smbios::structures(table);
    // Arrays that are something else than the system's memory: video, flash, cache.
    let foreign = |array: &Structure<'_>| array.kind == ARRAY && array.byte(0x05) != Some(3);
    let others: Vec<u16> =
        structures.iter().filter(|one| foreign(one)).map(|one| one.handle).collect();
    let devices = structures.iter().filter(|one| one.kind == DEVICE);
    let own = devices.filter(|one| one.word(0x04).is_none_or(|array| !others.contains(&array)));
    let mut modules: Vec<Module> = own.map(module).collect();
    for module in &mut modules {
        module.channel = channel(&module.place, module.bank.as_deref().unwrap_or(""), vendor);
    }
    modules
}

/// A memory module as somebody else has decoded it.
#[derive(Clone, Debug, Default)]
pub struct DecodedModule {
    /// The handle of its array.
    pub array: u16,
    /// Size; `None` of an empty socket.
    pub bytes: Option<u64>,
    /// Width of its data path.
    pub bits: Option<u64>,
    /// `DDR4`.
    pub kind: String,
    /// What it could do, MT/s.
    pub speed: Option<u64>,
    /// What it is set to, MT/s.
    pub configured: Option<u64>,
    /// What is printed on the board.
    pub place: String,
    /// Its bank.
    pub bank: String,
    /// Its maker.
    pub maker: String,
    /// Its part number.
    pub part: String,
}

/// Adds the structure that decodes to it. What does not fit into its field is left out.
pub fn made(table: &mut Vec<u8>, handle: u16, module: &DecodedModule) {
    let short = |number: Option<u64>| number.and_then(|it| u16::try_from(it).ok()).unwrap_or(0);
    let mib = module.bytes.map(|bytes| bytes >> 20);
    let kib = module.bytes.map(|bytes| bytes >> 10).filter(|kib| *kib < 0x8000);
    let (size, more) = match (mib, kib) {
        (Some(mib @ 1..0x7FFF), _) => (mib as u16, 0),
        (Some(mib @ 0x7FFF..), _) => (0x7FFF, u32::try_from(mib).unwrap_or(0)),
        (_, Some(kib)) => (0x8000 | kib as u16, 0),
        _ => (0, 0),
    };
    let code = (0..=u8::MAX).find(|code| kind(*code) == Some(module.kind.as_str()));
    let mut fields = Vec::new();
    for word in [module.array, 0xFFFE, short(module.bits), short(module.bits), size] {
        fields.extend(word.to_le_bytes());
    }
    fields.extend([9, 0, 1, 2, code.unwrap_or(2), 0, 0]);
    fields.extend(short(module.speed).to_le_bytes());
    fields.extend([3, 0, 0, 4, 0]);
    fields.extend(more.to_le_bytes());
    fields.extend(short(module.configured).to_le_bytes());
    let strings = [&module.place, &module.bank, &module.maker, &module.part];
    let strings = strings.map(|text| if text.is_empty() { "Unknown" } else { text.as_str() });
    smbios::put(table, 17, handle, &fields, &strings);
}

fn module(structure: &Structure<'_>) -> Module {
    let size_bytes = size(structure);
    let speed = |short: usize, long: usize| match structure.word(short)? {
        0 => None,
        // Too fast for 16 bits: it stands further on.
        u16::MAX => structure.double(long).map(|speed| u64::from(speed & 0x7FFF_FFFF)),
        speed => Some(u64::from(speed)),
    };
    let bits = structure.word(0x0A).filter(|bits| ![0, u16::MAX].contains(bits));
    let maker = structure.string(0x17).into_iter();
    let part: Vec<String> = maker.chain(structure.string(0x1A)).collect();
    let held = size_bytes.is_some();
    Module {
        place: structure.string(0x10).unwrap_or_default(),
        bank: structure.string(0x11),
        channel: None,
        size_bytes,
        kind: structure.byte(0x12).and_then(kind).map(str::to_owned),
        speed_mt_per_s: speed(0x15, 0x54).filter(|_| held),
        configured_mt_per_s: speed(0x20, 0x58).filter(|_| held),
        data_bits: bits.map(u64::from).filter(|_| held),
        part: (held && !part.is_empty()).then(|| part.join(" ")),
    }
}

/// MiB, or KiB where the highest bit is set; 0 is an empty socket, 0xFFFF unknown, and 0x7FFF says
/// that it stands further on, in MiB.
fn size(structure: &Structure<'_>) -> Option<u64> {
    match structure.word(0x0C)? {
        0 | u16::MAX => None,
        0x7FFF => Some(u64::from(structure.double(0x1C)? & 0x7FFF_FFFF) << 20),
        kib if kib & 0x8000 != 0 => Some(u64::from(kib & 0x7FFF) << 10),
        mib => Some(u64::from(mib) << 20),
    }
    .filter(|bytes| *bytes > 0)
}

/// Table 78 of DSP0134.
fn kind(number: u8) -> Option<&'static str> {
    Some(match number {
        0x03 => "DRAM",
        0x08..=0x0C => "ROM",
        0x0F => "SDRAM",
        0x11 => "RDRAM",
        0x12 => "DDR",
        0x13 => "DDR2",
        0x14 => "DDR2 FB-DIMM",
        0x18 => "DDR3",
        0x19 => "FBD2",
        0x1A => "DDR4",
        0x1B => "LPDDR",
        0x1C => "LPDDR2",
        0x1D => "LPDDR3",
        0x1E => "LPDDR4",
        0x1F => "non-volatile",
        0x20 => "HBM",
        0x21 => "HBM2",
        0x22 => "DDR5",
        0x23 => "LPDDR5",
        0x24 => "HBM3",
        _ => return None,
    })
}

/// The channel that the names tell. Three patterns are known: the word itself
/// (`P0_Node0_Channel1_Dimm0`, `P0 CHANNEL A`, `Controller1-ChannelA-DIMM0`), `C0D1`, and a letter
/// before the module's number (`DIMM_A1`, `CPU1_DIMM_A1`, `P1-DIMMA1`). Dell's letters count
/// sockets: the manual of the PowerEdge T610 has A1 to A6 for the first processor, B1 to B6 for the
/// second; there a letter tells no channel. Anything else, such as `PROC 1 DIMM 3`, tells none.
fn channel(place: &str, bank: &str, vendor: &str) -> Option<String> {
    let (place, bank) = (place.to_uppercase(), bank.to_uppercase());
    if let Some(channel) = named(&place).or_else(|| code(&place)) {
        return Some(channel);
    }
    if let Some(channel) = named(&bank) {
        // `CPU1` may stand in the place alone.
        let whole = socket(&place).filter(|_| channel.starts_with("CHANNEL"));
        return Some(whole.into_iter().chain([channel.as_str()]).collect::<Vec<_>>().join(" "));
    }
    if vendor.to_uppercase().starts_with("DELL") {
        return None;
    }
    lettered(&place)
}

/// All up to and with the name behind the word `CHANNEL`.
fn named(text: &str) -> Option<String> {
    const WORD: &str = "CHANNEL";
    let after = text.find(WORD)? + WORD.len();
    let rest = &text[after..];
    let name = rest.trim_start_matches(['_', '-', ' ', '#']);
    let length = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    // `ChannelA`, `Channel 12`; longer is a sentence.
    (1..=2).contains(&length).then(|| {
        let end = after + (rest.len() - name.len()) + length;
        text[..end].to_owned()
    })
}

/// `CPU0_C1D0`: channel 1, module 0.
fn code(text: &str) -> Option<String> {
    let end = text.strip_suffix(|c: char| c.is_ascii_digit())?.strip_suffix('D')?;
    let before = end.strip_suffix(|c: char| c.is_ascii_digit())?.strip_suffix('C')?;
    let apart = before.is_empty() || before.ends_with(['_', '-', ' ']);
    apart.then(|| end.to_owned())
}

/// `CPU1_DIMM_A1`, `P1-DIMMA1`: a letter up to P and one digit after `DIMM`.
fn lettered(text: &str) -> Option<String> {
    const WORD: &str = "DIMM";
    let after = text.find(WORD)? + WORD.len();
    let name = text[after..].trim_start_matches(['_', '-', ' ']);
    let [letter @ b'A'..=b'P', b'0'..=b'9'] = name.as_bytes() else { return None };
    Some(format!("{}{}", &text[..after], char::from(*letter)))
}

/// `CPU1` or `P1` at the beginning.
fn socket(text: &str) -> Option<&str> {
    let digits = text.strip_prefix("CPU").or_else(|| text.strip_prefix('P'))?;
    let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    (length > 0).then(|| &text[..text.len() - digits.len() + length])
}

#[cfg(test)]
pub mod tests {
    use super::super::super::smbios::testing::Table;
    use super::*;

    pub const AT0: &[&str] =
        &["P1-DIMMA1", "P0_Node0_Channel0_Dimm0", "Maker", "123", "Tag", "P-1"];
    pub const AT1: &[&str] =
        &["P1-DIMMB1", "P0_Node0_Channel1_Dimm0", "Maker", "124", "Tag", "P-1"];
    pub const AT2: &[&str] = &["P1-DIMMC1", "P0_Node0_Channel2_Dimm0", "NO DIMM", "NO DIMM"];

    /// The fields of a type 17 of version 2.7 after its header.
    pub fn fields(array: u16, size: u16, speed: u16, configured: u16) -> Vec<u8> {
        let mut fields = Vec::new();
        for word in [array, 0xFFFE, 72, 64, size] {
            fields.extend(word.to_le_bytes());
        }
        fields.extend([9, 0, 1, 2, 0x1A, 0x80, 0]);
        fields.extend(speed.to_le_bytes());
        fields.extend([3, 4, 5, 6, 2]);
        fields.extend(65_536u32.to_le_bytes());
        fields.extend(configured.to_le_bytes());
        fields
    }

    fn one(fields: &[u8]) -> Module {
        modules(&Table::default().add(17, 0x1100, fields, AT0).0, "")[0].clone()
    }

    #[test]
    fn a_module_is_read_and_a_longer_one_finds_its_size_further_on() {
        let module = one(&fields(0x1000, 16384, 2933, 2400));
        assert_eq!((module.place.as_str(), module.size_bytes), ("P1-DIMMA1", Some(16 << 30)));
        assert_eq!(module.channel.as_deref(), Some("P0_NODE0_CHANNEL0"));
        assert_eq!(
            (module.kind.as_deref(), module.part.as_deref()),
            (Some("DDR4"), Some("Maker P-1"))
        );
        assert_eq!((module.speed_mt_per_s, module.configured_mt_per_s), (Some(2933), Some(2400)));
        assert_eq!(module.data_bits, Some(64));
        assert_eq!(one(&fields(0x1000, 0x7FFF, 1, 1)).size_bytes, Some(64 << 30));
        assert_eq!(one(&fields(0x1000, 0x8200, 1, 1)).size_bytes, Some(512 << 10));
        let empty = one(&fields(0x1000, 0, 1, 1));
        assert_eq!((empty.size_bytes, empty.speed_mt_per_s, empty.part), (None, None, None));
        // Faster than 16 bits can say, in a structure that is too short to say more.
        assert_eq!(one(&fields(0x1000, 1, u16::MAX, 0)).speed_mt_per_s, None);
    }

    #[test]
    fn flash_and_video_memory_are_no_modules_of_the_system() {
        let table = Table::default()
            .add(16, 0x1000, &[3, 3, 6], &[])
            .add(16, 0x1001, &[3, 5, 6], &[])
            .add(17, 0x1100, &fields(0x1000, 1024, 1, 1), AT0)
            .add(17, 0x1101, &fields(0x1001, 8, 1, 1), AT1);
        assert_eq!(modules(&table.0, "").len(), 1);
    }

    #[test]
    fn channels_are_told_by_known_patterns_alone() {
        let told = |place: &str, bank: &str| channel(place, bank, "LabCo");
        let is =
            |place, bank, expected: &str| assert_eq!(told(place, bank).as_deref(), Some(expected));
        is("DIMM 0", "P0 CHANNEL A", "P0 CHANNEL A");
        is("CPU1 DIMM 0", "CHANNEL A", "CPU1 CHANNEL A");
        is("DIMM_A1", "BANK 0", "DIMMA");
        is("CPU1_DIMM_H2", "", "CPU1_DIMMH");
        is("Controller1-ChannelA-DIMM0", "BANK 0", "CONTROLLER1-CHANNELA");
        is("CPU0_C1D0", "NODE 0", "CPU0_C1");
        is("_Node1_Channel2_Dimm0", "", "_NODE1_CHANNEL2");
        let strange = "DIMM_\u{130}1 CHANNEL";
        for place in ["", "A1", "PROC 1 DIMM 3", "DIMM 0", "DIMM_Z1", "DIMM_A12", strange, "ABCD1"]
        {
            assert_eq!(told(place, "Not known"), None, "{place}");
        }
        // A letter on a Dell is a socket.
        assert_eq!(channel("DIMM_A1", "", "Dell Inc."), None);
    }

    #[test]
    fn a_table_cut_at_every_byte_never_panics() {
        let table = Table::default().add(16, 0x1000, &[3, 3, 6], &[]).add(
            17,
            0x1100,
            &fields(0x1000, 16384, 2933, 2400),
            AT0,
        );
        for end in 0..table.0.len() {
            assert!(modules(&table.0[..end], "Dell").len() <= 1);
        }
        for at in 0..AT0[1].len() {
            channel(&AT0[1][..at], &AT0[1][at..], "");
        }
    }
}
