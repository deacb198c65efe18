/*
 * What goes from the thread that predicted a point to the one that writes it: the outcome, and the
 * rows, which take longer to print than many points take to predict.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sweep.h"

/* Prints the rows behind each other; false: they do not fit, or there is no memory. */
static bool put_rows(struct gw_sweep_packet *packet, const struct gw_grid *grid,
                     const struct gw_point *point, const char *const *paths, size_t count,
                     size_t *used) {
    char *text = NULL;
    FILE *stream = open_memstream(&text, used);
    bool good = stream != NULL;
    size_t before = 0;
    for (size_t i = 0; i < count && good; i++) {
        good = gw_sweep_put_row(stream, paths[i], grid, point, &packet->outcome, NULL) == GW_OK &&
               fflush(stream) == 0;
        packet->lengths[i] = *used - before;
        before = *used;
    }
    good = (stream == NULL || fclose(stream) == 0) && good && *used <= sizeof packet->rows;
    if (good) {
        memcpy(packet->rows, text, *used);
    }
    free(text);
    return good;
}

size_t gw_sweep_packet_fill(struct gw_sweep_packet *packet, const struct gw_grid *grid,
                            uint64_t number, const char *const *paths, size_t count) {
    struct gw_outcome *outcome = &packet->outcome;
    struct gw_point point = gw_grid_point(grid, number);
    size_t used = 0;
    *outcome = (struct gw_outcome){0};
    memset(packet->lengths, 0, sizeof packet->lengths);
    outcome->status = gw_point_predict(grid, &point, &outcome->result, &outcome->why);
    bool answered = outcome->status == GW_OK || outcome->status == GW_BAD_INPUT;
    packet->has_rows = answered && put_rows(packet, grid, &point, paths, count, &used);
    return offsetof(struct gw_sweep_packet, rows) + (packet->has_rows ? used : 0);
}

struct gw_outcome gw_sweep_packet_outcome(const struct gw_sweep_packet *packet,
                                          const struct gw_grid *grid,
                                          const struct gw_point *point) {
    struct gw_outcome outcome = packet->outcome;
    outcome.result.model = grid->models[point->at[GW_AXIS_MODEL]].name;
    gw_result_name(&outcome.result, grid->algorithms[point->at[GW_AXIS_ALGORITHM]]);
    return outcome;
}

static enum gw_status print_and_write(const struct gw_sweep_file *file, const struct gw_grid *grid,
                                      const struct gw_point *point,
                                      const struct gw_outcome *outcome, struct gw_error *error) {
    char *row = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&row, &length);
    if (stream == NULL) {
        return gw_fail_memory(error, "writing a sweep");
    }
    enum gw_status status = gw_sweep_put_row(stream, file->path, grid, point, outcome, error);
    if (fclose(stream) != 0 && status == GW_OK) {
        status = gw_fail_memory(error, "writing a sweep");
    }
    status = status == GW_OK ? gw_sweep_file_append(file, row, length, error) : status;
    free(row);
    return status;
}

enum gw_status gw_sweep_packet_write(const struct gw_sweep_packet *packet,
                                     const struct gw_sweep_files *files, const struct gw_grid *grid,
                                     const struct gw_point *point, struct gw_error *error) {
    struct gw_outcome outcome = gw_sweep_packet_outcome(packet, grid, point);
    const char *row = packet->rows;
    for (size_t i = 0; i < files->count; i++) {
        const struct gw_sweep_file *file = &files->files[i];
        GW_TRY(packet->has_rows ? gw_sweep_file_append(file, row, packet->lengths[i], error)
                                : print_and_write(file, grid, point, &outcome, error));
        row += packet->lengths[i];
    }
    return GW_OK;
}
