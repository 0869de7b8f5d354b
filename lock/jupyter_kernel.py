"""Write the kernel of `make notebook`: the environment's own Python, with Jupyter's packages added.

    .venv/bin/python lock/jupyter_kernel.py .venv/jupyter

Jupyter has an environment of its own, for TFX holds back what it needs. Its packages come last on
the kernel's path, so that every package of the environment stays as it is locked.
"""

import json
import sys
import sysconfig
from pathlib import Path

START = """\
import sys
sys.path.append({packages!r})
from ipykernel import kernelapp
kernelapp.launch_new_instance()
"""


def main(jupyter):
    packages = sysconfig.get_path("purelib", vars={"base": str(Path(jupyter).absolute())})
    command = [sys.executable, "-c", START.format(packages=packages), "-f", "{connection_file}"]
    kernel = {
        "argv": command,
        "display_name": "yt8m",
        "language": "python",
        "env": {"PATH": f"{Path(sys.executable).parent}:${{PATH}}"},
    }
    place = Path(jupyter, "share", "jupyter", "kernels", "python3", "kernel.json")
    # What lies there may be uv's own copy by another name, which every checkout of the machine has.
    place.unlink(missing_ok=True)
    place.write_text(json.dumps(kernel, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
