//! Stand-in until the branch `devices` is merged.

use std::path::PathBuf;

use crate::inventory::disk::Disk;
use crate::sys::{Error, Host};

#[derive(Debug)]
pub struct Refusal(pub Error);
#[derive(Debug)]
pub struct Claim;

pub fn check(_: &Host, _: &[Disk], _: &[String], _: &[PathBuf]) -> Result<(), Vec<Refusal>> {
    Ok(())
}

pub fn claim(_: &Host, _: &Disk) -> Result<Claim, Error> {
    Ok(Claim)
}
