#!/bin/sh
# SPDX-License-Identifier: MIT
# Judges lock.py; further words go to `sandproof run`, such as --case 'GLOB' or --baseline known.baseline.
set -eu
@FIND_SANDPROOF@
cd "$(dirname "$0")"
mkdir -p out
exec "$sandproof" run --lock 'driver:python3 driver.py' --suite lock --results out/results.ndjson "$@"
