//! Is a recording read as it was written?

use std::io::Write;
use std::num::NonZeroU32;

use memscape_ndp::ActivityStudy;
use memscape_ndp::activity::{
    BlockKind, PROFILE, Profile, RECORDINGS, Recording, RecordingName, SAMPLE, Trace, register,
};
use memscape_study::{AnyCatalog, CatalogError, CostEngine, File, Find, Preset, Study};
use serde_json::Value;
use zip::write::SimpleFileOptions;

/// An array: name, type, shape, bytes.
type Array = (&'static str, &'static str, &'static str, Vec<u8>);

/// An `.npz` of these arrays.
fn npz(arrays: &[Array], method: zip::CompressionMethod) -> Vec<u8> {
    let mut file = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, dtype, shape, bytes) in arrays {
        let options = SimpleFileOptions::default().compression_method(method);
        file.start_file(format!("{name}.npy"), options).unwrap();
        let header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut start = b"\x93NUMPY\x01\x00".to_vec();
        start.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        file.write_all(&[start, header.into_bytes(), bytes.clone()].concat()).unwrap();
    }
    file.finish().unwrap().into_inner()
}

fn text(it: &str) -> Vec<u8> {
    it.chars().flat_map(|it| u32::from(it).to_le_bytes()).collect()
}

/// Two tokens of one layer with 8 QKV inputs and 16 feed-forward neurons.
fn arrays() -> Vec<Array> {
    vec![
        ("qkv", "|u1", "(2, 1, 1)", vec![0b0000_0101, 0b1000_0000]),
        ("mlp", "|u1", "(2, 1, 2)", vec![1, 0, 0, 0x80]),
        ("n_prefill", "<i4", "()", 1_i32.to_le_bytes().to_vec()),
        ("meta", "<U2", "()", text("{}")),
    ]
}

#[test]
fn bits_are_read_lowest_first_stored_or_deflated() {
    for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
        let trace = Trace::from_npz(&npz(&arrays(), method)).unwrap();
        assert_eq!((trace.layers(), trace.tokens(), trace.neurons(), trace.prefill), (1, 2, [8, 16], 1));
        let active = |block: usize, token| {
            let bits = trace.bits(BlockKind::ALL[block], 0);
            (0..bits.neurons).filter(|it| bits.get(token, *it)).collect::<Vec<_>>()
        };
        assert_eq!((active(0, 0), active(0, 1)), (vec![0, 2], vec![7]));
        assert_eq!((active(1, 0), active(1, 1)), (vec![0], vec![15]));
    }
}

#[test]
fn damaged_traces_say_what_is_wrong() {
    let message = |change: &dyn Fn(&mut Vec<Array>)| {
        let mut arrays = arrays();
        change(&mut arrays);
        Trace::from_npz(&npz(&arrays, zip::CompressionMethod::Stored)).unwrap_err().to_string()
    };
    let truncated = message(&|it| it[1].3.truncate(3));
    assert!(
        truncated.contains("takes 4 bytes, but 3 are there; the file is truncated or damaged"),
        "{truncated}"
    );
    let floats = message(&|it| it[0].1 = "<f4");
    assert!(floats.contains("takes 8 bytes"), "{floats}");
    let floats = message(&|it| (it[0].1, it[0].3) = ("<f4", vec![0; 8]));
    assert_eq!(floats, "array `qkv` has elements of type `<f4`; bytes (uint8) are wanted");
    let flat = message(&|it| it[0].2 = "(2,)");
    assert_eq!(flat, "array `qkv` has shape [2]; it must be [tokens, layers, neurons / 8]");
    let tokens = message(&|it| (it[1].2, it[1].3) = ("(1, 1, 2)", vec![0; 2]));
    assert_eq!(tokens, "array `mlp` has shape [1, 1, 2]; tokens and layers must be those of `qkv`");
    let prefill = message(&|it| it[2].3 = 2_i32.to_le_bytes().to_vec());
    assert!(prefill.starts_with("`n_prefill` is 2, but the trace has 2 tokens"), "{prefill}");
    let missing = message(&|it| it.truncate(3));
    assert_eq!(missing, "there is no array `meta`; the file has qkv, mlp, n_prefill");
    assert!(Trace::from_npz(b"PK no").unwrap_err().to_string().starts_with("not a readable .npz file"));
    let whole = npz(&arrays(), zip::CompressionMethod::Stored);
    assert!(Trace::from_npz(&whole[..whole.len() / 2]).is_err());
}

