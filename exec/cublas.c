/* cuBLAS is loaded when it is asked for: a machine without it can do all else. */
#include "exec/cublas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/symbols.h"
#include "exec/exec.h"

/* What is called is the same in both; the one of this build's toolkit goes with its driver. */
#ifndef GW_CUBLAS_LIBRARIES
#define TEXT_OF(value) #value
#define NAME_OF(major) "libcublas.so." TEXT_OF(major)
#define GW_CUBLAS_LIBRARIES NAME_OF(CUBLAS_VER_MAJOR), "libcublas.so.13", "libcublas.so.12"
#endif

static const struct gw_symbol symbols[] = {
    {"cublasGetProperty", offsetof(struct gw_cublas_calls, GetProperty)},
    {"cublasGetStatusString", offsetof(struct gw_cublas_calls, GetStatusString)},
    {"cublasCreate_v2", offsetof(struct gw_cublas_calls, Create)},
    {"cublasDestroy_v2", offsetof(struct gw_cublas_calls, Destroy)},
    {"cublasSetStream_v2", offsetof(struct gw_cublas_calls, SetStream)},
    {"cublasSetWorkspace_v2", offsetof(struct gw_cublas_calls, SetWorkspace)},
    {"cublasGemmEx", offsetof(struct gw_cublas_calls, GemmEx)},
};

static struct gw_cublas_calls calls;
static char missing[256]; /* why this machine's cuBLAS cannot be called; empty: it can */
static char version_text[64];

/* Whether this machine's driver can do with a library of that name, "...so.12". */
static bool suits_driver(const char *name) {
    int version = 0;
    const char *dot = strrchr(name, '.');
    bool known = cudaDriverGetVersion(&version) == cudaSuccess && version > 0;
    return !known || dot == NULL || strtol(dot + 1, NULL, 10) <= version / 1000;
}

/* The first of its names that this machine has; why not the first name, where it has none. */
static void *open_library(void) {
    static const char *const names[] = {GW_CUBLAS_LIBRARIES};
    void *library = dlopen(names[0], RTLD_NOW);
    if (library == NULL) {
        (void)snprintf(missing, sizeof missing, "%s", dlerror());
    }
    for (size_t i = 1; i < sizeof names / sizeof *names && library == NULL; i++) {
        library = suits_driver(names[i]) ? dlopen(names[i], RTLD_NOW) : NULL;
    }
    return library;
}

static void find_calls(void *library) {
    const char *lacks = gw_find_symbols(library, symbols, sizeof symbols / sizeof *symbols, &calls);
    missing[0] = '\0';
    if (lacks != NULL) {
        (void)snprintf(missing, sizeof missing, "it has no %s", lacks);
    }
}

static int property(libraryPropertyType type) {
    int value = 0;
    return calls.GetProperty(type, &value) == CUBLAS_STATUS_SUCCESS ? value : 0;
}

static void load(void) {
    void *library = open_library();
    if (library != NULL) {
        find_calls(library);
    }
    if (missing[0] == '\0') {
        (void)snprintf(version_text, sizeof version_text, "%d.%d.%d", property(MAJOR_VERSION),
                       property(MINOR_VERSION), property(PATCH_LEVEL));
    } else {
        (void)snprintf(version_text, sizeof version_text, "%d.%d.%d, not on this machine",
                       CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH);
    }
}

static void load_once(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
}

const struct gw_cublas_calls *gw_cublas_calls(void) {
    load_once();
    return missing[0] == '\0' ? &calls : NULL;
}

const char *gw_cublas_version(void) {
    load_once();
    return version_text;
}

enum gw_status gw_cublas_need(struct gw_error *error) {
    load_once();
    return missing[0] == '\0'
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "expected cuBLAS on this machine: %s", missing);
}
