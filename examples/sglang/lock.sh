#!/usr/bin/env bash
# Lock SGLang with the overrides, as of the day they were tried, and export it for uv.
# Options of `abilock resolve` may be added: ./lock.sh --offline
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

abilock resolve -r requirements.in --override overrides.txt --exclude-newer 2026-02-28 \
    --cuda 13.0 --arch sm120 --python 3.12 --machine x86_64 --glibc 2.35 "$@"
abilock export --to uv -o requirements.txt
