/* Messages between ranks that are threads of one process; private to this room. */
#ifndef GW_TRANSPORT_MAILBOXES_H
#define GW_TRANSPORT_MAILBOXES_H

#include "transport/transport.h"

struct gw_mailboxes;

/* One for each of `size` ranks. What was sent and never received is dropped with them. */
enum gw_status gw_mailboxes_open(struct gw_mailboxes **out, int size, struct gw_error *error);
void gw_mailboxes_close(struct gw_mailboxes *mailboxes);

/* As a transport's functions of these names, called by rank `rank`. */
enum gw_status gw_mailboxes_start_send(struct gw_mailboxes *mailboxes, int rank, int to,
                                       const void *data, size_t bytes, struct gw_request *out,
                                       struct gw_error *error);
enum gw_status gw_mailboxes_start_receive(struct gw_mailboxes *mailboxes, int rank, int from,
                                          void *data, size_t bytes, struct gw_request *out,
                                          struct gw_error *error);
enum gw_status gw_mailboxes_wait(struct gw_mailboxes *mailboxes, int rank,
                                 struct gw_request *requests, size_t count, struct gw_error *error);
enum gw_status gw_mailboxes_test(struct gw_mailboxes *mailboxes, int rank,
                                 struct gw_request *request, bool *done, struct gw_error *error);

#endif
