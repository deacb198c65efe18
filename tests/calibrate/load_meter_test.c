/* The measured load by others, while this process is idle or busy. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calibrate/calibrate.h"
#include "tests/ranks.h"
#include "tests/test.h"

static const double lasts_s = 0.6;

static void burn(void) {
    double begun_s = gw_clock_read_s(&gw_machine_clock);
    while (gw_clock_read_s(&gw_machine_clock) - begun_s < lasts_s) {
    }
}

static void sleep_meanwhile(void) {
    const struct timespec pause = {.tv_nsec = (long)(1e9 * lasts_s)};
    (void)nanosleep(&pause, NULL);
}

struct metered {
    void (*act)(void);
    struct gw_disturbance found;
};

static enum gw_status meter(struct gw_communicator *communicator, void *context,
                            struct gw_error *error) {
    struct metered *metered = context;
    struct gw_load_meter *load = NULL;
    GW_TRY(gw_load_meter_open(communicator, &load, error));
    gw_load_meter_begin(load);
    metered->act();
    enum gw_status status = gw_load_meter_end(load, &metered->found, error);
    gw_load_meter_close(load);
    return status;
}

/* It has a whole processor, or shares one with what else there is, which counts as well. */
TEST(another_process_counts_as_another) {
    struct metered idle = {.act = sleep_meanwhile};
    double processors = (double)sysconf(_SC_NPROCESSORS_ONLN);
    pid_t other = fork();
    if (other == 0) {
        burn();
        burn();
        _exit(0);
    }
    assert_true(other > 0);
    run_ranks(1, meter, &idle, sizeof idle);
    (void)kill(other, SIGKILL);
    (void)waitpid(other, NULL, 0);
    assert_true(idle.found.others + idle.found.stolen > 0.6 / processors);
    assert_true(idle.found.others <= 1 && idle.found.stolen >= 0);
}

/* With what others do, it is no more than all that there is. */
TEST(ones_own_work_is_no_disturbance) {
    struct metered busy = {.act = burn};
    clock_t before = clock();
    run_ranks(1, meter, &busy, sizeof busy);
    double own_s = (double)(clock() - before) / CLOCKS_PER_SEC;
    double share = own_s / (lasts_s * (double)sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(busy.found.others + share < 1.1);
}
