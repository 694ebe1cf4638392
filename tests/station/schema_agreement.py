"""The JSON schemas of boards and plans say what the loader says.

Every shipped file, a board with what no shipped one has, and every file made from one by deleting a value, giving it a wrong type or
adding an unknown key, is put to both. What the loader takes, the schema must take; a wrong type or
an unknown key must be refused by both.

usage: schema_agreement.py BOARDS_FOLDER ASSAY_PROGRAM MORE_BOARD...
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

boards = pathlib.Path(sys.argv[1])
program = sys.argv[2]
more_boards = [pathlib.Path(name) for name in sys.argv[3:]]


def places(node, path=()):
    """Paths of all values below the root."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        yield path + (key,)
        if isinstance(value, (dict, list)):
            yield from places(value, path + (key,))


def parent_of(node, path):
    for key in path[:-1]:
        node = node[key]
    return node


def mutations(document):
    """(what, must both refuse, document)"""
    yield "as it is", False, document
    for path in places(document):
        # Below these the catalog of probes decides, which no schema knows.
        both = not {"with", "limits"} & set(path[:-1]) and path[-1] not in ("with", "limits")
        changed = copy.deepcopy(document)
        del parent_of(changed, path)[path[-1]]
        yield f"without {path}", False, changed
        for wrong in (None, {"a": 1}, [None], -1.5e300, ""):
            changed = copy.deepcopy(document)
            parent_of(changed, path)[path[-1]] = wrong
            yield f"{path} = {wrong}", both, changed
        if isinstance(parent_of(document, path), dict):
            changed = copy.deepcopy(document)
            parent_of(changed, path)["surprise"] = 1
            yield f"surprise beside {path}", both, changed


def main():
    failures = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, files in (("board", [*boards.glob("*.json"), *more_boards]), ("plan", boards.glob("plans/*.json"))):
            schema = json.loads((boards / "schema" / f"{kind}.schema.json").read_text())
            jsonschema.Draft202012Validator.check_schema(schema)
            check = jsonschema.Draft202012Validator(schema)
            cases = []
            for source in files:
                for what, must_refuse, document in mutations(json.loads(source.read_text())):
                    path = pathlib.Path(folder) / f"{kind}-{len(cases)}.json"
                    path.write_text(json.dumps(document))
                    cases.append((f"{source.name}: {what}", must_refuse, document, path))
            command = [program, f"{kind}s", "validate"] + [str(case[3]) for case in cases]
            accepted = {
                line.split(":")[0]
                for line in subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
            }
            for what, must_refuse, document, path in cases:
                count += 1
                loader = str(path) in accepted
                by_schema = check.is_valid(document)
                # An empty "match" list and the like are the loader's to judge.
                if (loader and not by_schema) or (must_refuse and (loader or by_schema)):
                    failures += 1
                    print(f"{what}: loader {loader}, schema {by_schema}")
    print(f"{count} files, {failures} disagreements")
    return 1 if failures or count < 100 else 0


sys.exit(main())
