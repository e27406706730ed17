//! A tree of C sources to compile, where a plan names none of its own.
//!
//! What a compile of such a tree asks of storage is what one of a kernel does: many small files
//! are opened, few bytes of each are read, each header many times, and as many small files are
//! written. Every file is other than all others, so that neither a compiler's cache nor a file
//! system that stores equal blocks once has an easy time. The same numbers give the same tree.

use std::fmt::Write;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A file of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Below the directory of the tree.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// Sources of one directory.
const IN_A_DIRECTORY: u32 = 50;
/// Functions of one source.
const FUNCTIONS: u32 = 3;
/// Headers that each source includes besides its own.
const INCLUDES: u32 = 6;
/// More would not fit into the names.
pub const FILES_MAX: u32 = 100_000;

/// A tree of `files` C files, each with a header, a main program and a Makefile for GNU make, which
/// compiles all and links them. `files`: 1 to [`FILES_MAX`], else the nearest.
pub fn tree(files: u32, seed: u64) -> impl Iterator<Item = Source> {
    let files = files.clamp(1, FILES_MAX);
    let first = [makefile(), common(), main(files)];
    let pairs = (0..files).flat_map(move |number| [header(number), source(number, files, seed)]);
    first.into_iter().chain(pairs)
}

/// `d03/f00170`, without its ending.
fn place(number: u32) -> String {
    format!("d{:02}/f{number:05}", number / IN_A_DIRECTORY)
}

fn makefile() -> Source {
    let text = "# Generated. `make --jobs=N` compiles all and links them into `all`.\n\
                CC ?= cc\n\
                CFLAGS ?= -O1\n\
                SOURCES := main.c $(sort $(wildcard d*/*.c))\n\
                OBJECTS := $(SOURCES:.c=.o)\n\n\
                all: $(OBJECTS)\n\
                \t$(CC) -o $@ $^\n\n\
                %.o: %.c\n\
                \t$(CC) $(CFLAGS) -I. -c -o $@ $<\n"
        .to_owned();
    Source { path: "Makefile".to_owned(), text }
}

fn common() -> Source {
    let text = "#ifndef COMMON_H\n#define COMMON_H\n#include <stdint.h>\n#include <stdio.h>\n\
                #include <stdlib.h>\n#include <string.h>\n\
                struct state { uint64_t sum; uint32_t table[64]; char name[32]; };\n#endif\n"
        .to_owned();
    Source { path: "common.h".to_owned(), text }
}

fn header(number: u32) -> Source {
    let mut text =
        format!("#ifndef F{number:05}_H\n#define F{number:05}_H\n#include \"common.h\"\n");
    for function in 0..FUNCTIONS {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "uint64_t f{number:05}_{function}(struct state *s, uint64_t x);");
    }
    text += "#endif\n";
    Source { path: format!("{}.h", place(number)), text }
}

fn source(number: u32, files: u32, seed: u64) -> Source {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ u64::from(number) << 32);
    let others: Vec<u32> =
        (0..INCLUDES).map(|_| (random.next_u64() % u64::from(files)) as u32).collect();
    let mut text = format!("#include \"{}.h\"\n", place(number));
    for other in &others {
        let _ = writeln!(text, "#include \"{}.h\"", place(*other));
    }
    for function in 0..FUNCTIONS {
        let word = |random: &mut Xoshiro256PlusPlus| random.next_u64() >> 33;
        let (a, b, c) = (word(&mut random), word(&mut random) | 1, word(&mut random) % 61 + 3);
        // Calls go to lower numbers alone, so that they end.
        let called = others.iter().find(|other| **other < number).filter(|_| function == 0);
        let more = called.map_or(String::new(), |other| {
            format!("    s->sum += f{other:05}_{}(s, x >> 1);\n", FUNCTIONS - 1)
        });
        let _ = write!(
            text,
            "\nstatic const uint32_t t{function}[{c}] = {{ {} }};\n\
             uint64_t f{number:05}_{function}(struct state *s, uint64_t x)\n{{\n\
             \x20   uint64_t sum = x ^ {a}u;\n\
             \x20   for (uint32_t i = 0; i < {c}u; i++) {{\n\
             \x20       sum = sum * {b}u + t{function}[(i + x) % {c}u];\n\
             \x20       s->table[(sum >> 7) % 64] += (uint32_t)sum;\n\
             \x20       if ((sum & {mask}u) == 0) s->sum ^= s->table[i % 64];\n    }}\n\
             {more}\
             \x20   snprintf(s->name, sizeof s->name, \"{function} %u\", s->table[x % 64]);\n\
             \x20   return sum + strlen(s->name);\n}}\n",
            (0..c).map(|_| word(&mut random).to_string()).collect::<Vec<_>>().join(", "),
            mask = (1 << (a % 6 + 1)) - 1,
        );
    }
    Source { path: format!("{}.c", place(number)), text }
}

fn main(files: u32) -> Source {
    let mut text = "#include \"common.h\"\n".to_owned();
    for number in 0..files {
        let _ = writeln!(text, "uint64_t f{number:05}_0(struct state *s, uint64_t x);");
    }
    text += "\nint main(void)\n{\n    static struct state s;\n    uint64_t sum = 0;\n";
    for number in 0..files {
        let _ = writeln!(text, "    sum += f{number:05}_0(&s, sum);");
    }
    text += "    printf(\"%016llx\\n\", (unsigned long long)(sum ^ s.sum));\n    return 0;\n}\n";
    Source { path: "main.c".to_owned(), text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_numbers_give_the_same_tree_and_no_two_files_are_alike() {
        let whole: Vec<Source> = tree(120, 7).collect();
        assert_eq!(whole.len(), 3 + 2 * 120);
        assert_eq!(whole, tree(120, 7).collect::<Vec<_>>());
        assert_ne!(whole, tree(120, 8).collect::<Vec<_>>());
        let mut texts: Vec<&str> = whole.iter().map(|source| source.text.as_str()).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), whole.len());
        let mut paths: Vec<&str> = whole.iter().map(|source| source.path.as_str()).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), whole.len());
        assert!(whole.iter().any(|source| source.path == "d02/f00119.c"));
    }

    #[test]
    fn sizes_that_make_no_sense_become_the_nearest() {
        assert_eq!(tree(0, 1).count(), 5);
        let last = tree(u32::MAX, 1).take(3).last();
        assert!(last.is_some_and(|source| source.path == "main.c"));
    }
}
