//! Files that are none, that lie, or that were changed on the way.

use std::time::{Duration, Instant};

use memscape_workload::{GgmlType, Llm, MODELS};
use proptest::prelude::*;

use crate::gguf::writer::{Files, Held, Writer};

fn small() -> Writer {
    let llm = Llm {
        layers: 2,
        hidden_size: 64,
        heads: 4,
        kv_heads: 2,
        head_dim: 16,
        ffn_size: 96,
        vocab_size: 40,
        embedding_size: None,
        ..MODELS.find("llama-3.2-1b").unwrap().parameters
    };
    Writer::model("llama", &llm, 5, |_, _| GgmlType::Q8_0)
}

fn try_read(bytes: Vec<u8>, length: u64) -> Result<Llm, String> {
    let files = Files::default().with("it.gguf", (bytes, length));
    Llm::from_gguf("it.gguf", &files).map(|it| it.0).map_err(|it| it.to_string())
}

fn refused(file: &Writer) -> String {
    let (bytes, length) = file.write();
    try_read(bytes, length).unwrap_err()
}

/// The header with some of its bytes replaced.
fn with_bytes(at: usize, new: &[u8]) -> String {
    let (mut bytes, length) = small().write();
    bytes[at..at + new.len()].copy_from_slice(new);
    try_read(bytes, length).unwrap_err()
}

#[test]
fn what_is_no_gguf_is_told() {
    assert_eq!(
        try_read(b"PK\x03\x04....".to_vec(), 8).unwrap_err(),
        "it begins with `PK\\x03\\x04`, not with `GGUF`; give a file as llama.cpp reads it"
    );
    assert!(try_read(Vec::new(), 0).unwrap_err().starts_with("its first bytes at byte 0 takes 4 bytes"));
    assert!(with_bytes(4, &1_u32.to_le_bytes()).ends_with("known are 2 and 3: convert the model again"));
    assert!(with_bytes(4, &4_u32.to_le_bytes()).ends_with("of version 4 of GGUF; known are 2 and 3"));
    let big = with_bytes(4, &3_u32.to_be_bytes());
    assert!(big.starts_with("it is big-endian, as for IBM Z; write it little-endian"), "{big}");
}

#[test]
fn absurd_counts_are_refused_before_anything_is_read() {
    for count in [u64::MAX, 1 << 40, 1 << 20] {
        let text = with_bytes(8, &count.to_le_bytes());
        assert_eq!(text, format!("the number of tensors is {count}; it must be at most 131072"));
        let text = with_bytes(16, &count.to_le_bytes());
        assert_eq!(text, format!("the number of keys is {count}; it must be at most 65536"));
    }
    // Within the limit, but more than the file could hold.
    let text = with_bytes(8, &100_000_u64.to_le_bytes());
    assert!(
        text.starts_with("the number of tensors at byte 16 takes 3300000 bytes, but the file has"),
        "{text}"
    );
    // The first key's length, and a list's.
    let text = with_bytes(24, &u64::MAX.to_le_bytes());
    assert!(text.starts_with("a key at byte 32 takes 18446744073709551615 bytes"), "{text}");
    for (kind, count) in [(4_u32, u64::MAX), (4, u64::MAX / 4), (8, 1 << 60), (9, 1 << 60), (0, 1 << 30)] {
        let mut file = small();
        file.set("a.list", Held::Raw(9, [&kind.to_le_bytes()[..], &count.to_le_bytes()].concat()));
        let text = refused(&file);
        assert!(text.starts_with("a list is ") || text.starts_with("a list at byte"), "{text}");
    }
    let mut file = small();
    let deeper = [9_u32.to_le_bytes(), 1_u32.to_le_bytes(), [0; 4]].concat();
    file.set("a.list", Held::Raw(9, deeper.repeat(9)));
    assert_eq!(refused(&file), "the depth of list `a.list` is 5; it must be at most 4");
    file.set("a.list", Held::Raw(13, Vec::new()));
    assert_eq!(refused(&file), "the type of `a.list` is 13; it must be from 0 to 12");
}

