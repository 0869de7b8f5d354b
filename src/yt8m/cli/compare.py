"""Action of `yt8m compare`."""

from __future__ import annotations

from pathlib import Path

from yt8m.cli.arguments.runs import CompareArguments
from yt8m.components import storage
from yt8m.components.artifacts.run_record import FILE_NAME
from yt8m.components.console.console import Console
from yt8m.components.registry.versions import require_version
from yt8m.pipeline.results.comparison import compare
from yt8m.pipeline.results.comparison_views import as_page, as_text
from yt8m.pipeline.results.model_results import ModelResults, results_of_run, results_of_version
from yt8m.pipeline.run_record import record_named
from yt8m.pipeline.workspace import layout_of
from yt8m.schemas.errors import UserError


def run(args: CompareArguments, console: Console) -> None:
    a, b = (_results(name, args) for name in (args.a, args.b))
    comparison = compare(a, b, support=args.support)
    text = as_text(comparison)
    if args.html:
        page = str(Path(args.html).absolute())
        storage.write_text(page, as_page(comparison))
        text += f"\n\npage: {page}"
    console.result(comparison.to_dict(), text)


def _results(name: str, args: CompareArguments) -> ModelResults:
    folder, root = storage.absolute(name), args.root
    if storage.exists(storage.join(folder, FILE_NAME)):
        above, _, name = folder.rstrip("/").rpartition("/")
        root = above.rpartition("/")[0]
    elif args.push and name.isdecimal():
        require_version(args.push, int(name))
        return results_of_version(args.push, int(name))
    if not root:
        raise UserError(f"{name}: give --root DIR to compare runs, or --push DIR for versions")
    layout = layout_of(root)
    return results_of_run(layout, record_named(layout, name))
