/*
 * The parameter server, rank number `workers`: all workers push to it, and pull from it. Private to
 * this room.
 */
#ifndef GW_COLLECTIVES_SERVER_H
#define GW_COLLECTIVES_SERVER_H

#include "collectives/collectives.h"

/* Fields of struct gw_collective: one way, with a step of each worker and all of them the server's.
 */
uint32_t gw_server_steps(const struct gw_call *call, uint32_t rank);
/* Messages queue at the server's link: alpha + P n beta. */
double gw_server_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte);

/* The server adds what comes, in the order in which it comes. */
void gw_server_push(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out);
/* The server sends to worker 0 first. */
void gw_server_pull(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out);

#endif
