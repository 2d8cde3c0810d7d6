//! Which modules depend on which.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;

type Module = Vec<String>;

/// Modules, and those that each depends on.
#[derive(Debug)]
pub struct Graph(BTreeMap<Module, BTreeSet<Module>>);

impl Graph {
    /// Of these files.
    pub fn of(sources: &[Source]) -> Self {
        let files = Files(sources.iter().map(|source| (source.module.clone(), source)).collect());
        let dependencies = |source: &Source| {
            let uses =
                source.uses.iter().filter(|used| !(used.public && source.is_top)).map(|used| &used.path);
            let of_names = uses.filter_map(|path| files.absolute(source, path));
            let of_paths = source.paths.iter().filter_map(|path| files.absolute_in_text(source, path));
            let found =
                of_names.chain(of_paths).filter_map(|path| files.defining(&path, &mut BTreeSet::new()));
            found.filter(|module| *module != source.module).collect()
        };
        Self(sources.iter().map(|source| (source.module.clone(), dependencies(source))).collect())
    }

    /// How many there are.
    pub fn edges(&self) -> usize {
        self.0.values().map(BTreeSet::len).sum()
    }

    /// The same without these, each from and to.
    pub fn without(mut self, edges: &[[&str; 2]]) -> Self {
        for [from, to] in edges {
            let [from, to] = [from, to].map(|name| name.split("::").map(str::to_owned).collect::<Module>());
            self.0.entry(from).or_default().remove(&to);
        }
        self
    }

    /// That of the modules right below the root, each with all that is in it. The root itself is no part of it.
    pub fn of_rooms(&self) -> Self {
        let mut rooms: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (from, all) in &self.0 {
            for to in all {
                if let (Some(from), Some(to)) = (from.first(), to.first())
                    && from != to
                {
                    rooms.entry(vec![from.clone()]).or_default().insert(vec![to.clone()]);
                }
            }
        }
        Self(rooms)
    }

    /// A way from a module back to it, if there is one.
    pub fn circle(&self) -> Option<Vec<String>> {
        let mut left = self.0.clone();
        // Whoever depends on nothing that is left is in no circle.
        loop {
            let names: BTreeSet<Module> = left.keys().cloned().collect();
            left.values_mut().for_each(|all| all.retain(|module| names.contains(module)));
            left.retain(|_, all| !all.is_empty());
            if left.len() == names.len() {
                break;
            }
        }
        let mut way: Vec<&Module> = vec![left.keys().next()?];
        loop {
            let next = left.get(*way.last()?)?.first()?;
            let before = way.iter().position(|module| *module == next);
            way.push(next);
            if let Some(start) = before {
                return Some(way[start..].iter().map(|module| module.join("::")).collect());
            }
        }
    }
}

struct Files<'a>(BTreeMap<Module, &'a Source>);

impl Files<'_> {
    fn has(&self, module: &[String]) -> bool {
        self.0.contains_key(module)
    }

    /// A path of `use` from the root on; none where it leads out of the crate.
    fn absolute(&self, source: &Source, path: &[String]) -> Option<Module> {
        let mut base = source.module.clone();
        let (first, mut rest) = path.split_first()?;
        match first.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                base.pop();
                while let Some(("super", after)) =
                    rest.split_first().map(|(part, after)| (part.as_str(), after))
                {
                    base.pop();
                    rest = after;
                }
            }
            _ => {
                let child: Module = base.iter().chain([first]).cloned().collect();
                return self.has(&child).then(|| base.iter().chain(path).cloned().collect());
            }
        }
        Some(base.into_iter().chain(rest.iter().cloned()).collect())
    }

    /// The same of a path in the text, which may begin with a name that was brought in.
    fn absolute_in_text(&self, source: &Source, path: &[String]) -> Option<Module> {
        self.absolute(source, path).or_else(|| {
            let (first, rest) = path.split_first()?;
            let used = source.uses.iter().find(|used| used.name == *first)?;
            Some(self.absolute(source, &used.path)?.into_iter().chain(rest.iter().cloned()).collect())
        })
    }

    /// The file that defines what a path from the root on names, through whoever passes it on.
    fn defining(&self, path: &[String], seen: &mut BTreeSet<Module>) -> Option<Module> {
        let length = (0..=path.len()).rev().find(|length| self.has(&path[..*length]))?;
        let (module, rest) = path.split_at(length);
        let source = self.0.get(module)?;
        let Some(name) = rest.first().filter(|name| !source.defines.contains(*name)) else {
            return Some(module.to_vec());
        };
        let used = source.uses.iter().find(|used| used.name == *name);
        let before = used.and_then(|used| self.absolute(source, &used.path));
        match before {
            Some(before) if seen.insert(before.clone()) => {
                self.defining(&before.into_iter().chain(rest[1..].iter().cloned()).collect::<Vec<_>>(), seen)
            }
            _ => Some(module.to_vec()),
        }
    }
}
