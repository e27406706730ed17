//! Packs the library that draws figures: of 1.3 MB, 0.4 are carried by the program.

#![expect(clippy::disallowed_methods, reason = "no part of the program")]

use std::io::Write;
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    const PLAIN: &str = "src/report/html/plotly/plotly-custom.min.js";
    println!("cargo:rerun-if-changed={PLAIN}");
    let folder = std::env::var_os("OUT_DIR").ok_or(std::io::ErrorKind::NotFound)?;
    let packed = std::fs::File::create(PathBuf::from(folder).join("plotly.zlib"))?;
    let mut packer = flate2::write::ZlibEncoder::new(packed, flate2::Compression::best());
    packer.write_all(&std::fs::read(PLAIN)?)?;
    packer.finish()?.flush()
}
