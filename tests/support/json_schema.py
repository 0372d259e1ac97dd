"""A validator for the part of JSON Schema that the schemas of this package use."""

import re

TYPES = {"object": dict, "array": list, "string": str, "number": (int, float), "null": type(None)}
KNOWN = {"$schema", "title", "type", "additionalProperties", "required", "properties", "enum"}
KNOWN |= {"const", "pattern", "minLength", "minItems", "minProperties", "minimum", "items"}


def breaches(schema, value, place="$"):
    """Yield the places where a value violates a schema."""
    assert {*schema} <= KNOWN, f"{place}: a word of JSON Schema that is not checked here"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, TYPES[kind]) for kind in kinds):
        yield f"{place} is no {kinds}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{place} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place} is none of {schema['enum']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{place} is below {schema['minimum']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{place} does not match {schema['pattern']}"
    for word in {"minLength", "minItems", "minProperties"} & {*schema}:
        if len(value) < schema[word]:
            yield f"{place} is too short"
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from breaches(schema.get("items", {}), item, f"{place}[{number}]")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        yield from (
            f"{place}.{name} is missing" for name in {*schema.get("required", [])} - {*value}
        )
        for name, inner in value.items():
            if name in known:
                yield from breaches(known[name], inner, f"{place}.{name}")
            elif schema.get("additionalProperties") is False:
                yield f"{place}.{name} is not expected"
