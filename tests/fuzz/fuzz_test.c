/*
 * Every reader with its seeds, and with seeds that were damaged at random: what readers.h promises
 * holds. GRADWEAVE_SEED repeats a run. The same with coverage is what script/test fuzz runs.
 */
#include "tests/documents.h"
#include "tests/fuzz/readers.h"
#include "tests/test.h"

enum { MOST_SEEDS = 64, MOST_BYTES = 16384, CASES = 6000 };

struct seed {
    char *path, *text;
    size_t length;
};

struct seeds {
    size_t count;
    struct seed each[MOST_SEEDS + 1];
};

static void read_seeds(const struct fuzz_reader *reader, struct seeds *out) {
    char *folder = strdup(path_in(GW_FUZZ_SEEDS, reader->name));
    DIR *entries = opendir(folder);
    const struct dirent *entry = NULL;
    assert_non_null(entries);
    out->count = 0;
    while ((entry = readdir(entries)) != NULL) {
        struct seed *at = &out->each[out->count];
        if (entry->d_name[0] != '.') {
            assert_true(out->count++ < MOST_SEEDS);
            at->path = strdup(path_in(folder, entry->d_name));
            assert_ok(gw_file_read(at->path, &at->text, &at->length, &fuzz_error));
            assert_true(at->length < MOST_BYTES);
        }
    }
    (void)closedir(entries);
    free(folder);
    assert_true(out->count > 0);
}

static void free_seeds(struct seeds *seeds) {
    for (size_t i = 0; i < seeds->count; i++) {
        free(seeds->each[i].path);
        free(seeds->each[i].text);
    }
}

/* Seeds are accepted; but what fuzzers found, which stays to be tried, may be refused. */
TEST(seeds_are_accepted) {
    static struct seeds seeds;
    for (const struct fuzz_reader *reader = fuzz_readers; reader->name != NULL; reader++) {
        read_seeds(reader, &seeds);
        for (size_t i = 0; i < seeds.count; i++) {
            bool accepted = fuzz_judge_bytes(reader, seeds.each[i].text, seeds.each[i].length);
            if (!accepted && strstr(seeds.each[i].path, "/found-") == NULL) {
                fail_msg("%s: %s", seeds.each[i].path, fuzz_error.message);
            }
        }
        free_seeds(&seeds);
    }
}

/* Readers, and `check`, refuse each bad document; `check` goes by the schema, and knows no tables.
 */
TEST(bad_documents_are_refused) {
    const struct bad_documents *documents = bad_documents();
    for (size_t i = 0; i < documents->count; i++) {
        const struct bad_document *bad = &documents->list[i];
        const struct fuzz_reader *readers[] = {fuzz_find(bad->kind->name), fuzz_find("document")};
        for (size_t r = 0; r < 2; r++) {
            bool accepted = fuzz_judge_bytes(readers[r], bad->text, strlen(bad->text));
            bool is_other = r == 1 && (strstr(bad->message, " schema: expected ") != NULL ||
                                       strcmp(bad->kind->name, "table") == 0);
            if (accepted != bad->is_warning && !is_other) {
                fail_msg("%s: %s: %s", readers[r]->name, bad->line, fuzz_error.message);
            }
        }
    }
}

/* Tries damaged seeds of a reader; returns how many were accepted. */
static size_t try_damaged(const struct fuzz_reader *reader, const struct seeds *seeds, int trials,
                          struct gw_random *random) {
    static char text[MOST_BYTES];
    size_t accepted = 0;
    for (int i = 0; i < trials; i++) {
        size_t at = (size_t)gw_random_below(random, seeds->count);
        size_t length = seeds->each[at].length;
        memcpy(text, seeds->each[at].text, length);
        length =
            fuzz_damage(reader, gw_random_below(random, UINT32_MAX), text, length, sizeof text);
        accepted += fuzz_judge_bytes(reader, text, length);
    }
    return accepted;
}

TEST(damaged_seeds_are_refused_in_words_or_usable) {
    static struct seeds seeds;
    uint64_t stream = 1;
    for (const struct fuzz_reader *reader = fuzz_readers; reader->name != NULL; reader++) {
        int trials = gw_trials(CASES);
        read_seeds(reader, &seeds);
        size_t accepted = try_damaged(reader, &seeds, trials, random_stream(stream++));
        print_message("%s: %zu of %d accepted\n", reader->name, accepted, trials);
        assert_true(trials < CASES / 4 || (accepted > 0 && accepted < (size_t)trials));
        free_seeds(&seeds);
    }
}
