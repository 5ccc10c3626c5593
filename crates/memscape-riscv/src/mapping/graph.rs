//! The operations of one pass through the model, and where its threads meet.

use memscape_workload::{Block, Gemv, Llm, Matrix, Norm, Projections};

/// Operations of one graph that all threads work on, by ggml's name.
///
/// # Source
/// llama.cpp (June 2024), `llm_build_llama`, and the operations of Table 5.1. Views, reshapes
/// and row look-ups are one thread's and synchronise nothing, nor does the sum of experts' shares. Experts as in
/// `llm_build_moe_ffn`: soft-max, order and shares of the router's scores, then their results times shares, added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Graph {
    /// Residuals, and biases of matrices and norms.
    pub add: u64,
    /// Norm weights and gates.
    pub mul: u64,
    /// Norms.
    pub norm: u64,
    /// What ggml calls them.
    pub norm_name: &'static str,
    /// Rotary positions of queries and keys.
    pub rope: u64,
    /// Keys and values into the cache.
    pub cpy: u64,
    /// Attention's result made contiguous.
    pub cont: u64,
    /// Attention scores.
    pub soft_max: u64,
    /// Activation functions.
    pub unary: u64,
    /// Experts in the order of their scores.
    pub argsort: u64,
    /// Shares of the chosen ones, of their sum.
    pub div: u64,
    /// Matrix products, of experts one for all of a layer.
    pub mul_mat: u64,
}

/// Synchronisations of one matrix product: after quantising the input, and at the
/// end.
///
/// # Source
/// ggml (June 2024): a barrier in `ggml_compute_forward_mul_mat`, and one after each node of a graph.
pub const SYNCS_PER_PRODUCT: u64 = 2;

impl Graph {
    /// The graph of a model.
    #[must_use]
    pub fn of(model: &Llm, projections: Projections) -> Self {
        let layers = u64::from(model.layers);
        let of = |present: bool| u64::from(present);
        let norms = model.block.norms() + 2 * of(model.qk_norm);
        let matrices = || model.layer_matrices(projections).map(|it| it.0);
        let experts = of(model.experts.is_some());
        let sums = model.active_ffn_count() - 1;
        let biases = matrices().filter(|it| has_bias(model, *it)).count() as u64;
        let last = of(model.final_norm);
        let norm_biases = of(model.norm == Norm::Layer) * (layers * norms + last);
        Self {
            add: layers * (2 + biases + sums) + norm_biases,
            mul: layers * (norms + of(model.gated) + experts) + last,
            norm: layers * norms + last,
            norm_name: norm_operations(model)[0].name(),
            rope: layers * 2 * of(model.rotary()),
            cpy: layers * 2,
            cont: layers,
            soft_max: layers * (1 + experts),
            unary: layers,
            argsort: layers * experts,
            div: layers * experts,
            // Two of the products are attention's.
            mul_mat: layers * (matrices().count() as u64 + 2) + 1 + 2 * of(model.projects_embedding()),
        }
    }

    /// Name and count of each that there is, but the matrix products.
    pub fn others(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let all = [
            ("ADD", self.add),
            ("MUL", self.mul),
            (self.norm_name, self.norm),
            ("CPY", self.cpy),
            ("CONT", self.cont),
            ("SOFT_MAX", self.soft_max),
            ("ROPE", self.rope),
            ("UNARY", self.unary),
            ("ARGSORT", self.argsort),
            ("DIV", self.div),
        ];
        all.into_iter().filter(|it| it.1 > 0)
    }

    /// Synchronisations outside of matrix products.
    #[must_use]
    pub fn other_syncs(&self) -> u64 {
        self.others().map(|it| it.1).sum()
    }

    /// Synchronisations of the matrix products.
    #[must_use]
    pub const fn product_syncs(&self) -> u64 {
        self.mul_mat * SYNCS_PER_PRODUCT
    }
}

