#!/usr/bin/env bash
# Fail a pipeline when a pinned set cannot work on the GPUs it is for.
#
#   ./check.sh works.txt
#
# Options of `abilock why` may follow the file. Exit codes: 0 the set works, 1 it cannot work,
# 2 wrong usage, 3 abilock could not find out.
set -euo pipefail

set_file=$1
shift

status=0
abilock why -r "$set_file" --cuda 13.0 --arch sm120 --python 3.12 --machine x86_64 --glibc 2.35 \
    --format json "$@" >verdict.json || status=$?

case $status in
0 | 1)
    python3 - verdict.json <<'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    verdict = json.load(file)
print(f"{verdict['verdict']}, {verdict['grade']}: {' with '.join(verdict['requests'])}")
for reason in verdict["reasons"]:
    if reason["severity"] == "fatal":
        print(f"  {reason['code']}: {reason['subject']} with {reason['object']}")
for other in verdict["alternatives"]:
    changes = (f"{change['name']} {change['to']}" for change in other["change"])
    print(f"  instead: {', '.join(changes)} ({other['grade']})")
PYTHON
    ;;
*)
    echo "abilock could not decide about $set_file" >&2
    ;;
esac
exit "$status"
