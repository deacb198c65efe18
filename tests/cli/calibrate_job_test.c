/*
 * `calibrate` as a user starts it: killed and resumed, in parts, and looked at again. Skipped
 * without MPI.
 */
#include <signal.h>

#include "tests/cli/program_inputs.h"
#include "tests/cli/refusals.h"
#include "tests/test.h"

#include "tests/cli/job_support.h"

#define SMALL "--nodes 2 --max-bytes 65536 --max-elements 16384 --max-time 0.05 --time 2"

/* ---- interrupted --------------------------------------------------------------------------- */

static size_t count_raw(const cJSON *kept) {
    return (size_t)cJSON_GetArraySize(item_at(kept, "raw"));
}

/* Raw measurements of a kernel alone, on concurrent ranks, and both at another density. */
static size_t count_all_raw(const cJSON *kept) {
    static const char *const kinds[] = {"together", "denser"};
    size_t sizes = count_raw(kept);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (cJSON_HasObjectItem(kept, kinds[i])) {
            sizes += count_all_raw(item_at(kept, kinds[i]));
        }
    }
    return sizes;
}

/* All curves are there, with five sizes at least; how many sizes all of them have. */
static size_t check_complete(const cJSON *cluster) {
    const cJSON *measured = NULL;
    size_t sizes = 0;
    assert_int_equal(cJSON_GetArraySize(item_at(cluster, "collectives")), 7);
    cJSON_ArrayForEach(measured, item_at(cluster, "collectives")) {
        const cJSON *entry = cJSON_GetArrayItem(measured, 0);
        assert_in_range(count_raw(entry), 5, 7);
        sizes += count_raw(entry);
    }
    cJSON_ArrayForEach(measured, item_at(cluster, "compressors")) {
        assert_int_equal(count_raw(measured), 5);
        sizes += count_all_raw(measured);
    }
    cJSON_ArrayForEach(measured, item_at(cluster, "aggregation")) {
        sizes += count_all_raw(measured);
    }
    return sizes;
}

static size_t count_lines(const char *text, const char *beginning) {
    size_t count = 0;
    for (const char *line = text; *line != '\0';) {
        const char *end = strchr(line, '\n');
        if (end == NULL) {
            break;
        }
        count += strncmp(line, beginning, strlen(beginning)) == 0;
        line = end + 1;
    }
    return count;
}

/* The sizes that a journal has settled on; 0 if it has not yet. */
static size_t settled_on(const char *journal) {
    const char *points = strstr(journal, "\"points\":");
    if (points == NULL || count_lines(journal, "{\"chosen\"") == 0) {
        return 0;
    }
    return strtoul(points + strlen("\"points\":"), NULL, 10) -
           count_lines(journal, "{\"left_out\"");
}

static const char one_size[] = "{\"of\":\"allgather\",\"workers\":2,\"size\":4096,";

/* The number of repeats of allgather of 4 KiB in the journal's whole lines. */
static double count_repeats(const char *journal) {
    double repeats = 0;
    for (const char *line = strstr(journal, one_size); line != NULL;
         line = strstr(line + 1, one_size)) {
        const char *end = strchr(line, '\n');
        const char *times = strstr(line, "\"seconds\":[");
        repeats += end != NULL;
        for (const char *c = times; c != NULL && end != NULL && c < end; c++) {
            repeats += *c == ',';
        }
    }
    return repeats;
}

/* Waits until the journal has so many lines, and so many repeats of one size. */
static void wait_for(const char *folder, size_t lines, double repeats) {
    for (int tries = 0; tries < 6000; tries++) {
        bool enough = false;
        if (access(path_in(folder, "c.json.partial"), R_OK) == 0) {
            char *journal = read_text(folder, "c.json.partial");
            enough = count_lines(journal, "{") >= lines && count_repeats(journal) >= repeats;
        }
        if (enough) {
            return;
        }
        (void)usleep(10000);
    }
    fail();
}

/* A figure of allgather of 4 KiB: "repeats", "median_s"; 0 if it was left out. */
static double known_of(const cJSON *cluster, const char *key) {
    const cJSON *raw = NULL;
    const cJSON *entry = cJSON_GetArrayItem(item_at(cluster, "collectives.allgather"), 0);
    cJSON_ArrayForEach(raw, item_at(entry, "raw")) {
        if (number_at(raw, "bytes") == 4096) {
            return number_at(raw, key);
        }
    }
    return 0;
}