/// Zeros pack a thousandfold: what a header does not announce is not unpacked.
#[test]
fn an_array_unpacks_to_no_more_than_it_says() {
    let mut long = arrays();
    long[1].3 = vec![0; 1 << 26];
    let bytes = npz(&long, zip::CompressionMethod::Deflated);
    assert!(bytes.len() < 1 << 17);
    let error = Trace::from_npz(&bytes).unwrap_err().to_string();
    assert!(error.contains("takes 4 bytes, but more are there"), "{error}");
    long[1].2 = "(1, 1, 4294967296)";
    let error = Trace::from_npz(&npz(&long, zip::CompressionMethod::Deflated)).unwrap_err().to_string();
    assert!(error.contains("takes 4294967296 bytes; at most 1073741824 are read"), "{error}");
}

#[test]
fn a_profile_of_another_model_is_refused() {
    let sample = RecordingName::named(SAMPLE).unwrap();
    let mut profile: Profile = sample.profile.clone();
    profile.frequency[1].pop();
    profile.frequency[0].pop();
    let error = Recording::new("mine", profile, sample.sequences.clone()).unwrap_err().to_string();
    assert_eq!(
        error,
        "sequence 0 of `mine` has 8 layers of 256 and 1024 neurons, but its profile has 7 of 256 and 1024"
    );
    assert_eq!(
        RecordingName::named("mine").unwrap_err().to_string(),
        "there is no recording `mine`; there are `relu-6m`; or give an .npz file, or a folder of them, in which \
         `profile.npz` is the profile"
    );
}

#[test]
fn a_parent_that_is_no_neuron_is_refused() {
    let profile = |parent: f32| {
        let (shares, parents) = (0.5_f32.to_le_bytes().repeat(8), parent.to_le_bytes().repeat(16));
        let arrays = [
            ("qkv_freq", "<f4", "(1, 8)", shares.clone()),
            ("qkv_parents", "<f4", "(1, 8, 2)", parents.clone()),
            ("mlp_freq", "<f4", "(1, 8)", shares),
            ("mlp_parents", "<f4", "(1, 8, 2)", parents),
        ];
        Profile::from_npz(&npz(&arrays, zip::CompressionMethod::Stored)).map_err(|it| it.to_string())
    };
    assert!(profile(7.0).is_ok() && profile(65535.0).is_ok());
    for parent in [8.0, -1.0, f32::NAN, 65534.0] {
        let error = profile(parent).unwrap_err();
        assert!(error.ends_with("a parent is below 8, or 65535 for none"), "{parent}: {error}");
    }
}

/// A file of `data/traces`, under another name if one is given.
fn data(file: &str) -> File {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/traces").join(file);
    File { name: file.to_owned(), bytes: std::fs::read(path).unwrap() }
}

/// What a resolver does with files that a user names.
fn resolve(files: &[File]) -> Result<Preset<Value>, CatalogError> {
    let by_name: Find<'_> = &|catalog, name| Ok(catalog.find_plain(name)?.clone());
    RECORDINGS.complete(RECORDINGS.read(files)?, by_name)
}

fn held(parameter: &Value) -> RecordingName {
    serde_json::from_value(parameter.clone()).unwrap()
}

#[test]
fn what_was_read_is_known_by_its_content() {
    let one = resolve(&[data("trace_01.npz")]).unwrap();
    assert_eq!(one.name, "trace_01");
    let text = one.parameters.as_str().unwrap();
    assert!(text.starts_with("recording:") && text.len() == 10 + 32, "{text}");
    let recording = held(&one.parameters);
    assert_eq!(serde_json::to_value(&recording).unwrap(), one.parameters);
    let sample = RecordingName::named(SAMPLE).unwrap();
    assert_eq!(recording.sequences, sample.sequences[1..2]);
    assert_ne!(recording.profile, sample.profile, "its own prompt stands in");

    // Another name of the same content is the same question, another content is not.
    let renamed = File { name: "other.npz".to_owned(), ..data("trace_01.npz") };
    assert_eq!(resolve(&[renamed]).unwrap().parameters, one.parameters);
    assert_ne!(resolve(&[data("trace_00.npz")]).unwrap().parameters, one.parameters);
    assert_eq!(RECORDINGS.find_plain(text).unwrap().parameters, one.parameters);
    let elsewhere = RecordingName::named("recording:00").unwrap_err().to_string();
    assert!(elsewhere.ends_with("read elsewhere; give that file, or its folder, again"), "{elsewhere}");
}

