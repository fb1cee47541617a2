# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by the commands in this folder: source it first. Works from any folder, changes to the project's.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8
out=$PWD/out
mkdir -p "$out"

# say TEXT...: a headline on stderr, so that data on stdout stays data.
say() {
	printf '\n== %s\n' "$*" >&2
}

# die TEXT...: ends the command.
die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# missing_packages: those of ci/packages that are not installed.
missing_packages() {
	local package
	while read -r package; do
		[[ -z $package || $package == '#'* ]] && continue
		[[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
	done <ci/packages
}

# install_packages: by apt, only when something is missing; the one step that needs the network.
install_packages() {
	local missing as_root=()
	if ! command -v dpkg-query >/dev/null; then
		say 'not a Debian machine: taking it that the tools of ci/packages are there'
		return
	fi
	mapfile -t missing < <(missing_packages)
	((${#missing[@]})) || return 0
	if ((EUID != 0)); then
		command -v sudo >/dev/null || die "not root and no sudo; install first: ${missing[*]}"
		as_root=(sudo)
	fi
	say "installing ${missing[*]}"
	"${as_root[@]}" apt-get update -qq
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$out/apt.log" 2>&1 ||
		{ tail -20 "$out/apt.log" >&2 && die 'apt-get failed'; }
}

# build FOLDER TARGETS [CMAKE OPTION...]: configures and builds; TARGETS is one word list, "all" for all. Quiet unless it fails.
build() {
	local folder=$1 targets=$2
	shift 2
	say "building $folder"
	cmake -G Ninja -S . -B "$folder" "$@" >"$out/$folder.cmake.log" ||
		{ cat "$out/$folder.cmake.log" >&2 && die "cmake failed for $folder"; }
	# shellcheck disable=SC2086
	ninja -C "$folder" $targets >"$out/$folder.build.log" 2>&1 ||
		{ tail -60 "$out/$folder.build.log" >&2 && die "the build of $folder failed; all of it is in $out/$folder.build.log"; }
}

# ordinary DIR PROGRAM ARGUMENTS...: runs a copy of PROGRAM as a user without rights who can write nothing but DIR/state and DIR/tmp.
ordinary() {
	local dir=$1 program=$2
	shift 2
	install -d -o 65534 -g 65534 "$dir/state" "$dir/tmp"
	install -m 755 "$program" "$dir/sandproof"
	chmod 755 "$dir"
	(cd "$dir/tmp" && env -u SUDO_USER HOME="$dir/state" XDG_STATE_HOME="$dir/state" TMPDIR="$dir/tmp" \
		setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$dir/sandproof" "$@")
}

# Names of steps that failed, for the end.
failed_steps=()

# step NAME COMMAND...: runs it and goes on after a failure, which `finish` reports, with what each step took.
step_times=()
step() {
	local name=$1 rc begin=$SECONDS
	shift
	say "$name"
	set +e
	(set -e && "$@")
	rc=$?
	set -e
	step_times+=("$((SECONDS - begin)) s $name")
	((rc == 0)) || failed_steps+=("$name (exit $rc)")
}

# closing NAME FILE PATTERN: remembers the last line of FILE that matches, for the end.
closing() {
	local line
	line=$(grep -aE -- "$3" "$2" | tail -1) || line='no closing line: it did not end by itself'
	printf '%s: %s\n' "$1" "$line" >>"$closing_file"
}

# finish: prints the closing lines; exit 1 when a step failed.
finish() {
	say 'what took how long'
	printf '%s\n' "${step_times[@]}"
	say 'closing lines'
	cat "$closing_file"
	((${#failed_steps[@]} == 0)) && return 0
	printf 'FAILED: %s\n' "${failed_steps[@]}" | tee -a "$closing_file"
	exit 1
}
