#!/usr/bin/env bash
# Lock the stack of pyproject.toml for a Blackwell server and export it for uv.
# Options of `abilock resolve` may be added: ./lock.sh --upgrade
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

abilock resolve --cuda 13.0 --gpu 'RTX PRO 6000' --python 3.12 --machine x86_64 --glibc 2.35 "$@"
abilock export --to uv -o requirements.txt