/* A single repeat is the median: it is the journal's. */
static void check_kept(const char *journal, const cJSON *cluster) {
    double before = count_repeats(journal);
    double after = known_of(cluster, "repeats");
    print_message("killed with %g repeats of one size, %g in the end\n", before, after);
    assert_true(after >= before);
    if (before == 1 && after == 1) {
        const char *times = strstr(strstr(journal, one_size), "\"seconds\":[");
        double seconds = strtod(times + strlen("\"seconds\":["), NULL);
        assert_true(near(known_of(cluster, "median_s"), seconds, 1e-6));
    }
}

/* Killed by a signal that it cannot see; what it leaves, the caller's. */
static char *kill_after(const char *folder, size_t lines, double repeats) {
    pid_t ranks[2];
    struct running calibration = start(folder, "gradweave calibrate --out c.json --json " SMALL);
    find_ranks(calibration.process, 2, ranks);
    wait_for(folder, lines, repeats);
    for (size_t r = 0; r < 2; r++) {
        (void)kill(ranks[r], SIGKILL);
    }
    struct answer killed = finish(&calibration, 30);
    check_failed(&killed, 3, "gradweave: the MPI job failed");
    assert_true(access(path_in(folder, "c.json"), F_OK) != 0);
    return read_text(folder, "c.json.partial");
}

/*
 * No output at first; then the same sizes, and what there was is not measured again. A journal
 * without measurements is not asked about.
 */
