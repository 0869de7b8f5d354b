"""Compare two runs of a root, or two pushed versions: what differs, and which is better.

Settings that differ, metrics with the interval of their difference, the classes that gained and
lost most. A run is named by its id, or by the folder below `<root>/runs` where it is of another
root; a version by its number. --html writes one page with the training curves over one another
and every class.

examples:
  yt8m compare 20260301-030000-000000 20260302-030000-000000 --root demo/run
  yt8m compare 3 4 --push demo/models
  yt8m compare 3 4 --push demo/models --html compared.html
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from yt8m.components.console.console import Console
from yt8m.schemas.errors import UserError

if TYPE_CHECKING:
    from yt8m.pipeline.results.model_results import ModelResults


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="a run or a version, the one to compare with")
    parser.add_argument("b", metavar="B", help="another of the same kind")
    parser.add_argument("--root", metavar="DIR", help="of the runs, as given to `yt8m run`")
    parser.add_argument("--push", metavar="DIR", help="of the versions: the registry")
    parser.add_argument(
        "--support", type=int, default=10, metavar="N", help="videos a class must have (10)"
    )
    parser.add_argument("--html", metavar="FILE", help="write a page with plots and all classes")


def run(args: argparse.Namespace, console: Console) -> None:
    from yt8m.components import storage
    from yt8m.pipeline.results.comparison import compare
    from yt8m.pipeline.results.comparison_views import as_page, as_text

    a, b = (_results(name, args) for name in (args.a, args.b))
    found = compare(a, b, support=args.support)
    text = as_text(found)
    if args.html:
        page = str(Path(args.html).absolute())
        storage.write_text(page, as_page(found))
        text += f"\n\npage: {page}"
    console.result(found.to_dict(), text)


def _results(name: str, args: argparse.Namespace) -> ModelResults:
    from yt8m.cli.arguments import layout_of, record_named
    from yt8m.components.artifacts.run_record import FILE_NAME
    from yt8m.components.registry.versions import require_version
    from yt8m.pipeline.results.model_results import results_of_run, results_of_version

    folder = Path(name)
    if (folder / FILE_NAME).is_file():
        args = argparse.Namespace(root=str(folder.absolute().parents[1]))
        name = folder.absolute().name
    elif args.push and name.isdecimal():
        require_version(args.push, int(name))
        return results_of_version(args.push, int(name))
    elif not args.root:
        raise UserError(f"{name}: give --root DIR to compare runs, or --push DIR for versions")
    layout = layout_of(args)
    return results_of_run(layout, record_named(layout, name))