#[test]
fn a_folder_is_a_recording() {
    let names = ["trace_11.npz", "trace_00.npz", PROFILE, "trace_10.npz", "trace_01.npz"];
    let mut files = names.map(data);
    // The same as what is built in, in whatever order they come.
    assert_eq!(resolve(&files).unwrap().parameters, SAMPLE);
    let sample = RecordingName::named(SAMPLE).unwrap();
    let read = held(&resolve(&files[..2]).unwrap().parameters);
    assert_eq!(read.sequences[..], [sample.sequences[0].clone(), sample.sequences[3].clone()]);
    assert_eq!(read.name, "trace_00 to trace_11");

    let nothing = resolve(&files[2..3]).unwrap_err().to_string();
    assert!(
        nothing.starts_with("there is no .npz file of a sequence, only `profile.npz`; give"),
        "{nothing}"
    );
    let empty = resolve(&[]).unwrap_err().to_string();
    assert!(empty.starts_with("there is no .npz file of a sequence; give"), "{empty}");
    files[0].bytes = b"PK no".to_vec();
    let damaged = resolve(&files).unwrap_err().to_string();
    assert!(damaged.starts_with("`trace_11.npz`: not a readable .npz file"), "{damaged}");
    let mistaken = resolve(&[File { name: "mine.npz".to_owned(), ..data(PROFILE) }]).unwrap_err().to_string();
    assert!(mistaken.starts_with("`mine.npz`: there is no array `qkv`"), "{mistaken}");
    let table = RECORDINGS.inline(&serde_json::Map::new()).unwrap().unwrap_err().to_string();
    assert_eq!(table, "a recording is a name, an .npz file or a folder of them, not a table");
}

#[test]
fn a_user_s_own_name_stands_beside_the_built_in_one() {
    let recording = |name: &str| {
        let files = ["trace_10.npz", "trace_11.npz"].map(data);
        Recording::from_files(name, &files.iter().collect::<Vec<_>>(), None).unwrap()
    };
    let kept = register(recording("own")).unwrap();
    let study = ActivityStudy {
        model: None,
        trace: Some(RecordingName::named("own").unwrap()),
        engine: CostEngine::Events,
        ..ActivityStudy::default()
    };
    assert_eq!(study.trace.as_ref().map(RecordingName::as_str), Some(kept.as_str()), "known by content");
    assert!(study.answer().is_ok());
    assert_eq!(RECORDINGS.find_plain("own").unwrap().parameters, kept.as_str());
    for (name, expected) in [
        (SAMPLE, "`relu-6m` is a built-in recording; choose another name"),
        (
            "a/b",
            "`a/b` is no name for a recording: it would be taken for a file or a hash; choose a plain one",
        ),
    ] {
        assert_eq!(register(recording(name)).unwrap_err().to_string(), expected);
    }
}

/// The recorder's own statistics of these four of its sequences (`data/traces`),
/// which it printed for all sixteen: shares in per cent. These four repeat
/// themselves more than most: five points; twelve of the sixteen agree within two.
#[test]
fn published_statistics_of_the_recording() {
    let study = |block, distance, sequence| ActivityStudy {
        model: None,
        trace: Some(RecordingName::named(SAMPLE).unwrap()),
        engine: CostEngine::Events,
        block,
        distance: NonZeroU32::new(distance).unwrap(),
        sequence,
        ..ActivityStudy::default()
    };
    let mean = |block, distance, pick: fn(&memscape_ndp::ActivityAnswer) -> f64| {
        (0..4).map(|it| pick(&study(block, distance, it).answer().unwrap())).sum::<f64>() * 25.0
    };
    for (name, found, printed) in [
        ("density", mean(BlockKind::Mlp, 1, |it| it.density), 13.2),
        ("QKV density", mean(BlockKind::Qkv, 1, |it| it.density), 48.6),
        ("overlap at 1", mean(BlockKind::Mlp, 1, |it| it.overlap), 44.4),
        ("overlap at 10", mean(BlockKind::Mlp, 10, |it| it.overlap), 32.2),
        ("QKV overlap at 1", mean(BlockKind::Qkv, 1, |it| it.overlap), 69.6),
        ("top 20 %", mean(BlockKind::Mlp, 1, |it| it.top_share), 43.8),
        ("hot varied", mean(BlockKind::Mlp, 1, |it| it.hot_varied), 31.1),
        ("children", mean(BlockKind::Mlp, 1, |it| it.child_given_parents.unwrap()), 72.2),
        ("imbalance per token", mean(BlockKind::Mlp, 1, |it| it.token_imbalance), 160.0),
        ("imbalance per window", mean(BlockKind::Mlp, 1, |it| it.window_imbalance), 134.0),
    ] {
        assert!((found - printed).abs() <= 6.0, "{name}: {found} but {printed}");
    }
}
