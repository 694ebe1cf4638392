"""Validates every line of a journal against the OCP Test & Validation output schema 2.0.

usage: validate_journal.py SCHEMA_FOLDER JOURNAL
"""
import json
import pathlib
import sys

import jsonschema


def validator(folder):
    schemas = [json.loads(path.read_text()) for path in pathlib.Path(folder).glob("*.json")]
    store = {}
    for schema in schemas:
        store[schema["$id"]] = schema
        # References leave out the host part.
        store[schema["$id"].replace("https://github.com", "")] = schema
    root = store["https://github.com/opencomputeproject/ocp-diag-core/output"]
    resolver = jsonschema.RefResolver(base_uri=root["$id"], referrer=root, store=store)
    jsonschema.Draft202012Validator.check_schema(root)
    return jsonschema.Draft202012Validator(
        root, resolver=resolver, format_checker=jsonschema.FormatChecker()
    )


def main():
    check = validator(sys.argv[1])
    lines = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
    bad = 0
    for number, line in enumerate(lines, 1):
        event = json.loads(line, parse_constant=lambda name: sys.exit(f"line {number}: {name}"))
        for error in check.iter_errors(event):
            bad += 1
            print(f"line {number}: {error.message[:300]}")
    print(f"{len(lines)} lines, {bad} errors")
    return 1 if bad or not lines else 0


sys.exit(main())
