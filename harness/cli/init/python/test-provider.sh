#!/bin/sh
# SPDX-License-Identifier: MIT
# Judges provider.py; further words go to `sandproof run`, such as --case 'GLOB' or --baseline known.baseline.
set -eu
@FIND_SANDPROOF@
cd "$(dirname "$0")"
mkdir -p out
exec "$sandproof" run --provider 'driver:python3 driver.py' --results out/results.ndjson "$@"
