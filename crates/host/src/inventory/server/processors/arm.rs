//! Names of Arm processors, by implementer and part (MIDR_EL1).
//!
//! The numbers are those of the Arm Architecture Reference Manual and of the kernel's
//! arch/arm64/include/asm/cputype.h; servers and boards that serve files, not every telephone.

/// The maker's and the part's name, or the numbers where nobody told them here.
pub fn name(implementer: u32, part: u32) -> String {
    let maker = IMPLEMENTERS.iter().find(|(number, _)| *number == implementer);
    let named = PARTS.iter().find(|(maker, number, _)| (*maker, *number) == (implementer, part));
    match (maker, named) {
        (Some((_, maker)), Some((_, _, part))) => format!("{maker} {part}"),
        (Some((_, maker)), None) => format!("{maker} part 0x{part:03x}"),
        _ => format!("implementer 0x{implementer:02x} part 0x{part:03x}"),
    }
}

const IMPLEMENTERS: &[(u32, &str)] = &[
    (0x41, "Arm"),
    (0x42, "Broadcom"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4E, "NVIDIA"),
    (0x50, "APM"),
    (0x51, "Qualcomm"),
    (0x56, "Marvell"),
    (0x61, "Apple"),
    (0x6D, "Microsoft"),
    (0x70, "Phytium"),
    (0xC0, "Ampere"),
];

const PARTS: &[(u32, u32, &str)] = &[
    (0x41, 0xD03, "Cortex-A53"),
    (0x41, 0xD04, "Cortex-A35"),
    (0x41, 0xD05, "Cortex-A55"),
    (0x41, 0xD07, "Cortex-A57"),
    (0x41, 0xD08, "Cortex-A72"),
    (0x41, 0xD09, "Cortex-A73"),
    (0x41, 0xD0A, "Cortex-A75"),
    (0x41, 0xD0B, "Cortex-A76"),
    (0x41, 0xD0C, "Neoverse-N1"),
    (0x41, 0xD0D, "Cortex-A77"),
    (0x41, 0xD40, "Neoverse-V1"),
    (0x41, 0xD41, "Cortex-A78"),
    (0x41, 0xD44, "Cortex-X1"),
    (0x41, 0xD47, "Cortex-A710"),
    (0x41, 0xD49, "Neoverse-N2"),
    (0x41, 0xD4A, "Neoverse-E1"),
    (0x41, 0xD4F, "Neoverse-V2"),
    (0x41, 0xD83, "Neoverse-V3AE"),
    (0x41, 0xD84, "Neoverse-V3"),
    (0x41, 0xD8E, "Neoverse-N3"),
    (0x42, 0x516, "ThunderX2"),
    (0x43, 0x0A1, "ThunderX"),
    (0x43, 0x0AF, "ThunderX2"),
    (0x43, 0x0B8, "ThunderX3"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xD01, "Kunpeng-920"),
    (0x4E, 0x004, "Carmel"),
    (0x50, 0x000, "X-Gene"),
    (0x51, 0xC00, "Falkor"),
    (0x61, 0x022, "M1 Icestorm"),
    (0x61, 0x023, "M1 Firestorm"),
    (0x6D, 0xD49, "Azure Cobalt 100"),
    (0x70, 0x662, "FTC662"),
    (0x70, 0x663, "FTC663"),
    (0xC0, 0xAC3, "Ampere-1"),
    (0xC0, 0xAC4, "Ampere-1a"),
];