/// One operation of a graph, as all threads work on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operation {
    /// A weight matrix times all columns.
    Product(Matrix, Gemv),
    /// Keys times queries.
    Scores,
    /// Values times scores.
    Values,
    /// Anything else, by ggml's name.
    Other(&'static str),
}

impl Operation {
    /// What it is called, for example `gate` or `RMS_NORM`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Product(matrix, _) => matrix.name(),
            Self::Scores => "scores",
            Self::Values => "values",
            Self::Other(name) => name,
        }
    }

    /// How often the threads meet at it.
    #[must_use]
    pub const fn syncs(self) -> u64 {
        match self {
            Self::Product(..) | Self::Scores | Self::Values => SYNCS_PER_PRODUCT,
            Self::Other(_) => 1,
        }
    }
}

/// Whether the last layer does it for its last row alone: what follows attention.
#[must_use]
pub const fn follows_attention(matrix: Matrix) -> bool {
    !matches!(matrix, Matrix::Qkv | Matrix::Q | Matrix::K | Matrix::V | Matrix::Out)
}

/// What a graph does in front of the layers, in one layer, and behind them, in order.
///
/// # Source
/// llama.cpp (June 2024), `llm_build_llama`; elsewhere norms stand where the model's
/// [`Block`] has them. [`Graph::of`] counts the same.
#[must_use]
pub fn operations(model: &Llm, projections: Projections) -> [Vec<Operation>; 3] {
    let matrix = |it: Matrix| model.gemv(it).ok().map(|shape| Operation::Product(it, shape));
    let inwards = matrix(Matrix::ProjectIn).into_iter().collect();
    let mut behind = Vec::new();
    if model.final_norm {
        behind.extend(norm_operations(model));
    }
    behind.extend(matrix(Matrix::ProjectOut).into_iter().chain(matrix(Matrix::LmHead)));
    [inwards, layer(model, projections), behind]
}

/// A norm: times its weights, and where it has biases, plus these.
///
/// # Source
/// llama.cpp, `llm_build_norm`.
fn norm_operations(model: &Llm) -> &'static [Operation] {
    const LAYER: &[Operation] = &[Operation::Other("NORM"), Operation::Other("MUL"), Operation::Other("ADD")];
    const RMS: &[Operation] = &[Operation::Other("RMS_NORM"), Operation::Other("MUL")];
    match model.norm {
        Norm::Layer => LAYER,
        Norm::Rms => RMS,
    }
}

/// Whether an operation of its own adds biases to what a matrix of a layer gives.
const fn has_bias(model: &Llm, matrix: Matrix) -> bool {
    match matrix {
        Matrix::Qkv | Matrix::Q | Matrix::K | Matrix::V => model.qkv_bias,
        Matrix::Out => model.out_bias,
        Matrix::Fc1 | Matrix::Fc2 | Matrix::GateUp | Matrix::Gate | Matrix::Up | Matrix::Down => {
            model.ffn_bias
        }
        Matrix::Router | Matrix::ProjectIn | Matrix::ProjectOut | Matrix::LmHead => false,
    }
}