#[test]
fn sizes_that_overflow_are_refused() {
    let change = |extents: &[u64]| {
        let (mut bytes, length) = small().write();
        let name = bytes.windows(17).position(|it| it == b"token_embd.weight").unwrap() + 17;
        bytes[name..name + 4].copy_from_slice(&u32::try_from(extents.len()).unwrap().to_le_bytes());
        for (at, it) in extents.iter().take(2).enumerate() {
            bytes[name + 4 + 8 * at..name + 12 + 8 * at].copy_from_slice(&it.to_le_bytes());
        }
        try_read(bytes, length).unwrap_err()
    };
    for extents in [[u64::MAX, u64::MAX], [1 << 33, 1 << 33], [0, 40], [64, 0], [1 << 51, 1]] {
        let text = change(&extents);
        assert!(text.starts_with("an extent of `token_embd.weight` is "), "{text}");
    }
    let text = change(&[1 << 40, 32]);
    assert!(
        text.starts_with("tensor `token_embd.weight` takes bytes ") && text.ends_with("is it complete?"),
        "{text}"
    );
    let text = change(&[33, 40]);
    assert_eq!(
        text,
        "the first extent of `token_embd.weight` is 33; it must be a multiple of 32, a block of q8_0"
    );
    assert_eq!(change(&[]), "the number of extents of `token_embd.weight` is 0; it must be 1 to 4");
}

#[test]
fn data_must_be_there_and_each_tensor_s_own() {
    let (bytes, length) = small().write();
    let text = try_read(bytes.clone(), length - 64).unwrap_err();
    assert!(text.starts_with("tensor `") && text.contains("is it complete?"), "{text}");
    // The offset follows name, two extents and type.
    let place = bytes.windows(19).position(|it| it == b"blk.1.attn_k.weight").unwrap() + 19 + 4 + 16 + 4;
    let moved = |offset: u64| {
        let mut bytes = bytes.clone();
        bytes[place..place + 8].copy_from_slice(&offset.to_le_bytes());
        try_read(bytes, length).unwrap_err()
    };
    assert_eq!(moved(33), "the offset of `blk.1.attn_k.weight` is 33; it must be a multiple of 32");
    assert!(moved(u64::MAX - 31).starts_with("tensor `blk.1.attn_k.weight` takes bytes "));
    // A file of its header, and of enough data for one tensor, which all share.
    let mut file = small();
    let name = "blk.0.attn_k.weight".to_owned();
    file.tensors = (0..50).map(|it| (format!("{name}{it:02}"), vec![1024, 1024], GgmlType::F32)).collect();
    let (mut bytes, _) = file.write();
    let header = bytes.len() as u64;
    for it in 0..50 {
        let wanted = format!("{name}{it:02}");
        let at = bytes.windows(wanted.len()).rposition(|window| window == wanted.as_bytes()).unwrap();
        let at = at + wanted.len() + 4 + 16 + 4;
        bytes[at..at + 8].fill(0);
    }
    let text = try_read(bytes, header + (4 << 20)).unwrap_err();
    assert_eq!(text, "its tensors take 209715200 bytes, but the file has 4194304 for them: some overlap");
}

