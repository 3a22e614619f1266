"""What the real DSPy makes of our signatures, answers and saved states: `package.py FOLDER` reads request.json there and
writes response.json, python.json (a state of its own) and again.json (our state, loaded and saved). Exit 77: no dspy."""

import importlib.util
import json
import pathlib
import sys
import typing

if importlib.util.find_spec("dspy") is None:
    sys.exit(77)

import dspy
from dspy.adapters import ChatAdapter, JSONAdapter

TYPES = {"Literal": typing.Literal, "Union": typing.Union, "NoneType": type(None)}


def field(kind, spec):
    bounds = {key: spec[key] for key in ("ge", "le") if key in spec}
    if spec["description"]:
        bounds["desc"] = spec["description"]
    return eval(spec["type"], dict(TYPES)), kind(**bounds)  # the name is from our own test


def signature(spec):
    fields = {f["name"]: field(dspy.InputField, f) for f in spec["inputs"]}
    fields |= {f["name"]: field(dspy.OutputField, f) for f in spec["outputs"]}
    return dspy.Signature(fields, spec["instructions"])


class Program(dspy.Module):
    """Predictors under the paths that the request names."""

    def __init__(self, specs):
        super().__init__()
        self.held = {path: dspy.Predict(signature(spec)) for path, spec in specs.items()}

    def named_parameters(self):
        return list(self.held.items())


def parsed(adapter, predictor, answer):
    try:
        return {"ok": adapter.parse(predictor.signature, answer)}
    except Exception as error:
        return {"error": str(error)}


def main(folder):
    request = json.loads((folder / "request.json").read_text())
    program = Program(request["predictors"])
    response = {"version": dspy.__version__, "messages": {"chat": {}, "json": {}}}
    for path, predictor in program.held.items():
        predictor.demos = request["predictors"][path]["demos"]
        for name, adapter in (("chat", ChatAdapter()), ("json", JSONAdapter())):
            inputs = request["predictors"][path]["values"]
            response["messages"][name][path] = adapter.format(predictor.signature, predictor.demos, inputs)
    response["parsed"] = [parsed(JSONAdapter() if a["form"] == "json" else ChatAdapter(), program.held[a["path"]], a["answer"])
                          for a in request["answers"]]
    program.save(folder / "python.json")

    again = Program(request["predictors"])
    again.load(folder / "ours.json")
    again.save(folder / "again.json")
    (folder / "response.json").write_text(json.dumps(response))


main(pathlib.Path(sys.argv[1]))
