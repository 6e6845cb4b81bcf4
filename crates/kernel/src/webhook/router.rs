//! Finding the trigger of a request: a tree of path parts. Fixed parts beat parameters, a method beats `ANY`.

use std::collections::HashMap;

use super::Method;
use super::path::{PathPart, PathPattern};

/// Triggers are known by a number, which is whatever the owner of the tree wants it to be.
#[derive(Debug, Default)]
pub struct Router {
    root: Branch,
}

#[derive(Debug, Default)]
struct Branch {
    fixed: HashMap<String, Branch>,
    param: Option<Box<Branch>>,
    ends: Vec<(Method, usize)>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum RouteMatch {
    Trigger(usize),
    /// There are triggers under this path, for these methods.
    OtherMethods(Vec<Method>),
    Nothing,
}

impl Router {
    pub fn add(&mut self, method: Method, path: &PathPattern, trigger: usize) {
        let mut branch = &mut self.root;
        for part in path.parts() {
            branch = match part {
                PathPart::Fixed(text) => branch.fixed.entry(text.clone()).or_default(),
                PathPart::Param(_) => branch.param.get_or_insert_default(),
            };
        }
        branch.ends.push((method, trigger));
    }

    /// `method` is `None` for one that no trigger can name.
    pub fn find(&self, method: Option<Method>, parts: &[String]) -> RouteMatch {
        let mut others = Vec::new();
        if let Some(trigger) = self.root.find(method, parts, &mut others) {
            return RouteMatch::Trigger(trigger);
        }
        others.sort_unstable();
        others.dedup();
        match others.is_empty() {
            true => RouteMatch::Nothing,
            false => RouteMatch::OtherMethods(others),
        }
    }
}

impl Branch {
    fn find(
        &self,
        method: Option<Method>,
        parts: &[String],
        others: &mut Vec<Method>,
    ) -> Option<usize> {
        let Some((first, rest)) = parts.split_first() else {
            return self.end(method, others);
        };
        let fixed = self.fixed.get(first);
        let found = fixed.and_then(|branch| branch.find(method, rest, others));
        found.or_else(|| self.param.as_ref()?.find(method, rest, others))
    }

    fn end(&self, method: Option<Method>, others: &mut Vec<Method>) -> Option<usize> {
        let of = |wanted: Method| {
            let mut ends = self.ends.iter();
            ends.find(|(known, _)| *known == wanted)
                .map(|(_, trigger)| *trigger)
        };
        let found = method.and_then(|method| of(method).or_else(|| of(Method::Any)));
        if found.is_none() {
            others.extend(self.ends.iter().map(|(known, _)| *known));
        }
        found
    }
}

/// What a request says for the parameters of the path it was found by, in order.
pub fn params<'a>(
    path: &'a PathPattern,
    parts: &'a [String],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let pairs = path.parts().iter().zip(parts);
    pairs.filter_map(|(part, said)| match part {
        PathPart::Param(name) => Some((name.as_str(), said.as_str())),
        PathPart::Fixed(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::path::requested;
    use super::*;

    fn router(paths: &[(Method, &str)]) -> Router {
        let mut router = Router::default();
        for (number, (method, path)) in paths.iter().enumerate() {
            router.add(*method, &PathPattern::parse(path).unwrap(), number);
        }
        router
    }

    fn find(router: &Router, method: &str, path: &str) -> RouteMatch {
        router.find(Method::of_request(method), &requested(path).unwrap())
    }

    #[test]
    fn fixed_parts_beat_parameters_and_a_method_beats_any() {
        let router = router(&[
            (Method::Post, "orders/:id"),
            (Method::Get, "orders/new"),
            (Method::Any, "orders/:id/items/:item"),
            (Method::Get, "orders/:order/items/last"),
            (Method::Any, "orders/new"),
        ]);
        assert_eq!(find(&router, "POST", "orders/7"), RouteMatch::Trigger(0));
        assert_eq!(find(&router, "GET", "orders/new"), RouteMatch::Trigger(1));
        assert_eq!(find(&router, "PUT", "orders/new"), RouteMatch::Trigger(4));
        assert_eq!(
            find(&router, "GET", "orders/7/items/last"),
            RouteMatch::Trigger(3)
        );
        assert_eq!(
            find(&router, "PUT", "orders/7/items/last"),
            RouteMatch::Trigger(2)
        );
        assert_eq!(
            find(&router, "GET", "orders/7"),
            RouteMatch::OtherMethods(vec![Method::Post])
        );
        for path in [
            "orders",
            "orders/7/items",
            "ORDERS/7",
            "x",
            "orders/7/items/1/2",
        ] {
            assert_eq!(find(&router, "POST", path), RouteMatch::Nothing, "{path}");
        }
        assert_eq!(
            find(&router, "TRACE", "orders/new"),
            RouteMatch::OtherMethods(vec![Method::Get, Method::Post, Method::Any])
        );
    }

    #[test]
    fn a_branch_that_leads_nowhere_is_left_again() {
        let router = router(&[(Method::Get, "a/b/c"), (Method::Get, "a/:x/d")]);
        assert_eq!(find(&router, "GET", "a/b/d"), RouteMatch::Trigger(1));
    }

    #[test]
    fn parameters_by_name() {
        let path = PathPattern::parse("orders/:id/items/:item").unwrap();
        let parts = requested("orders/a%2Fb/items/2").unwrap();
        let found: Vec<_> = params(&path, &parts).collect();
        assert_eq!(found, [("id", "a/b"), ("item", "2")]);
    }
}
