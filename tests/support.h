/* Common headers and functions of all test programs: cmocka, with the headers that it needs before
 * it. */
#ifndef GW_TESTS_SUPPORT_H
#define GW_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define assert_ok(call) assert_int_equal(call, GW_OK)

/* Whether two numbers agree to `relative`; shows them if not. */
static inline bool near(double actual, double expected, double relative) {
    if (fabs(actual - expected) <= relative * fabs(expected)) {
        return true;
    }
    print_error("%.17g, expected %.17g\n", actual, expected);
    return false;
}

/*
 * The seed of random cases: GRADWEAVE_SEED, "new" for that of the moment; printed, so that a run
 * can be repeated. By default always the same, so that a change is judged by what it changes, and
 * not by a case in a thousand that it has nothing to do with.
 */
static inline uint64_t choose_seed(void) {
    const char *given = getenv("GRADWEAVE_SEED");
    uint64_t seed = 20261122;
    if (given != NULL) {
        seed = strcmp(given, "new") == 0 ? (uint64_t)time(NULL) : strtoull(given, NULL, 10);
    }
    printf("GRADWEAVE_SEED=%llu\n", (unsigned long long)seed);
    (void)fflush(stdout);
    return seed;
}

/*
 * How many of `full` random cases to try: the share of them that GRADWEAVE_TRIALS says, which
 * script/test sets for each preset; all of them without it, and one at least.
 */
static inline int gw_trials(int full) {
    const char *share = getenv("GRADWEAVE_TRIALS");
    int trials = share == NULL ? full : (int)lround(full * strtod(share, NULL));
    return trials < 1 ? 1 : trials;
}

/* Joins the lines of each note again, which are as long as the terminal is wide. In place. */
static inline char *join_notes(char *text) {
    bool note = false;
    for (char *at = text; *at != '\0'; at++) {
        bool begins = at == text || at[-1] == '\n';
        note = begins ? strncmp(at, "note", 4) == 0 : note;
        if (note && at[0] == '\n' && at[1] == ' ') {
            size_t blanks = strspn(at + 1, " ");
            memmove(at + 1, at + 1 + blanks, strlen(at + 1 + blanks) + 1);
            *at = ' ';
        }
    }
    return text;
}

/* A folder for one test's files: setup and teardown of the test, which finds its path in *state. */
static inline int make_folder(void **state) {
    char *folder = strdup("/tmp/gradweave-test-XXXXXX");
    if (folder == NULL || mkdtemp(folder) == NULL) {
        free(folder);
        return -1;
    }
    *state = folder;
    return 0;
}

static inline int remove_folder(void **state) {
    char *folder = *state;
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return -1;
    }
    const struct dirent *entry = NULL;
    while ((entry = readdir(entries)) != NULL) {
        (void)unlinkat(dirfd(entries), entry->d_name, 0);
        (void)unlinkat(dirfd(entries), entry->d_name, AT_REMOVEDIR);
    }
    (void)closedir(entries);
    int result = rmdir(folder);
    free(folder);
    return result;
}

static inline size_t count_entries(const char *folder) {
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    size_t count = 0;
    while (readdir(entries) != NULL) {
        count++;
    }
    (void)closedir(entries);
    return count - 2; /* . and .. */
}

/* "<folder>/<name>" in a buffer that the next call but three uses again. */
static inline const char *path_in(const char *folder, const char *name) {
    static char paths[4][512];
    static size_t turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

#endif
