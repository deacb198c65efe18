/*
 * Ranks that are said to be on other hosts than this one: fake_time.h's transport, but for what
 * ranks gather of their hosts.
 */
#ifndef GW_TESTS_FAKE_HOSTS_H
#define GW_TESTS_FAKE_HOSTS_H

#include "calibrate/hosts/hosts.h"
#include "tests/calibrate/fake_time.h"

static char fake_hosts[MOST_RANKS][GW_HOST_SIZE]; /* each rank's host, or machine */
static size_t fake_processors;                    /* that each rank may run on */
/* Changes the facts that a rank tells of its host, as text; or NULL. */
static void (*fake_change_facts)(int rank, char *text);

static struct gw_transport fake_hosts_transport;

static enum gw_status gather_from_fake_hosts(struct gw_communicator *communicator,
                                             const struct gw_collective_call *call,
                                             struct gw_error *error) {
    char *all = call->receive;
    GW_TRY(fake_transport.collect(communicator, call, error));
    for (int r = 0; call->kind == GW_ALLGATHER && r < communicator->size; r++) {
        char *part = all + (size_t)r * call->bytes;
        if (call->bytes == GW_HOST_SIZE) {
            memcpy(part, fake_hosts[r], GW_HOST_SIZE);
        } else if (call->bytes == sizeof(struct gw_cpus)) {
            struct gw_cpus cpus = {{0}};
            memset(cpus.has, 1, fake_processors);
            memcpy(part, &cpus, sizeof cpus);
        } else if (fake_change_facts != NULL && part[0] == '{') {
            fake_change_facts(r, part);
        }
    }
    return GW_OK;
}

/* Runs ranks like run_fake_ranks, on hosts: letters[r] names that of rank r. */
static inline void run_on_fake_hosts(const char *letters, fake_run *run, void *contexts,
                                     size_t each) {
    memset(fake_hosts, 0, sizeof fake_hosts);
    for (size_t r = 0; letters[r] != '\0'; r++) {
        fake_hosts[r][0] = letters[r];
    }
    prepare_fake_transport();
    fake_hosts_transport = fake_transport;
    fake_hosts_transport.collect = gather_from_fake_hosts;
    run_fake_ranks((int)strlen(letters), run, contexts, each, NULL);
}

#endif
