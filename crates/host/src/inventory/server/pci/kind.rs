//! What a PCI function is, in words (PCI Code and ID Assignment Specification 1.15).

/// The words for a class of 24 bits: base class, subclass and programming interface.
pub fn class_words(class: u32) -> &'static str {
    match (class >> 16 & 0xff, class >> 8 & 0xff, class & 0xff) {
        (0x00, 0x01, _) => "VGA device",
        (0x01, 0x00, _) => "SCSI controller",
        (0x01, 0x01, _) => "IDE controller",
        (0x01, 0x04, _) => "RAID controller",
        (0x01, 0x05, _) => "ATA controller",
        (0x01, 0x06, 0x01) => "AHCI controller",
        (0x01, 0x06, _) => "SATA controller",
        (0x01, 0x07, _) => "SAS controller",
        (0x01, 0x08, 0x02) => "NVMe controller",
        (0x01, 0x08, _) => "non-volatile memory controller",
        (0x01, 0x09, _) => "UFS controller",
        (0x01, ..) => "storage controller",
        (0x02, 0x00, _) => "Ethernet controller",
        (0x02, 0x07, _) => "InfiniBand controller",
        (0x02, 0x08, _) => "fabric controller",
        (0x02, ..) => "network controller",
        (0x03, 0x00, _) => "VGA controller",
        (0x03, 0x02, _) => "3D controller",
        (0x03, ..) => "display controller",
        (0x04, 0x01 | 0x03, _) => "audio device",
        (0x04, ..) => "multimedia controller",
        (0x05, 0x02, _) => "CXL memory",
        (0x05, ..) => "memory controller",
        (0x06, 0x00, _) => "host bridge",
        (0x06, 0x01, _) => "ISA bridge",
        (0x06, 0x04, _) => "PCI bridge",
        (0x06, 0x07, _) => "CardBus bridge",
        (0x06, ..) => "bridge",
        (0x07, 0x00, _) => "serial controller",
        (0x07, ..) => "communication controller",
        (0x08, 0x01, _) => "DMA controller",
        (0x08, 0x05, _) => "SD host controller",
        (0x08, 0x06, _) => "IOMMU",
        (0x08, 0x07, _) => "root complex event collector",
        (0x08, ..) => "system peripheral",
        (0x09, ..) => "input device",
        (0x0a, ..) => "docking station",
        (0x0b, 0x40, _) => "co-processor",
        (0x0b, ..) => "processor",
        (0x0c, 0x00, _) => "FireWire controller",
        (0x0c, 0x03, 0xfe) => "USB device",
        (0x0c, 0x03, _) => "USB controller",
        (0x0c, 0x04, _) => "Fibre Channel controller",
        (0x0c, 0x05, _) => "SMBus controller",
        (0x0c, 0x07, _) => "IPMI controller",
        (0x0c, ..) => "serial bus controller",
        (0x0d, ..) => "wireless controller",
        (0x0e, ..) => "intelligent controller",
        (0x0f, ..) => "satellite communication controller",
        (0x10, ..) => "encryption controller",
        (0x11, ..) => "signal processing controller",
        (0x12, ..) => "processing accelerator",
        (0x13, ..) => "instrumentation function",
        (0x40, ..) => "co-processor",
        _ => "unclassified device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_a_storage_server_have_words() {
        assert_eq!(class_words(0x01_0802), "NVMe controller");
        assert_eq!(class_words(0x01_0400), "RAID controller");
        assert_eq!(class_words(0x01_0700), "SAS controller");
        assert_eq!(class_words(0x01_8000), "storage controller");
        assert_eq!(class_words(0x02_0000), "Ethernet controller");
        assert_eq!(class_words(0x06_0400), "PCI bridge");
        assert_eq!(class_words(0xff_0000), "unclassified device");
        assert_eq!(class_words(u32::MAX), "unclassified device");
    }
}
