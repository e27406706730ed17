//! The admin queue of an NVMe controller, asked for its health log.

use std::fs::File;
use std::os::fd::AsRawFd;

use super::Error;

/// Size of the SMART / Health Information log (NVM Express Base 2.0, 5.16.1.3).
pub const HEALTH_LOG_BYTES: usize = 512;

/// `struct nvme_passthru_cmd` of linux/nvme_ioctl.h.
#[repr(C)]
#[derive(Default)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_and_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    words_10_to_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// NVME_IOCTL_ADMIN_CMD.
const ADMIN_COMMAND: rustix::ioctl::Opcode =
    rustix::ioctl::opcode::read_write::<Command>(b'N', 0x41);

/// Get Log Page.
const GET_LOG_PAGE: u8 = 0x02;

/// SMART / Health Information.
const HEALTH_LOG: u32 = 0x02;

/// Of the whole controller, not of one of its namespaces.
const ALL_NAMESPACES: u32 = u32::MAX;

/// The health log of the controller whose character device `controller` is. Waits for the drive:
/// one that hangs is given up by the kernel after its own time, a minute unless set otherwise.
///
/// # Errors
/// When we may not ask (it takes root), when it is no NVMe controller, or when the drive refuses.
pub fn health_log(controller: &File) -> Result<[u8; HEALTH_LOG_BYTES], Error> {
    let what = "cannot read the health log of an NVMe drive";
    let mut page = [0; HEALTH_LOG_BYTES];
    let length_words = (HEALTH_LOG_BYTES / 4 - 1) as u32;
    let mut command = Command {
        opcode: GET_LOG_PAGE,
        namespace: ALL_NAMESPACES,
        address: page.as_mut_ptr().expose_provenance() as u64,
        data_bytes: HEALTH_LOG_BYTES as u32,
        words_10_to_15: [HEALTH_LOG | length_words << 16, 0, 0, 0, 0, 0],
        // The kernel's own: when a command is late, the kernel resets the controller.
        timeout_ms: 0,
        ..Command::default()
    };
    // SAFETY: the request takes a pointer to a `nvme_passthru_cmd`, which `Command` is, and lets
    // the kernel write its `result` and at most `data_bytes` at `address`, which `page` has. Both
    // live until the call returns, which is after the command. A file that is no NVMe controller
    // refuses the request.
    let status =
        unsafe { libc::ioctl(controller.as_raw_fd(), ADMIN_COMMAND as _, &raw mut command) };
    match status {
        0 => Ok(page),
        refused if refused > 0 => {
            Err(Error::new(what, format!("the drive answers with status {refused:#x}")))
        }
        _ => Err(Error::new(what, std::io::Error::last_os_error()).hint("run as root")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Host;

    #[test]
    fn the_command_is_laid_out_and_numbered_as_in_the_kernels_header() {
        assert_eq!(size_of::<Command>(), 72);
        assert_eq!(std::mem::offset_of!(Command, address), 24);
        assert_eq!(std::mem::offset_of!(Command, data_bytes), 36);
        assert_eq!(std::mem::offset_of!(Command, words_10_to_15), 40);
        assert_eq!(std::mem::offset_of!(Command, result), 68);
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
        assert_eq!(ADMIN_COMMAND, 0xc048_4e41);
    }

    #[test]
    fn what_is_no_controller_refuses() {
        let file = tempfile::tempfile().unwrap();
        let null = Host::live().open("/dev/null").unwrap();
        for file in [file, null] {
            let error = health_log(&file).unwrap_err();
            assert_eq!(error.what, "cannot read the health log of an NVMe drive");
            assert!(error.why.contains("os error"), "{error}");
        }
    }
}
