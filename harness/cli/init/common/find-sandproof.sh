# Found before the change of folder: a relative SANDPROOF is of the caller's.
sandproof=${SANDPROOF:-sandproof}
case $sandproof in /*) ;; */*) sandproof=$PWD/$sandproof ;; esac
command -v "$sandproof" >/dev/null || {
	echo "$0: there is no $sandproof: put sandproof on the PATH, or say where it is: SANDPROOF=/path/to/sandproof $0" >&2
	exit 3
}
