#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and judges provider.c; further words go to `sandproof run`, such as --case 'GLOB' or --baseline known.baseline.
set -eu
@FIND_SANDPROOF@
cd "$(dirname "$0")"
make -s provider.so
mkdir -p out
exec "$sandproof" run --provider plugin:./provider.so --results out/results.ndjson "$@"
