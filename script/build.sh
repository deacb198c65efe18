# shellcheck shell=bash
# For scripts to source that build, in the repository's root: one compiler cache for all of them, so that what one has
# compiled no other compiles again. They do without it where ccache is missing and they do not run as root.
script/install
[ "$(id -u)" -ne 0 ] || script/install ccache || true
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_DIR=$PWD/build/ccache CCACHE_NOHASHDIR=yes
fi
export NINJA_STATUS='[%p] ' # the share that is built

# build PRESET [OPTION..]: shows on a terminal how far it is; elsewhere what the compiler says if it fails.
build() {
    printf '\n== cmake --build --preset %s    (minutes, the first time)\n' "$1" >&2
    cmake --preset "$1" >/dev/null
    if [ -t 2 ]; then
        cmake --build --preset "$@" >&2
    else
        cmake --build --preset "$@" >"build/$1.log" 2>&1 || { grep -v '^\[' "build/$1.log" >&2; return 3; }
    fi
}
