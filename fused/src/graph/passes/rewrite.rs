//! Going through a graph's nodes, and writing some of them anew.

use super::super::{Binary, Builder, Elements, Graph, Node, Operator, Refusal, Unary, ValueId};

/// What is written instead of a node: its output's new value, or none if the rule does not apply. The node's inputs are values of the new
/// graph; its output has the dimensions and the type of the old one.
pub type Rule = fn(&mut Rewrite, &Node) -> Result<Option<ValueId>, Refusal>;

/// A graph that is being written anew.
pub struct Rewrite {
    /// The new graph: it has all values of the old one.
    pub builder: Builder,
    /// By value: the node of the new graph that makes it.
    makers: Vec<Option<usize>>,
    /// The number of nodes whose outputs are in `makers`.
    noted: usize,
    /// By value: how many nodes and outputs read it.
    uses: Vec<usize>,
}

impl Rewrite {
    /// Goes through all nodes once. Returns whether anything changed.
    pub fn run(graph: &mut Graph, rules: &[Rule]) -> Result<bool, Refusal> {
        let nodes = std::mem::take(&mut graph.nodes);
        let uses = uses(graph, &nodes);
        let builder = Builder { graph: std::mem::take(graph), ..Builder::default() };
        let mut rewrite = Self { makers: vec![None; uses.len()], noted: 0, uses, builder };
        let mut moved: Vec<ValueId> = (0..rewrite.uses.len()).map(ValueId).collect();
        let mut is_changed = false;
        for mut node in nodes {
            for input in &mut node.inputs {
                *input = moved[input.0];
            }
            rewrite.builder.name.clone_from(&node.name);
            match rewrite.replaced(&node, rules)? {
                Some(value) => {
                    is_changed = true;
                    moved[node.output.0] = value;
                    rewrite.count(value, node.output);
                }
                None => rewrite.builder.graph.nodes.push(node),
            }
            rewrite.note();
        }
        rewrite.outputs(&moved);
        *graph = rewrite.builder.graph;
        Ok(is_changed)
    }

    /// What is instead of a node: of constants a constant, else what the first rule says that applies.
    fn replaced(&mut self, node: &Node, rules: &[Rule]) -> Result<Option<ValueId>, Refusal> {
        let value = self.builder.graph.value(node.output);
        let (ty, dims) = (value.ty, value.dims.clone());
        if self.builder.can_fold(&node.operator, &node.inputs, &dims) && !self.is_output(node.output) {
            return self.builder.node(node.operator.clone(), &node.inputs, ty, &dims).map(Some);
        }
        if self.is_copy(node) {
            return Ok(None);
        }
        for rule in rules {
            if let Some(value) = rule(self, node)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// Notes which nodes make what, of those that were added.
    fn note(&mut self) {
        let nodes = &self.builder.graph.nodes;
        self.makers.resize(self.builder.graph.values.len(), None);
        for (at, node) in nodes.iter().enumerate().skip(self.noted) {
            self.makers[node.output.0] = Some(at);
        }
        self.noted = nodes.len();
    }

    /// Counts what read an old value as readers of a new one.
    fn count(&mut self, value: ValueId, old: ValueId) {
        self.uses.resize(self.builder.graph.values.len(), 0);
        let uses = self.uses[old.0];
        self.uses[value.0] = (self.uses[value.0] + uses).saturating_sub(1).max(uses);
    }

    /// Finds the outputs again. Each stays one that a node makes for it alone, and has its name.
    fn outputs(&mut self, moved: &[ValueId]) {
        let old = std::mem::take(&mut self.builder.graph.outputs);
        let mut new: Vec<ValueId> = Vec::with_capacity(old.len());
        for output in &old {
            let mut id = moved[output.0];
            let name = self.builder.graph.value(*output).name.clone();
            // Another output keeps its own value.
            let is_taken = new.contains(&id) || id != *output && old.contains(&id) && moved[id.0] == id;
            if self.maker(id).is_none() || is_taken {
                let value = self.builder.graph.value(id);
                let (ty, dims) = (value.ty, value.dims.clone());
                let copy = self.builder.value(ty, &dims);
                let (name, operator) = (name.clone(), Operator::Reshape);
                self.builder.graph.nodes.push(Node { name, operator, inputs: vec![id], output: copy });
                id = copy;
            }
            self.builder.graph.values[id.0].name = name;
            new.push(id);
        }
        self.builder.graph.outputs = new;
    }

    /// Whether a node only copies an input, a constant or an output to an output, which must be made by a node of its own.
    fn is_copy(&self, node: &Node) -> bool {
        let source = node.inputs[0];
        node.operator == Operator::Reshape
            && self.dims(source) == self.dims(node.output)
            && self.is_output(node.output)
            && (self.maker(source).is_none() || self.is_output(source))
    }

    fn is_output(&self, id: ValueId) -> bool {
        self.builder.graph.outputs.contains(&id)
    }

    /// The node that makes a value.
    pub fn maker(&self, id: ValueId) -> Option<&Node> {
        let at = self.makers.get(id.0).copied().flatten()?;
        self.builder.graph.nodes.get(at)
    }

    /// Whether one node alone reads a value.
    pub fn is_read_once(&self, id: ValueId) -> bool {
        self.uses.get(id.0).is_some_and(|uses| *uses <= 1)
    }

    /// A value's dimensions.
    pub fn dims(&self, id: ValueId) -> &[usize] {
        self.builder.dims(id)
    }

    /// The number that a constant is, whatever its dimensions.
    pub fn uniform(&self, id: ValueId) -> Option<f64> {
        self.builder.elements(id).and_then(Elements::uniform)
    }

    /// What a function is of, where it makes this value.
    pub fn unary(&self, id: ValueId) -> Option<(Unary, ValueId)> {
        let node = self.maker(id)?;
        let Operator::Unary(function) = node.operator else { return None };
        Some((function, node.inputs[0]))
    }

    /// What a function of two tensors is of, where it makes this value.
    pub fn binary(&self, id: ValueId) -> Option<(Binary, [ValueId; 2])> {
        let node = self.maker(id)?;
        let Operator::Binary(function) = node.operator else { return None };
        Some((function, [node.inputs[0], node.inputs[1]]))
    }

    /// Of two values, the one that is no number, and the number that the other one is; whether the number comes second. The output has the
    /// first one's dimensions.
    pub fn with_number(&self, [a, b]: [ValueId; 2]) -> Option<(ValueId, f64, bool)> {
        let keeps = |x: ValueId, number: ValueId| {
            let (x, number) = (self.dims(x), self.dims(number));
            super::super::shape::broadcast(x, number).is_ok_and(|dims| dims == x)
        };
        match (self.uniform(a), self.uniform(b)) {
            (None, Some(number)) if keeps(a, b) => Some((a, number, true)),
            (Some(number), None) if keeps(b, a) => Some((b, number, false)),
            _ => None,
        }
    }
}

/// How many nodes and outputs read each value.
fn uses(graph: &Graph, nodes: &[Node]) -> Vec<usize> {
    let mut uses = vec![0; graph.values.len()];
    let read = nodes.iter().flat_map(|node| &node.inputs).chain(&graph.outputs);
    read.for_each(|id| uses[id.0] += 1);
    uses
}
