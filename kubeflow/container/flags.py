"""Words of a container's command that a Workflow's status repeats eight times, in their short form.

The compiler writes them (`spec/compile.py`), and the entry point reads them.
"""

# TFX's name -> ours.
SHORT_FLAGS = {
    "--executor_class_path": "--executor",
    "--json_serialized_invocation_args": "--given",
}
TFX_TYPES = "tfx."  # what the title of a type begins with if nothing is said
