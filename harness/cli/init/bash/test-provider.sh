#!/bin/sh
# SPDX-License-Identifier: MIT
# Judges the commands of driver.bash, which is all that it offers so far; without --suite everything is asked for.
# Further words go to `sandproof run`, such as --case 'GLOB'.
set -eu
@FIND_SANDPROOF@
cd "$(dirname "$0")"
mkdir -p out
# A driver in bash starts a dozen programs a call: on a busy machine it is slow, not wrong.
SANDPROOF_TIME_SCALE=${SANDPROOF_TIME_SCALE:-8}
export SANDPROOF_TIME_SCALE
exec "$sandproof" run --provider 'driver:./driver.bash' --suite exec \
	--baseline known.baseline --results out/results.ndjson "$@"
