#!/bin/sh
# SPDX-License-Identifier: MIT
# Judges lock.mjs; further words go to `sandproof run`, such as --case 'GLOB' or --baseline known.baseline.
set -eu
@FIND_SANDPROOF@
cd "$(dirname "$0")"
mkdir -p out
exec "$sandproof" run --lock 'driver:node sandproof-driver/sandproof-driver.mjs lock ./lock.mjs ToyLocks' \
	--suite lock --results out/results.ndjson "$@"
