/* Which ranks share a host; private to this room. */
#ifndef GW_CALIBRATE_HOST_LIST_H
#define GW_CALIBRATE_HOST_LIST_H

#include "transport/transport.h"

/* Hosts in the order of their first ranks. */
struct gw_host_list {
    size_t count;
    char (*names)[GW_HOST_SIZE]; /* [count] */
    int *first_rank;             /* [count] */
    size_t *rank_count;          /* [count]: its ranks */
    size_t *host_of;             /* [ranks] */
};

/* Of all ranks, on every rank: collective. */
enum gw_status gw_host_list_open(struct gw_communicator *communicator, struct gw_host_list *out,
                                 struct gw_error *error);
/*
 * Machines in place of hosts: nodes that are containers or namespaces of one machine have names of
 * their own, and share its boot and its memory. `names` are what their boots go by, or of a system
 * that does not tell, hosts' names.
 */
enum gw_status gw_machine_list_open(struct gw_communicator *communicator, struct gw_host_list *out,
                                    struct gw_error *error);
/* Of ranks whose hosts' names are known: hosts[size]. */
enum gw_status gw_host_list_of(char (*hosts)[GW_HOST_SIZE], int size, struct gw_host_list *out,
                               struct gw_error *error);
void gw_host_list_close(struct gw_host_list *list);

/* How many ranks there are on the host that has most. */
size_t gw_host_list_most_ranks(const struct gw_host_list *list);

/* Hosts or links of so many hosts at most are measured in turns; of more, many at once. */
enum { GW_MOST_TURNS = 16 };

#endif
