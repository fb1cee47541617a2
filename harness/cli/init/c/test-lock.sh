#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and judges lock.c; further words go to `sandproof run`, such as --case 'GLOB' or --baseline known.baseline.
set -eu
@FIND_SANDPROOF@
cd "$(dirname "$0")"
make -s lock.so
mkdir -p out
exec "$sandproof" run --lock plugin:./lock.so --suite lock --results out/results.ndjson "$@"
