//! The terminal that somebody reads.

/// Columns and rows of the terminal that standard output is; `None` where it is none, or does not
/// tell (tty_ioctl(4): a terminal that was never told its size has 0 of each).
pub fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
    let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
    (columns > 0 && rows > 0).then_some((columns, rows))
}
