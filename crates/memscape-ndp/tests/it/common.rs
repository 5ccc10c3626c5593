//! How the studies are asked here.

use memscape_ndp::{InferenceAnswer, InferenceStudy};
use memscape_study::Study;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A study with some of its parameters changed.
pub fn changed<S: Study + Default + Serialize + DeserializeOwned>(changes: &[(&str, Value)]) -> S {
    let mut tree = serde_json::to_value(S::default()).unwrap();
    for (path, value) in changes {
        *path.split('.').fold(&mut tree, |tree, key| &mut tree[key]) = value.clone();
    }
    serde_json::from_value(tree).unwrap()
}

/// What `ndp.inference` then answers.
pub fn answer(changes: &[(&str, Value)]) -> InferenceAnswer {
    changed::<InferenceStudy>(changes).answer().unwrap()
}

/// A GPU by name.
pub fn gpu(name: &str) -> Value {
    serde_json::to_value(memscape_ndp::hardware::GPUS.find(name).unwrap().parameters).unwrap()
}
