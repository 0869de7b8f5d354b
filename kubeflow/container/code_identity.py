"""Identity of the code that a task runs, computed in its container.

The machine that compiled the pipeline may have had other code than the image, or none of the user's
own. So the digests that were compiled in are replaced, before anything asks whether the task was
done before, and before its executor puts them on record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from yt8m.components.evaluator.config import EvaluatorConfig
from yt8m.components.example_gen.config import DataConfig
from yt8m.schemas.code_digest import code_digest, module_of
from yt8m.schemas.config_tree import ConfigNode, from_dict
from yt8m.schemas.roles import own_modules

_VERSION, _PATHS = "code_version", "code"
_FUNCTIONS = "custom_config"  # of TFX's components, which lists its code (`declaration.py`)
# The `config` of steps that run code of the user's own, by executor.
CONFIGS: Mapping[str, type[ConfigNode]] = {
    "yt8m.components.example_gen.executor.Executor": DataConfig,
    "yt8m.components.evaluator.executor.Executor": EvaluatorConfig,
}


def identify_code(executor: str, executor_input: Mapping[str, Any]) -> None:
    """Put the digest of the code that is here into the task's parameters, in place."""
    parameters = executor_input.get("inputs", {}).get("parameterValues", {})
    if _VERSION in parameters:
        parameters[_VERSION] = code_digest(module_of(executor), *_own_modules(executor, parameters))
    functions = json.loads(parameters.get(_FUNCTIONS) or "{}")
    if _VERSION in functions:
        functions[_VERSION] = code_digest(*functions[_PATHS])
        parameters[_FUNCTIONS] = json.dumps(functions, sort_keys=True)


def _own_modules(executor: str, parameters: Mapping[str, Any]) -> Iterable[str]:
    node = CONFIGS.get(executor)
    return own_modules(from_dict(node, json.loads(parameters["config"]))) if node else ()
