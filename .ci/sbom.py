"""Write a CycloneDX list of what abilock runs with: an environment's distributions, as installed.

    python .ci/sbom.py PYTHON_OF_THE_ENVIRONMENT > dist/abilock.cdx.json

The environment holds abilock and its dependencies, and nothing else. Same environment, same bytes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

_LIST = """
import json
from importlib import metadata
rows = []
for dist in metadata.distributions():
    meta = dist.metadata
    rows.append({
        "name": meta["Name"],
        "version": dist.version,
        "license": meta.get("License-Expression") or meta.get("License") or "",
        "requires": dist.requires or [],
    })
print(json.dumps(rows))
"""


def sbom(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The document for these distributions; of abilock the dependencies are its components."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    by_name = {str(canonicalize_name(row["name"])): row for row in rows}
    reference = {name: f"pkg:pypi/{name}@{row['version']}" for name, row in by_name.items()}
    edges = {}
    for name, row in sorted(by_name.items()):
        wanted = [Requirement(line) for line in row["requires"]]
        needed = {
            str(canonicalize_name(each.name))
            for each in wanted
            if each.marker is None or each.marker.evaluate({"extra": ""})
        }
        edges[name] = sorted(needed & by_name.keys())
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _component(by_name["abilock"], "application", reference)},
        "components": [
            _component(row, "library", reference)
            for name, row in sorted(by_name.items())
            if name != "abilock"
        ],
        "dependencies": [
            {"ref": reference[name], "dependsOn": [reference[each] for each in needed]}
            for name, needed in edges.items()
        ],
    }


def _component(row: dict[str, Any], kind: str, reference: dict[str, str]) -> dict[str, Any]:
    from packaging.utils import canonicalize_name

    address = reference[str(canonicalize_name(row["name"]))]
    found = {
        "type": kind,
        "bom-ref": address,
        "name": row["name"],
        "version": row["version"],
        "purl": address,
    }
    name = row["license"].strip().partition("\n")[0]
    return found | ({"licenses": [{"license": {"name": name[:200]}}]} if name else {})


def main() -> None:
    """List the environment of the Python that is named."""
    (python,) = sys.argv[1:]
    listed = subprocess.run([python, "-c", _LIST], check=True, capture_output=True, text=True)
    json.dump(sbom(json.loads(listed.stdout)), sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
