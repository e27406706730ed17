//! What is known of a machine, as types: facts, and what follows from them without another look.
//! Nothing here reads them; nothing that this crate is built from gives it a way to.

pub mod error; //     (pure) an error as a person reads it
pub mod identity; //  (pure) what tells a device from another one of its name
pub mod bare; //      (pure) devices that are only read, among directories
pub mod inventory; // (pure) what a server is made of, and what each part could do at most
pub mod bandwidth; // (pure) what memory and one core can do at most
pub mod counters; //  (pure) what the kernel counted, as numbers
pub mod layout; //    (pure) what is made of disks: arrays, file systems
pub mod share; //     (pure) how a server's directory is mounted
