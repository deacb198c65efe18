#!/usr/bin/env bash
# scripts_test.sh SOURCE: scripts refuse arguments that they do not know, do without ccache, build before they measure, and
# replace tables of a page. Runs copies of them, which find what they call in a folder of stand-ins.
# shellcheck disable=SC2016 # stand-ins and other shells expand what is quoted
set -euo pipefail
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER # of the build that this test is of
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/tools" "$tree/build"
cp -r "$1/script" "$tree"
cd "$tree"

fail() { echo "scripts_test: $*" >&2; exit 1; }

# stand_in FILE: a script of the lines that stdin has; it logs its name and arguments first.
stand_in() {
    { printf '#!%s\necho "${0##*/} $*" >>%q\n' "$(command -v bash)" "$tree/calls"; cat; } >"$1"
    chmod +x "$1"
}

# run COMMAND..: as a user who is not root, with all packages but ccache; says its status.
run() { PATH=$tree/tools "$@" >said 2>complaint && echo 0 || echo $?; }

for tool in bash env dirname grep mkdir; do
    ln -s "$(command -v $tool)" "tools/$tool"
done
stand_in tools/id <<<'echo 1000'
stand_in tools/dpkg-query <<<'[ "${!#}" = ccache ] || echo install ok installed'
stand_in tools/cmake <<<'[ "$1" != --build ] || exit 1'
stand_in script/install-torch </dev/null
stand_in script/cluster </dev/null

for script in demo validate-defaults; do
    status=$(run script/$script --jobs)
    [ "$status" -eq 2 ] && [ ! -s said ] && grep -q "^script/$script: expected .*, or nothing, got --jobs$" complaint ||
        fail "$script --jobs: expected status 2 and what would be right, got $status: $(cat said complaint)"
done

# a measured table is replaced, up to the text below it
stand_in tools/git <<<'echo abc1234'
cat >page.md <<'END'
<!-- measured: printf '| a | b |\n| --- | --- |\n| x | 1 |\n| y | 2 |\n'; turned: y | x -->
*1999-12-31, commit 0, another machine:* `a command
of two lines`

| old |
| --- |
| 9 |

Text.
END
PATH=$tree/tools:$PATH script/results page.md 2>/dev/null || fail "results: expected status 0"
[ "$(sed -n '/^|/,$p' page.md)" = $'| a | y | x |\n| --- | ---: | ---: |\n| `b` | 2 | 1 |\n\nText.' ] &&
    grep -q 'commit abc1234' page.md || fail "results: expected the new table above the text, got $(cat page.md)"

[ "$(run bash -euc '. script/build.sh; [ -z "${CMAKE_C_COMPILER_LAUNCHER-}" ]')" -eq 0 ] ||
    fail "build.sh: expected it to do without ccache, got $(cat complaint)"

# A build that fails leaves nothing to measure.
: >calls
[ "$(run script/validate-defaults)" -ne 0 ] || fail 'validate-defaults: expected it to fail where the build does'
grep -q '^cmake --build --preset release --target gradweave$' calls ||
    fail "validate-defaults: expected it to build the program, got $(cat calls)"
! grep -q '^cluster ' calls || fail 'validate-defaults: expected it to build before it measures'
