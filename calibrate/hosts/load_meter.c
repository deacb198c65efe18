/* The load of a job's machines by others during a measurement. */
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "calibrate/calibrate.h"
#include "calibrate/hosts/hosts.h"

struct gw_load_meter {
    struct gw_communicator *communicator;
    struct gw_host_list machines;
    struct gw_host_ticks before;
    double own_before_s;
    struct use *uses;  /* [ranks] */
    double *own_ticks; /* [machines] */
};

/* The use of a rank's machine, and the rank's own part, in ticks of all its processors. */
struct use {
    double all, taken, used, own;
};

/* Processor time of all threads of this process, in seconds. */
static double own_s(void) {
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

enum gw_status gw_load_meter_open(struct gw_communicator *communicator, struct gw_load_meter **out,
                                  struct gw_error *error) {
    struct gw_load_meter *meter = calloc(1, sizeof *meter);
    enum gw_status status = gw_agree(
        communicator, meter == NULL ? gw_fail_memory(error, "watching machines") : GW_OK, error);
    if (status != GW_OK) {
        free(meter);
        return status;
    }
    meter->communicator = communicator;
    status = gw_machine_list_open(communicator, &meter->machines, error);
    if (status == GW_OK) {
        struct gw_arena *arena = &meter->machines.arena;
        meter->uses = gw_arena_zeros(arena, (size_t)communicator->size, sizeof *meter->uses);
        meter->own_ticks = gw_arena_zeros(arena, meter->machines.count, sizeof *meter->own_ticks);
        status = gw_agree(communicator, gw_arena_check(arena, "watching machines", error), error);
    }
    if (status != GW_OK) {
        gw_load_meter_close(meter);
        return status;
    }
    *out = meter;
    return GW_OK;
}

void gw_load_meter_close(struct gw_load_meter *meter) {
    if (meter != NULL) {
        gw_host_list_close(&meter->machines);
        free(meter);
    }
}

void gw_load_meter_begin(struct gw_load_meter *meter) {
    gw_host_ticks_read("", &meter->before);
    meter->own_before_s = own_s();
}

/* The load of the machine with the most. */
static struct gw_disturbance find_worst(const struct gw_load_meter *meter) {
    struct gw_disturbance worst = {0};
    for (int r = 0; r < meter->communicator->size; r++) {
        size_t machine = meter->machines.host_of[r];
        const struct use *use = &meter->uses[r];
        if (meter->machines.first_rank[machine] != r || !(use->all > 0)) {
            continue;
        }
        double others = fmax(0, use->used - meter->own_ticks[machine]) / use->all;
        double stolen = use->taken / use->all;
        if (stolen + others > worst.stolen + worst.others) {
            worst = (struct gw_disturbance){.stolen = stolen, .others = others};
        }
    }
    return worst;
}

enum gw_status gw_load_meter_end(struct gw_load_meter *meter, struct gw_disturbance *out,
                                 struct gw_error *error) {
    struct gw_host_ticks now;
    gw_host_ticks_read("", &now);
    const struct use mine = {.all = now.all - meter->before.all,
                             .taken = now.taken - meter->before.taken,
                             .used = now.used - meter->before.used,
                             .own = (own_s() - meter->own_before_s) * (double)sysconf(_SC_CLK_TCK)};
    GW_TRY(gw_allgather(meter->communicator, &mine, sizeof mine, meter->uses, error));
    for (size_t m = 0; m < meter->machines.count; m++) {
        meter->own_ticks[m] = 0;
    }
    for (int r = 0; r < meter->communicator->size; r++) {
        meter->own_ticks[meter->machines.host_of[r]] += meter->uses[r].own;
    }
    *out = find_worst(meter);
    return GW_OK;
}
