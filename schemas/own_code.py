"""Code of the user's own, which the configuration names by a dotted path.

It is one file or package, found like any module: installed, or in the working directory of the
command, and on Kubeflow in the image. Its content is part of the cache keys as our own code's is
(`code_digest`): what it imports from its own folder counts with it.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import importlib
import importlib.util
import symtable
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

from yt8m.schemas.code_digest import find_source, is_installed
from yt8m.schemas.errors import ConfigError, Yt8mError

_WHERE = (
    "it must be installed, or lie in the directory that the command is given in; on Kubeflow it "
    "must be in the image"
)
_NAMES_UNSEEN = {"exec", "globals", "NameError"}  # a module with these may do without a definition
_CHANGE_PATH = ("sys", "site")
_ANY = "*"  # `module.*`: code of the module that is named elsewhere


def load_named(path: str, where: str) -> Any:
    """Import what `path` names; ConfigError, which begins with `where`, if that fails."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{where}: cannot be imported ({error}); {_WHERE}") from error
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{where}: cannot be imported ({error})") from error
    except (OSError, MemoryError, Yt8mError):  # of the machine, or told already
        raise
    # A script that ends itself would end the command, too, as if it had succeeded.
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{where}: cannot be imported ({told_of(error, path)})") from error


def told_of(error: BaseException, path: str) -> str:
    """One line on what code of the dotted path's module raised, and where in it."""
    file = str(find_source(path.rpartition(".")[0]))
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == file]
    place = f"{file}, line {lines[-1]}: " if lines else ""
    said = str(error).partition("Call arguments received by layer")[0]  # Keras tells them all
    return place + " ".join(f"{type(error).__name__}: {said}".rstrip(": ").split())


def missing_module(module: str) -> str:
    """Say why `module` cannot be found; "" where it can."""
    return "" if not module or find_source(module) else f"there is no module {module}; {_WHERE}"


def fault_of(path: str, called_with: Sequence[str] | None = None, subclass_of: str = "") -> str:
    """Say why the class or function at a dotted path cannot be used; "" where nothing is wrong.

    Its source is read and not imported, so a name that the module computes passes here.
    """
    module, _, name = path.rpartition(".")
    file = find_source(module)
    if file is None:
        return missing_module(module)
    if file.suffix != ".py" or name == _ANY or find_source(path):
        return ""
    try:
        source = file.read_bytes()
        tree = ast.parse(source)
        defined = dict(_definitions(tree.body))
        faults = [*_missing_imports(tree)]
        if not is_installed(file):  # a fault in a part of a library that nobody calls is no fault
            faults += _undefined_names(tree, source, str(file))
        for line, problem in faults:
            return f"{file}, line {line}: {problem}"
    except SyntaxError as error:
        return f"{file}, line {error.lineno}: {error.msg}"
    if name in defined:
        problem = "" if called_with is None else _signature_fault(defined[name], called_with)
        if subclass_of and not _may_subclass(defined[name]):
            problem = f"{name} must be a subclass of {subclass_of}"
        return f"{file}, line {defined[name].lineno}: {problem}" if problem else ""
    if {_ANY, "__getattr__"} & set(defined):
        return ""
    close = difflib.get_close_matches(name, defined, n=1, cutoff=0.5)
    hint = f"; did you mean {module}.{close[0]}?" if close else ""
    return f"{file} defines no {name}{hint}"


def _definitions(statements: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """The names that statements of a module bind, also below `if` and `try`."""
    for statement in statements:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, statement
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from ((a.asname or a.name.partition(".")[0], statement) for a in aliases)
            case _:
                nodes = list(ast.walk(statement))
                names = [
                    n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                ]
                yield from ((name, statement) for name in names)
                yield from _definitions(
                    [n for n in nodes if isinstance(n, ast.stmt) and n is not statement]
                )


def _missing_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The lines whose import fails, of those that nothing guards, and why.

    Only until code that may change where modules are looked for.
    """
    for statement in tree.body:
        match statement:
            case ast.Import(names=aliases):
                names = [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(name), level=0):
                names = [name]
            case _:
                continue
        for name in names:
            top = name.partition(".")[0]
            if not _is_there(top):
                yield statement.lineno, missing_module(top)
            elif top in _CHANGE_PATH or not _is_of_others(top):
                return


def _is_there(top: str) -> bool:
    return top in sys.modules or importlib.util.find_spec(top) is not None


def _is_of_others(top: str) -> bool:
    """Whether a module is of Python, of yt8m or of an installed package, and not the user's."""
    if top in sys.stdlib_module_names or top == __name__.partition(".")[0]:
        return True
    file = find_source(top)
    return file is not None and is_installed(file)


def _undefined_names(tree: ast.Module, source: bytes, file: str) -> Iterator[tuple[int, str]]:
    """The lines with a name that no line of the module binds, such as one that is not imported."""
    bound, used = set(dir(builtins)), set[str]()
    text = importlib.util.decode_source(source)
    for table in _tables(symtable.symtable(text, file, "exec")):
        for symbol in table.get_symbols():
            is_bound = symbol.is_assigned() or symbol.is_imported() or symbol.is_parameter()
            (bound if is_bound or symbol.is_namespace() else used).add(symbol.get_name())
    takes_all = any(
        isinstance(node, ast.ImportFrom) and node.names[0].name == _ANY for node in ast.walk(tree)
    )
    if takes_all or _NAMES_UNSEEN & used:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in used - bound and not node.id.startswith("__"):
            yield node.lineno, f"{node.id} is not defined; import it, or correct the name"


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for below in table.get_children():
        yield from _tables(below)


def _may_subclass(definition: ast.stmt) -> bool:
    """Whether the definition can be a class with a base other than `object`."""
    match definition:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return False
        case ast.ClassDef(bases=bases):
            return any(ast.unparse(base) != "object" for base in bases)
        case _:  # an import or an assignment
            return True


def _signature_fault(definition: ast.stmt, called_with: Sequence[str]) -> str:
    """Say why a call with these arguments would fail; "" where nothing shows that it would."""
    if getattr(definition, "decorator_list", ()):  # which may change it
        return ""
    match definition:
        case ast.FunctionDef(name=name, args=args):
            bound = 0
        case ast.ClassDef(name=name, body=body):
            constructors = [
                f for f in body if isinstance(f, ast.FunctionDef) and f.name == "__init__"
            ]
            if not constructors:
                return ""
            args, bound = constructors[-1].args, 1  # self
        case _:
            return ""
    given = len(called_with) + bound
    taken = len(args.posonlyargs) + len(args.args)
    required = taken - len(args.defaults)
    is_free = all(default is not None for default in args.kw_defaults)
    if required <= given and (given <= taken or args.vararg) and is_free:
        return ""
    call = f"with {', '.join(called_with)}" if called_with else "without arguments"
    return f"{name}({ast.unparse(args)}) cannot be called {call}"
