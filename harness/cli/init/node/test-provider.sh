#!/bin/sh
# SPDX-License-Identifier: MIT
# Judges provider.mjs; further words go to `sandproof run`, such as --case 'GLOB'.
set -eu
@FIND_SANDPROOF@
cd "$(dirname "$0")"
mkdir -p out
# What the interface of a SandboxProvider has no flag for; see README.md.
more='{"capabilities": {"kill_reach": "session", "kill_grace_ms": 200, "exit_reaps_group": true, "atomic_write": true}}'
exec "$sandproof" run \
	--provider "driver:node sandproof-driver/sandproof-driver.mjs provider ./provider.mjs toyProvider '{}' '$more'" \
	--baseline known.baseline --results out/results.ndjson "$@"
