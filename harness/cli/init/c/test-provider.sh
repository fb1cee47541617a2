#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and judges the commands of provider.c, which is all that it offers so far; without --suite everything is asked for.
# Further words go to `sandproof run`, such as --case 'GLOB' or --baseline known.baseline.
set -eu
cd "$(dirname "$0")"
make -s provider.so
mkdir -p out
exec "${SANDPROOF:-sandproof}" run --provider plugin:./provider.so --suite exec --results out/results.ndjson "$@"
