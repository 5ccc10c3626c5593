//! Which code ggml chooses for one product: Algorithm 1 and Listing 4.3.

use memscape_units::float;
use memscape_workload::{FileType, GgmlType, Llm, Matrix, Projections};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::census::{Census, Operand, Run, Shape};
use super::quant::BLOCK;

/// What ggml knows of a product before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// Its dimensions: `ne10`, `ne0`, `ne1`.
    pub shape: Shape,
    /// How the first operand is stored.
    pub format: GgmlType,
    /// Whether the first operand is contiguous.
    pub first_contiguous: bool,
    /// Whether the second operand is contiguous.
    pub second_contiguous: bool,
    /// Whether it picks matrices by an index (`MUL_MAT_ID`).
    pub indexed: bool,
}

/// What is asked of a product before BLAS or the custom kernel may have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Criteria {
    /// Whether ggml is built with a BLAS
    pub blas: bool,
    /// Whether it has the thesis' kernel
    pub custom: bool,
    /// Least rows of the result for BLAS (`ne0`)
    pub min_rows: u64,
    /// Least columns of the result for BLAS (`ne1`)
    pub min_columns: u64,
    /// Least shared dimension for BLAS (`ne10`)
    pub min_shared: u64,
    /// Whether BLAS needs contiguous operands
    pub contiguous: bool,
}

impl Default for Criteria {
    /// Listing 4.3, in a build with BLAS and without the thesis' kernel.
    fn default() -> Self {
        Self { blas: true, custom: false, min_rows: 32, min_columns: 32, min_shared: 32, contiguous: true }
    }
}

/// How ggml is built: with a BLAS or without, and what it asks of a product before it
/// hands it over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Whether ggml is built with a BLAS
    pub blas: bool,
    /// Least columns of the result for BLAS (`ne1`): the dimension that keeps products
    /// with weights from it
    #[schemars(extend("unit" = "columns"))]
    pub min_columns: u64,
}

impl Default for Build {
    /// Listing 4.3's least number, in a build without BLAS.
    fn default() -> Self {
        Self { blas: false, min_columns: Criteria::default().min_columns }
    }
}

impl Build {
    /// What is asked of a product, with the thesis' kernel or without.
    #[must_use]
    pub fn criteria(self, custom: bool) -> Criteria {
        let Self { blas, min_columns } = self;
        Criteria { blas, custom, min_columns, ..Criteria::default() }
    }
}

/// Who makes the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// Dequantised, by BLAS.
    Blas,
    /// The thesis' kernel.
    Custom,
    /// llama.cpp's own code.
    Default,
}

/// Why BLAS does not get a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent reasons")]
pub struct Rejection {
    /// There is none.
    pub no_blas: bool,
    /// The product is indexed.
    pub indexed: bool,
    /// An operand is not contiguous.
    pub contiguity: bool,
    /// A dimension is too small.
    pub dimension: bool,
}

impl Rejection {
    /// Whether there is any reason.
    #[must_use]
    pub const fn any(self) -> bool {
        self.no_blas || self.indexed || self.contiguity || self.dimension
    }
}

/// What keeps BLAS from a product.
#[must_use]
pub fn rejection(product: &Product, criteria: &Criteria) -> Rejection {
    let Shape { shared, dst0, dst1 } = product.shape;
    let contiguous = product.first_contiguous && product.second_contiguous;
    Rejection {
        no_blas: !criteria.blas,
        indexed: product.indexed,
        contiguity: criteria.contiguous && !contiguous,
        dimension: dst0 < criteria.min_rows || dst1 < criteria.min_columns || shared < criteria.min_shared,
    }
}

/// Who makes a product.
///
/// # Source
/// Thesis, Algorithm 1. Listing 4.3 prints two of its tests commented out; they are
/// read as active, since the text relies on them. The custom kernel takes Q4_0, an
/// even number of rows and of blocks, and contiguous operands (Sec. 4.2.3).
///
/// # Example
/// ```
/// use memscape_riscv::census::Shape;
/// use memscape_riscv::dispatch::{Criteria, Path, Product, dispatch};
/// use memscape_workload::GgmlType;
/// let token = Product {
///     shape: Shape { shared: 4096, dst0: 4096, dst1: 1 },
///     format: GgmlType::Q4_0,
///     first_contiguous: true,
///     second_contiguous: true,
///     indexed: false,
/// };
/// assert_eq!(dispatch(&token, &Criteria::default()), Path::Default);
/// assert_eq!(dispatch(&token, &Criteria { custom: true, ..Criteria::default() }), Path::Custom);
/// assert_eq!(dispatch(&token, &Criteria { min_columns: 1, ..Criteria::default() }), Path::Blas);
/// ```
#[must_use]
pub fn dispatch(product: &Product, criteria: &Criteria) -> Path {
    let block = BLOCK as u64;
    let Shape { shared, dst0, .. } = product.shape;
    let even = dst0.is_multiple_of(2) && shared.is_multiple_of(2 * block);
    let contiguous = product.first_contiguous && product.second_contiguous;
    if !rejection(product, criteria).any() {
        Path::Blas
    } else if criteria.custom && product.format == GgmlType::Q4_0 && even && contiguous && !product.indexed {
        Path::Custom
    } else {
        Path::Default
    }
}

/// Shares of a run's products.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// Made by BLAS.
    pub blas: f64,
    /// Made by the thesis' kernel.
    pub custom: f64,
    /// Made by llama.cpp's own code.
    pub default: f64,
    /// Kept from BLAS by a dimension alone.
    pub dimension_only: f64,
    /// Kept from BLAS by contiguity alone.
    pub contiguity_only: f64,
    /// Kept from BLAS by both.
    pub dimension_and_contiguity: f64,
}

/// Sends every product of a run through [`dispatch`]. Weights are of the type of most of the file, but the
/// language-model head, which its shape tells. Products with the cache are
/// not contiguous: keys are a permuted view, values a transposed one.
#[must_use]
pub fn shares(
    model: &Llm,
    projections: Projections,
    run: &Run,
    file: FileType,
    criteria: &Criteria,
) -> Shares {
    let census = Census::of(model, projections, run);
    let total = float(census.total());
    let head = model.gemv(Matrix::LmHead).map(|it| (it.m(), it.k())).ok();
    let of_head = file.type_of(model, Matrix::LmHead, 0);
    let mut shares = Shares {
        blas: 0.0,
        custom: 0.0,
        default: 0.0,
        dimension_only: 0.0,
        contiguity_only: 0.0,
        dimension_and_contiguity: 0.0,
    };
    for (shape, operand, count) in census.rows() {
        let share = float(count) / total;
        let weights = operand == Operand::Weights;
        let product = Product {
            shape,
            format: match operand {
                Operand::Weights if head == Some((shape.dst0, shape.shared)) => of_head,
                Operand::Weights => file.main(),
                Operand::Cache => GgmlType::F16,
            },
            first_contiguous: weights,
            second_contiguous: true,
            indexed: false,
        };
        *match dispatch(&product, criteria) {
            Path::Blas => &mut shares.blas,
            Path::Custom => &mut shares.custom,
            Path::Default => &mut shares.default,
        } += share;
        let rejection = rejection(&product, criteria);
        match (rejection.dimension, rejection.contiguity) {
            (true, true) => shares.dimension_and_contiguity += share,
            (true, false) => shares.dimension_only += share,
            (false, true) => shares.contiguity_only += share,
            (false, false) => {}
        }
    }
    shares
}
