#!/usr/bin/env bash
# Fail a pipeline when what a lock names cannot load on the GPUs it is for, and annotate the lock.
#
#   ./check.sh works.txt
#
# Options of `abilock check` may follow the file: pylock.toml, uv.lock, poetry.lock or pinned
# requirements. Exit codes: 0 it loads, or all but optional parts; 1 it is broken; 2 wrong usage;
# 3 abilock could not find out.
set -euo pipefail

lock=$1
shift

status=0
abilock check "$lock" --cuda 13.0 --arch sm120 --python 3.12 --machine x86_64 --glibc 2.35 \
    --format json "$@" >findings.json || status=$?

case $status in
0 | 1)
    python3 - findings.json <<'PYTHON'
import json
import os
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
levels = {"fatal": "error", "degraded": "warning", "warning": "notice"}
rows = []
for finding in report["findings"]:
    subject = finding["subject"] + (f" with {finding['object']}" if finding["object"] else "")
    text = f"needs {finding['needs']}; found {finding['found']}. {finding['remedy'] or ''}"
    # The commands of a workflow: a line each, with these characters escaped.
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    level = levels[finding["severity"]]
    print(f"::{level} file={report['prefix']},title={finding['code']}::{subject}: {text}")
    rows.append(f"| {finding['severity']} | {finding['code']} | {subject} |")
print(f"{report['verdict']}: {report['packages']} packages")
if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
    with open(summary, "a", encoding="utf-8") as file:
        file.write(f"### {report['prefix']}: {report['verdict']}\n\n")
        if rows:
            file.write("| severity | code | packages |\n| --- | --- | --- |\n")
            file.write("\n".join(rows) + "\n")
PYTHON
    ;;
*)
    echo "abilock could not decide about $lock" >&2
    ;;
esac
exit "$status"
