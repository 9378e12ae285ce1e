#!/usr/bin/env bash
# Fail a pipeline where what a lock names cannot load on the GPUs it is for, and annotate the lock.
#
#   ./check.sh works.txt
#
# Options of `abilock check` may follow the file. Exit codes: 0 it loads, or all but optional parts;
# 1 it is broken; 2 wrong usage; 3 abilock could not find out.
set -euo pipefail

lock=$1
shift

exec abilock check "$lock" --cuda 13.0 --arch sm120 --python 3.12 --machine x86_64 --glibc 2.35 \
    --format github "$@"
