//! Which modules depend on which.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;

type Module = Vec<String>;

/// Modules, and those that each depends on.
#[derive(Debug)]
pub struct Graph(BTreeMap<Module, BTreeSet<Module>>);

impl Graph {
    /// The dependencies of these files.
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

    /// The number of dependencies.
    pub fn edges(&self) -> usize {
        self.0.values().map(BTreeSet::len).sum()
    }

    /// The same without the circles that `glib::wrapper!` needs: a GObject's module names its `imp`, which names the wrapper.
    pub fn without_wrappers(mut self) -> Self {
        for (module, all) in &mut self.0 {
            let imp: Module = module.iter().cloned().chain(["imp".to_owned()]).collect();
            all.remove(&imp);
        }
        self
    }

    /// The graph of the modules right below the root, each with its submodules. The root itself is not part of it.
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

    /// The modules that a module depends on, if only through others.
    fn reached<'a>(&'a self, start: &'a Module) -> BTreeSet<&'a Module> {
        let mut found = BTreeSet::new();
        let mut left = vec![start];
        while let Some(module) = left.pop() {
            left.extend(self.0.get(module).into_iter().flatten().filter(|next| found.insert(*next)));
        }
        found
    }

    /// The groups of modules of which each depends on each other, if only through others; sorted.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            self.0.keys().map(|module| (module, self.reached(module))).collect();
        let back = |from: &Module, to: &Module| reached.get(to).is_some_and(|all| all.contains(from));
        let group = |(module, all): (&&Module, &BTreeSet<&Module>)| -> Vec<String> {
            all.iter().filter(|other| back(module, other)).map(|module| module.join("::")).collect()
        };
        let groups: BTreeSet<_> = reached.iter().map(group).filter(|group| !group.is_empty()).collect();
        groups.into_iter().collect()
    }

    /// A way from a module back to it, if there is one.
    pub fn circle(&self) -> Option<Vec<String>> {
        let mut left = self.0.clone();
        // A module that depends on no remaining module is in no circle.
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

    /// As [`Self::absolute`] for a path outside of `use`, which may begin with an imported name.
    fn absolute_in_text(&self, source: &Source, path: &[String]) -> Option<Module> {
        self.absolute(source, path).or_else(|| {
            let (first, rest) = path.split_first()?;
            let used = source.uses.iter().find(|used| used.name == *first)?;
            Some(self.absolute(source, &used.path)?.into_iter().chain(rest.iter().cloned()).collect())
        })
    }

    /// The file that defines the item that a path from the root names, also where other files re-export it.
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