#[test]
fn names_and_keys_are_bounded_and_single() {
    let mut file = small();
    file.tensors[0].0 = "x".repeat(64);
    assert_eq!(refused(&file), "the length of a tensor's name is 64; it must be 1 to 63");
    let mut file = small();
    file.tensors.push(file.tensors[3].clone());
    assert!(refused(&file).ends_with("is there twice"));
    let mut file = small();
    file.keys.push(("llama.block_count".to_owned(), Held::U32(3)));
    assert_eq!(refused(&file), "key `llama.block_count` is there twice");
    let mut file = small();
    file.keys.extend((0..200).map(|it| (format!("a{it}.block_count"), Held::U32(1))));
    assert!(refused(&file).starts_with("the number of keys of architectures is "), "{}", refused(&file));
    // Long texts are passed over, and are no architecture.
    let mut file = small();
    file.set("general.name", Held::Text("é".repeat(1 << 20)));
    file.set(&"k".repeat(100_000), Held::Text("v".repeat(100_000)));
    let (bytes, length) = file.write();
    assert_eq!(try_read(bytes, length).unwrap().layers, 2);
    file.set("general.architecture", Held::Text("llama".repeat(100)));
    let text = refused(&file);
    assert!(text.len() < 500 && text.starts_with("`general.architecture` is "), "{text}");
    for bad in [Held::U32(0), Held::U32(48), Held::U32(1 << 30), Held::Bool(true)] {
        let mut file = small();
        file.set("general.alignment", bad);
        assert!(refused(&file).ends_with("it must be a power of two up to 1048576"), "{}", refused(&file));
    }
    let mut file = small();
    file.tensors[0].2 = GgmlType::F32;
    let (mut bytes, length) = file.write();
    let at = bytes.windows(17).position(|it| it == b"token_embd.weight").unwrap() + 17 + 4 + 16;
    bytes[at..at + 4].copy_from_slice(&31_u32.to_le_bytes());
    let text = try_read(bytes, length).unwrap_err();
    assert!(text.starts_with("tensor `token_embd.weight` is of type 31, which ggml does not have"), "{text}");
}

#[test]
fn a_header_without_end_is_not_read_to_it() {
    struct Endless;
    impl std::io::Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            into.fill(0);
            Ok(into.len())
        }
    }
    struct Terabyte(Vec<u8>);
    impl memscape_study::Folder for Terabyte {
        fn open(&self, _: &str) -> Result<memscape_study::Opened<'_>, String> {
            use std::io::Read as _;
            let bytes = Box::new(self.0.as_slice().chain(Endless));
            Ok(memscape_study::Opened { length: 1 << 40, bytes })
        }
    }
    // One text of 2^39 bytes; then as many empty texts as that.
    for value in [
        Held::Raw(8, (1_u64 << 39).to_le_bytes().to_vec()),
        Held::Raw(9, [&8_u32.to_le_bytes()[..], &(1_u64 << 36).to_le_bytes()].concat()),
    ] {
        let mut file = Writer::new(vec![("a.text".to_owned(), value)]);
        file.alignment = 1;
        let begun = Instant::now();
        let error = Llm::from_gguf("it.gguf", &Terabyte(file.write().0)).unwrap_err().to_string();
        assert_eq!(error, "what describes the tensors takes more than 268435456 bytes, as no model's does");
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

proptest! {
    /// Whatever bytes are changed, left out or put in: an answer or an error in one line, and
    /// never a panic.
    #[test]
    fn mutations_are_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
        length in prop::option::of(prop_oneof![0..10_000_u64, any::<u64>()]),
        wide in prop::option::of((any::<prop::sample::Index>(), prop_oneof![Just(0_u64), Just(u64::MAX), any::<u64>()])),
    ) {
        let (mut bytes, whole) = small().write();
        if let Some((at, value)) = wide {
            let at = at.index(bytes.len() - 8);
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        match try_read(bytes, length.unwrap_or(whole)) {
            Ok(llm) => prop_assert!(llm.check().is_ok() && llm.stored.is_some()),
            Err(text) => prop_assert!(!text.contains('\n') && text.len() < 2000, "{}", text),
        }
    }

    #[test]
    fn any_bytes_after_the_magic_are_refused(tail in prop::collection::vec(any::<u8>(), 0..200)) {
        let bytes = [b"GGUF\x03\0\0\0", &tail[..]].concat();
        let length = bytes.len() as u64;
        prop_assert!(try_read(bytes, length).is_err());
    }
}
