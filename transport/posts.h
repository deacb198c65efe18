/* What ranks that are threads of one process post to each other; private to this room. */
#ifndef GW_TRANSPORT_POSTS_H
#define GW_TRANSPORT_POSTS_H

#include "transport/transport.h"

struct gw_posts;

/* For `size` ranks. What was posted and never taken is dropped with them. */
enum gw_status gw_posts_open(struct gw_posts **out, int size, struct gw_error *error);
void gw_posts_close(struct gw_posts *posts);

/* As a transport's post and poll, called by rank `rank`. */
enum gw_status gw_posts_add(struct gw_posts *posts, int rank, int to, const void *message,
                            size_t bytes, struct gw_error *error);
enum gw_status gw_posts_take(struct gw_posts *posts, int rank, void *message, size_t capacity,
                             size_t *bytes, int *from, struct gw_error *error);

#endif
