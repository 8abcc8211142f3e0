"""Whether JSON fits a JSON Schema, for the few words that the schema beside this file uses: fits.py SCHEMA FILE. What the words
cannot say of a solution stands in main()."""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}
KNOWN = {"$comment", "type", "required", "additionalProperties", "properties", "enum", "minLength", "minItems", "items", "pattern"}


def misfits(value, schema, at):
    unknown = set(schema) - KNOWN
    assert not unknown, f"this checker does not know {unknown}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    if "type" in schema and type(value) is not TYPES[schema["type"]]:
        yield f"{at}: {type(value).__name__} instead of {schema['type']}"
        return
    if isinstance(value, (str, list)) and len(value) < schema.get("minLength", schema.get("minItems", 0)):
        yield f"{at}: too short"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{at}: {value!r} does not match {schema['pattern']}"
    for i, item in enumerate(value if isinstance(value, list) else []):
        yield from misfits(item, schema["items"], f"{at}[{i}]")
    if isinstance(value, dict):
        yield from (f"{at}: no {name}" for name in schema["required"] if name not in value)
        for name, member in value.items():
            if name in schema["properties"]:
                yield from misfits(member, schema["properties"][name], f"{at}.{name}")
            elif schema.get("additionalProperties") is False:
                yield f"{at}: {name} is not a member"


def main():
    schema, solution = (json.load(open(path)) for path in sys.argv[1:3])
    found = list(misfits(solution, schema, "solution"))
    paths = [s["path"] for s in solution["sources"]]
    entry = solution["spec"]["entry_point"].split("::")[0]
    found += [f"{path}: twice" for path in paths if paths.count(path) > 1] + ([] if entry in paths else [f"{entry} is no source"])
    print("\n".join(found) or "fits")


main()
