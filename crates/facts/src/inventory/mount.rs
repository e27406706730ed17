//! (pure) A mount, and what its file system is like.

/// One line of /proc/self/mountinfo; see proc_pid_mountinfo(5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Unique while it is mounted.
    pub id: u64,
    /// `st_dev` of its files, major and minor; anonymous (major 0) where there is no one device.
    pub device: (u32, u32),
    /// Where it is mounted.
    pub point: String,
    /// Options of this mount.
    pub options: String,
    /// Type of the file system, with its subtype, such as `fuse.sshfs`.
    pub filesystem: String,
    /// What is mounted.
    pub source: String,
    /// Options of the file system, the same for all its mounts.
    pub super_options: String,
}

impl Mount {
    /// Options of the mount and of the file system, each once.
    pub fn all_options(&self) -> String {
        let of_mount: Vec<&str> = self.options.split(',').collect();
        let more = self.super_options.split(',').filter(|option| !of_mount.contains(option));
        of_mount.iter().copied().chain(more).collect::<Vec<&str>>().join(",")
    }

    /// Whether either is read-only.
    pub fn read_only(&self) -> bool {
        self.options.split(',').chain(self.super_options.split(',')).any(|option| option == "ro")
    }

    /// The value of the option `name=value` of the file system.
    pub fn super_option(&self, name: &str) -> Option<&str> {
        let mut options = self.super_options.split(',');
        options.find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

/// The kernel writes blank, tab, newline and backslash as `\` and three octal digits.
pub fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let octal = match rest {
            [b'\\', digits @ ..] if digits.len() >= 3 => std::str::from_utf8(&digits[..3])
                .ok()
                .and_then(|digits| u8::from_str_radix(digits, 8).ok()),
            _ => None,
        };
        bytes.push(octal.unwrap_or(*first));
        rest = if octal.is_some() { &rest[4..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What kind of file system it is, for judging evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nature {
    /// Reads submit their bios in the reader's context, so /proc/PID/io counts them.
    pub process_io_reliable: bool,
    /// The bytes come over a wire, or from a hypervisor.
    pub remote: bool,
    /// The files are memory.
    pub memory: bool,
}

/// File systems whose readers submit their bios themselves. One that is not here may do so too;
/// nobody has looked.
const READERS_SUBMIT: &[&str] = &[
    "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "gfs2", "hfsplus", "jfs", "minix", "msdos",
    "nilfs2", "ntfs3", "ocfs2", "reiserfs", "udf", "vfat", "xfs",
];

/// File systems of other machines, and of the hypervisor (9p, virtiofs).
const REMOTE: &[&str] = &[
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "orangefs",
    "pvfs2",
    "smb3",
    "smbfs",
    "virtiofs",
    "vboxsf",
    "fuse.ceph",
    "fuse.ceph-fuse",
    "fuse.curlftpfs",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.juicefs",
    "fuse.mfs",
    "fuse.moosefs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "fuse.vmhgfs-fuse",
];

const MEMORY: &[&str] = &["devtmpfs", "hugetlbfs", "ramfs", "rootfs", "tmpfs"];

/// What kind of file system `filesystem` (its type in mountinfo) is. On anything unknown no count
/// of a process is relied on.
pub fn nature(filesystem: &str) -> Nature {
    Nature {
        process_io_reliable: READERS_SUBMIT.contains(&filesystem),
        remote: REMOTE.contains(&filesystem),
        memory: MEMORY.contains(&filesystem),
    }
}