TEST(killed_at_any_time_it_goes_on) {
    need_mpi();
    static const struct {
        size_t lines;
        double repeats;
        bool settled; /* on sizes, by then */
    } cases[] = {{1, 0, false}, {60, 0, true}, {1, 1, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *journal = kill_after(*state, cases[i].lines, cases[i].repeats);
        bool anew = settled_on(journal) == 0;
        if (!anew) {
            check_refused(*state, "gradweave calibrate --out c.json " SMALL,
                          "c.json.partial: expected --resume");
        }
        cJSON *cluster =
            ask_document(*state,
                         anew ? "gradweave calibrate --out c.json --json " SMALL
                              : "gradweave calibrate --resume --out c.json --json " SMALL,
                         "gradweave/cluster@1");
        size_t sizes = check_complete(cluster);
        assert_true(settled_on(journal) == 0 || settled_on(journal) == sizes);
        assert_true(settled_on(journal) > 0 || !cases[i].settled);
        check_kept(journal, cluster);
        assert_true(access(path_in(*state, "c.json.partial"), F_OK) != 0);
        assert_int_equal(unlink(path_in(*state, "c.json")), 0);
    }
}

TEST(another_calibration_is_not_resumed) {
    need_mpi();
    pid_t ranks[2];
    struct running calibration = start(*state, "gradweave calibrate --out c.json " SMALL);
    find_ranks(calibration.process, 2, ranks);
    wait_for(*state, 2, 0);
    assert_int_equal(kill(calibration.process, SIGINT), 0);
    struct answer interrupted = finish(&calibration, 20);
    check_failed(&interrupted, 3, "interrupted");
    check_refused(*state, "gradweave calibrate --resume --out c.json --only topk " SMALL,
                  "got one of other collectives");
    check_refused(*state,
                  "gradweave calibrate --resume --out c.json --nodes 3 --max-bytes 65536 --time 1",
                  "or of another number of ranks");
    assert_int_equal(unlink(path_in(*state, "c.json.partial")), 0);
}

/* ---- in parts ------------------------------------------------------------------------------ */

TEST(parts_are_measured_alone_and_added) {
    need_mpi();
    cJSON *part = ask_document(
        *state, "gradweave calibrate --out p.json --only gather,topk,dgc --json " SMALL,
        "gradweave/cluster@1");
    assert_int_equal(cJSON_GetArraySize(item_at(part, "collectives")), 1);
    assert_int_equal(cJSON_GetArraySize(item_at(part, "compressors")), 2);
    assert_null(cJSON_GetObjectItem(part, "network"));
    cJSON *both = ask_document(
        *state, "gradweave calibrate --out p.json --only network,topk --add --json " SMALL,
        "gradweave/cluster@1");
    assert_int_equal(cJSON_GetArraySize(item_at(both, "collectives")), 1);
    assert_int_equal(cJSON_GetArraySize(item_at(both, "compressors")), 2);
    assert_true(
        cJSON_Compare(item_at(both, "compressors.dgc"), item_at(part, "compressors.dgc"), 1));
    assert_true(cJSON_Compare(item_at(both, "collectives"), item_at(part, "collectives"), 1));
    assert_false(
        cJSON_Compare(item_at(both, "compressors.topk"), item_at(part, "compressors.topk"), 1));
    (void)item_at(both, "network.within");
    (void)text_at(both, "source.earlier.command");
    check_refused(*state, "gradweave calibrate --out p.json --add --nodes 3 --time 1",
                  "p.json: workers: expected 3, the size of the MPI job, got 2");
    check_refused(*state, "gradweave calibrate --out absent.json --add " SMALL,
                  "absent.json: cannot be read");
}

/* ---- looked at again ----------------------------------------------------------------------- */

/* All compressors' times and spreads multiplied: a file of a machine that was so much slower. */
static void slow_down(const char *folder, const char *from, const char *to, double factor) {
    static const char *const keys[] = {"median_s", "p5_s", "p95_s"};
    char *text = read_text(folder, from);
    cJSON *cluster = cJSON_Parse(text);
    const cJSON *compressor = NULL;
    cJSON_ArrayForEach(compressor, cJSON_GetObjectItem(cluster, "compressors")) {
        const cJSON *raw = NULL;
        const cJSON *point = NULL;
        cJSON_ArrayForEach(point, cJSON_GetObjectItem(compressor, "points")) {
            cJSON *value = cJSON_GetArrayItem(point, 1);
            assert_non_null(value);
            cJSON_SetNumberValue(value, value->valuedouble * factor);
        }
        cJSON_ArrayForEach(raw, cJSON_GetObjectItem(compressor, "raw")) {
            for (size_t k = 0; k < 3; k++) {
                cJSON *value = cJSON_GetObjectItem(raw, keys[k]);
                assert_non_null(value);
                cJSON_SetNumberValue(value, value->valuedouble * factor);
            }
        }
    }
    char *changed = cJSON_Print(cluster);
    FILE *stream =
        fopen(path_in(folder, to), "we"); /* write_text has no apostrophes, warnings may */
    assert_true(stream != NULL && fputs(changed, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    cJSON_free(changed);
}

TEST(a_check_says_what_moved) {
    need_mpi();
    (void)ask_document(*state,
                       "gradweave calibrate --out c.json --only allgather,topk --json " SMALL,
                       "gradweave/cluster@1");
    slow_down(*state, "c.json", "slow.json", 100);
    /* Ranks that wait for a core beside other programs take milliseconds, not 2 us. */
    struct answer same =
        ask(*state, "gradweave calibrate --nodes 2 --check c.json --tolerance 1e5 --time 3 --json");
    assert_int_equal(same.status, 0);
    cJSON *check = parse_document(same.out, "gradweave/calibration-check@1");
    assert_true(cJSON_IsTrue(item_at(check, "describes")));
    assert_int_equal(cJSON_GetArraySize(item_at(check, "results")), 6);
    struct answer moved =
        ask(*state, "gradweave calibrate --nodes 2 --check slow.json --only topk --time 3");
    if (moved.status != 1) {
        fail_msg("%d: %s%s", moved.status, moved.out, moved.err);
    }
    assert_non_null(strstr(moved.out, "moved"));
    assert_non_null(strstr(moved.out, "in 1 of 1 curves two or more; exit status 1\n"));
    check_refused(*state, "gradweave calibrate --nodes 3 --check c.json",
                  "c.json: workers: expected 3, the size of the MPI job, got 2");
    check_refused(*state, "gradweave calibrate --nodes 2 --check small.json",
                  "source.hosts: expected a list");
    check_refused(*state, "gradweave calibrate --nodes 2 --check absent.json", "absent.json");
}

FIXTURES(make_inputs, remove_folder)
