#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and judges store.c; further words go to `sandproof run`, such as --case 'GLOB' or --baseline known.baseline.
set -eu
@FIND_SANDPROOF@
cd "$(dirname "$0")"
make -s store.so
mkdir -p out
exec "$sandproof" run --store plugin:./store.so --suite store --results out/results.ndjson "$@"
