#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A driver with create, exec and destroy only: a sandbox is a folder, a command a child of ours. Needs jq.
# Commands run side by side; none can be killed, and its capabilities say so.
sandboxes=$(mktemp -d)
trap 'rm -rf "$sandboxes"' EXIT

# Prints an answer: the id, "result" or "error", and its value as JSON. One line at a time.
answer() {
	{ flock 9 && printf '{"jsonrpc":"2.0","id":%s,"%s":%s}\n' "$@"; } 9>"$sandboxes/lock"
}
fail() { # code, message
	answer "$id" error "$(jq -nc --argjson code "$1" --arg message "$2" '{$code, $message}')"
}
# What a request says, as assignments. Bytes are a text, or base64 whose end is kept by a dot.
read_request() {
	id= method= target= command= cwd=. wrong= vars=()
	eval "$(jq -r '
		def put($name): if type == "string" then $name + "=" + @sh
			else "bytes=$(base64 -d <<<" + .base64 + "; echo .); " + $name + "=${bytes%.}" end;
		def is_name: test("^[A-Za-z_][A-Za-z0-9_]*$") and (test("^(E?UID|PPID|BASHOPTS|SHELLOPTS|BASH_VERSINFO)$") | not);
		(.id // "" | tostring | put("id")), (.method // "" | put("method")),
		(.params.sandbox // .params.id // "" | put("target")),
		(.params.command // "" | put("command")), (.params.cwd // "." | put("cwd")),
		(.params.env // {} | to_entries[] | if .key | is_name then (.key as $k | .value | put("value")), "vars+=(" + .key + "=\"$value\")"
			else .key | put("wrong") + "; wrong=.$wrong" end)' <<<"$request")"
}
create() {
	local dir
	[[ ! $wrong ]] || { fail -1 "not a name that can be set: ${wrong#.}"; return; }
	dir=$(mktemp -d "$sandboxes/XXXXXX") && mkdir "$dir/home" && declare -p vars >"$dir/env"
	answer "$id" result "$(jq -nc --arg id "${dir##*/}" --arg root "$dir/home" '{sandbox: $id, id: $id, workspace_root: $root}')"
}
run() {
	local dir=$sandboxes/$target call code own=("${vars[@]}")
	[[ ! $wrong ]] || { fail -1 "not a name that can be set: ${wrong#.}"; return; }
	cwd=${cwd/#\/workspace/$dir/home}
	cd "$dir/home" && cd -- "$cwd" 2>/dev/null || { fail -3 "there is no folder $cwd"; return; }
	call=$(mktemp -d "$dir/call-XXXXXX") && . "$dir/env"
	# A word of argv holds 128 KiB; a longer text is read from a file.
	((${#command} < 30000)) && set -- -c -- "$command" || { printf %s "$command" >"$call/text"; set -- "$call/text"; }
	env -i PATH="$PATH" HOME="$dir/home" "${vars[@]}" "${own[@]}" bash "$@" </dev/null >"$call/out" 2>"$call/err"
	code=$?
	answer "$id" result "{\"stdout\":{\"base64\":\"$(base64 -w0 "$call/out")\"},\"stderr\":{\"base64\":\"$(
		base64 -w0 "$call/err")\"},\"exit_code\":$code}"
}
while IFS= read -r request; do
	read_request
	case $method in
	initialize) answer "$id" result '{"protocol":1,"provider":{"name":"bash-exec","capabilities":{"exec":true,"fs":true}}}' ;;
	provider/create) create ;;
	provider/destroy | sandbox/destroy) rm -rf "${sandboxes:?}/${target//\//}" && answer "$id" result '{}' ;;
	sandbox/exec) run & ;;
	*) [[ ! $id ]] || fail -2 "bash-exec has no $method" ;;
	esac
done
