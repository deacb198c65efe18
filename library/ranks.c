/* Joins the processes that train together: of an MPI job, or of a trainer's process group. */
#include "library/ranks.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "transport/group.h"

/* ---- MPI, loaded on demand ------------------------------------------------------------------- */

/* Finds the path of the plugin, beside this library's own file. */
static enum gw_status find_plugin(char *path, size_t size, struct gw_error *error) {
    Dl_info own;
    if (dladdr((void *)(uintptr_t)&gradweave_version, &own) == 0 || own.dli_fname == NULL) {
        return gw_fail(error, GW_FAILED, "dladdr: libgradweave does not find itself");
    }
    const char *slash = strrchr(own.dli_fname, '/');
    int folder = slash == NULL ? 0 : (int)(slash - own.dli_fname + 1);
    (void)snprintf(path, size, "%.*s%s", folder, own.dli_fname, GW_MPI_PLUGIN);
    return GW_OK;
}

/* Loads the plugin globally, since MPI's own plugins look for their symbols everywhere. */
static enum gw_status open_plugin(struct gradweave_ranks *ranks, struct gw_error *error) {
    char path[4096];
    GW_TRY(find_plugin(path, sizeof path, error));
    ranks->plugin = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (ranks->plugin == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "MPI: expected %s beside libgradweave, got: %s",
                       GW_MPI_PLUGIN, dlerror());
    }
    void *symbol = dlsym(ranks->plugin, GW_MPI_PLUGIN_OPEN);
    gw_open_ranks *open = NULL;
    memcpy(&open, &symbol, sizeof open);
    return open == NULL ? gw_fail(error, GW_BAD_INPUT, "%s: expected version %s, got another one",
                                  path, GW_VERSION)
                        : open(&ranks->communicator, error);
}

/* ---- joining and leaving ------------------------------------------------------------------- */

static enum gw_status open_group(const struct gradweave_process_group *group,
                                 struct gw_communicator *out, struct gw_error *error) {
    const struct gw_process_group lent = {.name = group->name,
                                          .rank = group->rank,
                                          .size = group->size,
                                          .context = group->context,
                                          .allreduce = group->allreduce,
                                          .allgather = group->allgather,
                                          .broadcast = group->broadcast,
                                          .gather = group->gather,
                                          .scatter = group->scatter,
                                          .alltoall = group->alltoall,
                                          .start_send = group->start_send,
                                          .start_receive = group->start_receive,
                                          .wait = group->wait,
                                          .open_first = group->open_first,
                                          .complain = group->complain,
                                          .close = group->close};
    return gw_communicator_open_group(&lent, out, error);
}

/* Joins the ranks of the process group, or (NULL) of the MPI job. */
static enum gradweave_status join_group(const struct gradweave_process_group *group,
                                        struct gradweave_ranks **out,
                                        struct gradweave_error *error) {
    struct gw_error failure = {0};
    struct gradweave_ranks *ranks = *out = calloc(1, sizeof *ranks);
    enum gw_status status = ranks == NULL   ? gw_fail_memory(&failure, "joining the ranks")
                            : group == NULL ? open_plugin(ranks, &failure)
                                            : open_group(group, &ranks->communicator, &failure);
    if (status != GW_OK && ranks != NULL) {
        ranks->communicator.transport = NULL;
        gradweave_leave(ranks);
        *out = NULL;
    }
    return gw_library_finish(status, &failure, error);
}

enum gradweave_status gradweave_join_mpi(struct gradweave_ranks **out,
                                         struct gradweave_error *error) {
    return join_group(NULL, out, error);
}

enum gradweave_status gradweave_join_group(const struct gradweave_process_group *group,
                                           struct gradweave_ranks **out,
                                           struct gradweave_error *error) {
    return join_group(group, out, error);
}

/* Leaves the plugin loaded, since MPI's own threads may still run in it. */
void gradweave_leave(struct gradweave_ranks *ranks) {
    if (ranks != NULL && ranks->communicator.transport != NULL) {
        ranks->communicator.transport->close(&ranks->communicator);
    }
    free(ranks);
}

/* ---- properties ---------------------------------------------------------------------------- */

int gradweave_ranks_own(const struct gradweave_ranks *ranks) {
    return ranks->communicator.rank;
}

int gradweave_ranks_count(const struct gradweave_ranks *ranks) {
    return ranks->communicator.size;
}

enum gradweave_status gradweave_ranks_broadcast(struct gradweave_ranks *ranks, void *data,
                                                size_t bytes, struct gradweave_error *error) {
    struct gw_error failure = {0};
    enum gw_status status = gw_broadcast(&ranks->communicator, 0, data, bytes, &failure);
    return gw_library_finish(status, &failure, error);
}