/// The operations of one layer.
fn layer(model: &Llm, projections: Projections) -> Vec<Operation> {
    use Operation::{Other, Product, Scores, Values};
    let [before_attention, after_attention, before_ffn, after_ffn] = match model.block {
        Block::PreNorm | Block::Parallel => [true, false, true, false],
        Block::PostNorm => [false, true, false, true],
        Block::SandwichNorm => [true; 4],
        Block::ParallelSharedNorm => [true, false, false, false],
    };
    let mut all = Vec::with_capacity(32);
    let norm = |all: &mut Vec<Operation>, present: bool| {
        all.extend(norm_operations(model).iter().filter(|_| present));
    };
    let other =
        |all: &mut Vec<Operation>, name, count: usize| all.extend(std::iter::repeat_n(Other(name), count));
    let gemvs: Vec<(Matrix, Gemv)> = model.layer_matrices(projections).map(|it| (it.0, it.1)).collect();
    // A matrix, then its biases.
    let products = |all: &mut Vec<Operation>, which: fn(Matrix) -> bool| {
        for (matrix, shape) in gemvs.iter().filter(|it| which(it.0)) {
            all.push(Product(*matrix, *shape));
            all.extend(has_bias(model, *matrix).then_some(Other("ADD")));
        }
    };
    norm(&mut all, before_attention);
    products(&mut all, |it| !follows_attention(it) && it != Matrix::Out);
    norm(&mut all, model.qk_norm);
    norm(&mut all, model.qk_norm);
    other(&mut all, "ROPE", 2 * usize::from(model.rotary()));
    other(&mut all, "CPY", 2);
    all.extend([Scores, Other("SOFT_MAX"), Values, Other("CONT")]);
    products(&mut all, |it| it == Matrix::Out);
    norm(&mut all, after_attention);
    other(&mut all, "ADD", 1);
    norm(&mut all, before_ffn);
    products(&mut all, |it| it == Matrix::Router);
    let experts = model.experts.is_some();
    for name in ["SOFT_MAX", "ARGSORT", "DIV"] {
        other(&mut all, name, usize::from(experts));
    }
    products(&mut all, |it| matches!(it, Matrix::Fc1 | Matrix::GateUp | Matrix::Gate | Matrix::Up));
    other(&mut all, "UNARY", 1);
    other(&mut all, "MUL", usize::from(model.gated));
    products(&mut all, |it| matches!(it, Matrix::Fc2 | Matrix::Down));
    other(&mut all, "MUL", usize::from(experts));
    all.extend((1..model.active_ffn_count()).map(|_| Other("ADD")));
    norm(&mut all, after_ffn);
    other(&mut all, "ADD", 1);
    all
}

#[cfg(test)]
mod tests {
    use memscape_workload::Model;

    use super::*;

    /// What a bias or another norm adds to Llama's graph, by ggml's names.
    #[test]
    fn biases_and_norms_are_operations() {
        let llama = *Model::named("llama-2-7b").unwrap();
        let adds = |model: &Llm, projections| {
            let more = Graph::of(model, projections).add - Graph::of(&llama, projections).add;
            more / u64::from(llama.layers)
        };
        for (model, separate, merged) in [
            (Llm { qkv_bias: true, ..llama }, 3, 1),
            (Llm { out_bias: true, ..llama }, 1, 1),
            (Llm { ffn_bias: true, ..llama }, 3, 2),
            (Llm { ffn_bias: true, gated: false, ..llama }, 2, 2),
        ] {
            assert_eq!(adds(&model, Projections::Separate), separate);
            assert_eq!(adds(&model, Projections::Merged), merged);
        }
        // NORM, MUL and ADD for each of 65.
        let (layer, rms) = (Llm { norm: Norm::Layer, ..llama }, llama);
        let [layer, rms] = [layer, rms].map(|it| Graph::of(&it, Projections::Separate));
        assert_eq!((layer.norm_name, rms.norm_name), ("NORM", "RMS_NORM"));
        assert_eq!((layer.norm, rms.norm, layer.add - rms.add), (65, 65, 65));
        assert_eq!(rms.other_syncs(), 64 + 97 + 65 + 64 + 64 + 32 + 32 + 32);
    }

    /// What is walked is what is counted.
    #[test]
    fn a_graph_is_made_of_its_operations() {
        for model in Model::all() {
            for projections in [Projections::Merged, Projections::Separate] {
                let [inwards, layer, behind] = operations(&model, projections);
                let layers = (0..model.layers).flat_map(|_| &layer);
                let all: Vec<_> = inwards.iter().chain(layers).chain(&behind).collect();
                let graph = Graph::of(&model, projections);
                for (name, count) in graph.others() {
                    assert_eq!(
                        all.iter().filter(|it| it.name() == name).count() as u64,
                        count,
                        "{model}: {name}"
                    );
                }
                let syncs: u64 = all.iter().map(|it| it.syncs()).sum();
                assert_eq!(syncs, graph.other_syncs() + graph.product_syncs(), "{model}");
            }
        }
    }
}
