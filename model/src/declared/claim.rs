//! What a file beside the model states about a tensor that the model's own file describes, too.

use cudainfer_kernels::tensor::TensorDesc;

/// The description of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its name in the model.
    pub name: String,
    /// Whether it is an input; `None` where that is not stated.
    pub is_input: Option<bool>,
    /// The type of its elements.
    pub ty: Option<String>,
    /// Its dimensions; `None` for any size.
    pub dims: Option<Vec<Option<usize>>>,
}

impl Claim {
    /// The difference between this claim and the model, a sentence without the file's name.
    pub fn contradiction(&self, inputs: &[TensorDesc], outputs: &[TensorDesc]) -> Option<String> {
        let Self { name, is_input, ty, dims } = self;
        let find = |list: &[TensorDesc]| list.iter().find(|desc| desc.name == *name).cloned();
        let fact = match is_input {
            Some(true) => find(inputs),
            Some(false) => find(outputs),
            None => find(inputs).or_else(|| find(outputs)),
        };
        let Some(fact) = fact else {
            let list = if *is_input == Some(true) { inputs } else { outputs };
            let names: Vec<_> = list.iter().map(|desc| desc.name.as_str()).collect();
            return Some(format!("describes '{name}', but the model has only {}", names.join(", ")));
        };
        let same_type = ty.as_ref().is_none_or(|ty| ty == fact.ty.name());
        let fits = |dims: &Vec<Option<usize>>| {
            let pairs = dims.iter().zip(&fact.dims);
            dims.len() == fact.dims.len()
                && pairs.into_iter().all(|(claim, fact)| claim.is_none() || fact.is_none() || claim == fact)
        };
        if same_type && dims.as_ref().is_none_or(fits) {
            return None;
        }
        let dims = dims.iter().flatten().map(|dim| dim.map_or("-1".to_owned(), |dim| dim.to_string()));
        let dims = dims.collect::<Vec<_>>().join("x");
        Some(format!(
            "says that '{name}' is {} {dims}, but in the model it is {fact}",
            ty.as_deref().unwrap_or("of any type")
        ))
    }
}
