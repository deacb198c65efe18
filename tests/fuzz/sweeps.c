/* Properties of sweeps: of their jobs, and of their partial files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/sweep.h"
#include "tests/fuzz/readers.h"

/* ---- jobs of sweeps ------------------------------------------------------------------------ */

static void check_point(const struct gw_grid *grid, const struct gw_point *point) {
    struct gw_prediction prediction;
    gw_point_predict(grid, point, &prediction);
    fuzz_error = prediction.why;
    fuzz_expect(prediction.status != GW_OK || isfinite(prediction.result.iteration_s),
                "a point's time");
    fuzz_expect(prediction.status == GW_OK || prediction.status == GW_BAD_INPUT,
                "another status of a point");
}

bool fuzz_job(const char *text, size_t length) {
    enum { MOST_WORKERS = 16384 }; /* a million, each with its noise, takes a fuzzer 20 s */
    const struct gw_grid_request request = {.job = fuzz_write("job.json", text, length)};
    struct gw_grid grid;
    bool accepted = fuzz_accepted(gw_grid_open(&request, &grid, &fuzz_error), "");
    if (accepted) {
        fuzz_expect(grid.point_count > 0 && grid.iterations > 0, "a grid without points");
        grid.iterations = 2;
        struct gw_point point = gw_grid_point(&grid, fuzz_choose(text, length) % grid.point_count);
        if (gw_point_value(&grid, &point, GW_AXIS_WORKERS) <= MOST_WORKERS) {
            check_point(&grid, &point);
        }
    }
    gw_grid_close(&grid);
    return accepted;
}

/* ---- sweeps that were interrupted ---------------------------------------------------------- */

static const struct gw_grid *some_grid(void) {
    static const struct gw_grid_request request = {
        .texts = {[GW_AXIS_MODEL] = GW_FUZZ_SEEDS "/model/tiny.json",
                  [GW_AXIS_CLUSTER] = GW_FUZZ_SEEDS "/cluster/everything.json",
                  [GW_AXIS_WORKERS] = "2,4,8",
                  [GW_AXIS_ALGORITHM] = "topk"}};
    static struct gw_grid grid;
    if (grid.point_count == 0 && gw_grid_open(&request, &grid, NULL) != GW_OK) {
        abort();
    }
    return &grid;
}

/* The text before the rows, which identifies the sweep. */
static const char *prelude_of(const char *path, const char *partial) {
    static char *preludes[2];
    struct gw_sweep_files files;
    size_t length = 0;
    char **prelude = &preludes[strstr(path, ".csv") != NULL];
    if (*prelude == NULL) {
        if (gw_sweep_files_open(&path, 1, some_grid(), false, &files, &fuzz_error) != GW_OK) {
            abort();
        }
        gw_sweep_files_close(&files);
        *prelude = fuzz_read(partial, &length);
    }
    return *prelude;
}

/* Rows that are missing are added; what was there before stays before them. */
static void complete(const char *path, struct gw_sweep_files *files, const char *kept,
                     size_t kept_length) {
    static const char row[] = "{}\n";
    const size_t row_length = sizeof row - 1;
    size_t length = 0;
    fuzz_expect(files->done <= some_grid()->point_count, "more rows than points");
    uint64_t missing = some_grid()->point_count - files->done;
    for (uint64_t i = 0; i < missing; i++) {
        fuzz_expect(gw_sweep_files_append(files, row, &row_length, true, &fuzz_error) == GW_OK,
                    "a row that cannot be added");
    }
    char *partial = fuzz_read(files->files[0].partial, &length);
    fuzz_expect(length >= kept_length && memcmp(partial, kept, kept_length) == 0,
                "rows that were kept have changed");
    fuzz_expect(gw_sweep_files_finish(files, &fuzz_error) == GW_OK, "a sweep without an end");
    gw_sweep_files_close(files);
    free(partial);
    partial = fuzz_read(path, &length);
    fuzz_expect(length >= missing * row_length &&
                    (missing == 0 || memcmp(partial + length - row_length, row, row_length) == 0),
                "a file that ends otherwise");
    free(partial);
}

/* The first byte: 'c', CSV rows follow; 'w', a whole file of JSON lines; others, its rows. */
bool fuzz_partial(const char *text, size_t length) {
    const char *path = fuzz_path(length > 0 && text[0] == 'c' ? "sweep.csv" : "sweep.jsonl");
    char partial[160];
    char *kept = NULL;
    size_t kept_length = 0;
    struct gw_sweep_files files;
    (void)snprintf(partial, sizeof partial, "%s.partial", path);
    (void)unlink(partial);
    const char *prelude = length > 0 && text[0] == 'w' ? "" : prelude_of(path, partial);
    FILE *stream = fopen(partial, "we");
    if (stream == NULL || fputs(prelude, stream) < 0 ||
        (length > 0 && fwrite(text + 1, 1, length - 1, stream) != length - 1) ||
        fclose(stream) != 0) {
        abort();
    }
    if (!fuzz_accepted(gw_sweep_files_open(&path, 1, some_grid(), true, &files, &fuzz_error),
                       partial)) {
        return false;
    }
    uint64_t done = files.done;
    gw_sweep_files_close(&files);
    kept = fuzz_read(partial, &kept_length);
    fuzz_expect(gw_sweep_files_open(&path, 1, some_grid(), true, &files, &fuzz_error) == GW_OK &&
                    files.done == done,
                "other rows the second time");
    complete(path, &files, kept, kept_length);
    free(kept);
    return done > 0;
}
