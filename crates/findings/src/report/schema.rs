//! (pure) Checks documents against the committed schemas; for tests.

use serde_json::Value;

/// Whether `value` obeys `schema`, of which `root` is the whole: what of JSON Schema the committed
/// schemas use, and no more.
///
/// # Errors
/// With the place and the rule that it breaks; an unknown keyword is one.
pub fn check(at: &str, value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    for (keyword, rule) in schema.as_object().ok_or("a schema is an object")? {
        keyword_holds(keyword, rule, value, root)
            .map_err(|why| format!("{at}: {keyword}: {why}"))?;
        if let ("$ref", Some(name)) = (keyword.as_str(), rule.as_str()) {
            let target = root.pointer(name.trim_start_matches('#')).ok_or("dangling $ref")?;
            check(at, value, target, root)?;
        }
        let items = value.as_array().filter(|_| keyword == "items");
        for (index, item) in items.into_iter().flatten().enumerate() {
            check(&format!("{at}/{index}"), item, rule, root)?;
        }
        let object = value.as_object();
        if let ("properties", Some(object)) = (keyword.as_str(), object) {
            for (name, rule) in rule.as_object().unwrap() {
                let held = object.get(name);
                held.map_or(Ok(()), |held| check(&format!("{at}/{name}"), held, rule, root))?;
            }
        }
        if let ("additionalProperties", Some(object)) = (keyword.as_str(), object) {
            let known = schema.get("properties").and_then(Value::as_object);
            let others = object
                .iter()
                .filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)));
            for (name, held) in others {
                match rule {
                    Value::Bool(allowed) if *allowed => {}
                    Value::Bool(_) => return Err(format!("{at}: unknown key {name}")),
                    rule => check(&format!("{at}/{name}"), held, rule, root)?,
                }
            }
        }
    }
    Ok(())
}

fn keyword_holds(keyword: &str, rule: &Value, value: &Value, _: &Value) -> Result<(), String> {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        _ => false,
    };
    let texts = || rule.as_array().into_iter().flatten().filter_map(Value::as_str);
    let holds = match keyword {
        "type" => rule.as_str().map_or_else(|| texts().any(is), is),
        "enum" => rule.as_array().is_some_and(|allowed| allowed.contains(value)),
        "required" => texts().all(|name| value.get(name).is_some()),
        "minimum" => value.as_f64().is_none_or(|n| Some(n) >= rule.as_f64()),
        "maximum" => value.as_f64().is_none_or(|n| Some(n) <= rule.as_f64()),
        "$schema"
        | "$id"
        | "$defs"
        | "$ref"
        | "title"
        | "description"
        | "items"
        | "properties"
        | "additionalProperties" => true,
        other => return Err(format!("the validator does not know `{other}`")),
    };
    holds.then_some(()).ok_or_else(|| format!("{value} is not {rule}"))
}
