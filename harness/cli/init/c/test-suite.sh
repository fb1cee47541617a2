#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds suite.c and runs its suite; further words go to `sandproof run`, such as --provider SPEC (without one: the local
# one that sandproof brings along) or --case 'GLOB'.
set -eu
@FIND_SANDPROOF@
cd "$(dirname "$0")"
make -s suite.so
mkdir -p out
case " $*" in
*" --provider"* | *" --store"* | *" --lock"*) ;;
*) set -- --provider local "$@" ;;
esac
exec "$sandproof" run --suite-plugin ./suite.so --suite clock --results out/results.ndjson "$@"
