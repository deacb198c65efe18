/*
 * Posts between ranks of an MPI job. They travel in packets that MPI sends off with their data in
 * them: of a longer message the receiver would fetch the rest from the sender's memory, and would
 * wait for ever if that rank has died meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/mpi/mpi.h"

/* What is posted has a tag of its own, so that no receive of the data path takes it. */
enum { POST_TAG = 1 };

/* Open MPI sends 4 KiB so between ranks of a host (ompi_info: btl_vader_eager_limit). */
enum { DATA_BYTES = 2048 - sizeof(uint64_t) };

/* A message's packets come in order, all but the last one full. */
struct packet {
    uint64_t message_bytes;
    char data[DATA_BYTES];
};

/* A packet that may not have left yet. */
struct gw_mpi_parcel {
    struct gw_mpi_parcel *next;
    MPI_Request request;
    struct packet packet;
};

/* A message of which packets have come, but not all. */
struct gw_mpi_letter {
    struct gw_mpi_letter *next;
    int from;
    size_t bytes, arrived;
    char message[];
};

static size_t packet_bytes(size_t data_bytes) {
    return offsetof(struct packet, data) + data_bytes;
}

/* ---- sending ------------------------------------------------------------------------------- */

/* Frees what has left. */
static enum gw_status forget_sent(struct gw_mpi_world *world, struct gw_error *error) {
    for (struct gw_mpi_parcel **place = &world->posted; *place != NULL;) {
        struct gw_mpi_parcel *parcel = *place;
        int sent = 0;
        GW_TRY(
            gw_mpi_check(MPI_Test(&parcel->request, &sent, MPI_STATUS_IGNORE), "MPI_Test", error));
        if (sent) {
            *place = parcel->next;
            free(parcel);
        } else {
            place = &parcel->next;
        }
    }
    return GW_OK;
}

static enum gw_status send_packet(struct gw_mpi_world *world, int to, const char *data,
                                  size_t data_bytes, size_t message_bytes, struct gw_error *error) {
    struct gw_mpi_parcel *parcel = malloc(sizeof *parcel);
    if (parcel == NULL) {
        return gw_fail_memory(error, "posting a message");
    }
    parcel->packet.message_bytes = message_bytes;
    if (data_bytes > 0) {
        memcpy(parcel->packet.data, data, data_bytes);
    }
    enum gw_status status =
        gw_mpi_check(MPI_Isend(&parcel->packet, (int)packet_bytes(data_bytes), MPI_BYTE, to,
                               POST_TAG, world->comm, &parcel->request),
                     "MPI_Isend", error);
    if (status != GW_OK) {
        free(parcel);
        return status;
    }
    parcel->next = world->posted;
    world->posted = parcel;
    return GW_OK;
}

enum gw_status gw_mpi_post(struct gw_communicator *communicator, int to, const void *message,
                           size_t bytes, struct gw_error *error) {
    struct gw_mpi_world *world = communicator->state;
    size_t sent = 0;
    GW_TRY(forget_sent(world, error));
    do {
        size_t next = bytes - sent < DATA_BYTES ? bytes - sent : DATA_BYTES;
        GW_TRY(send_packet(world, to, (const char *)message + sent, next, bytes, error));
        sent += next;
    } while (sent < bytes);
    return GW_OK;
}

/* ---- receiving ----------------------------------------------------------------------------- */

/* Puts a packet where it belongs; *out is the message's place in the list once that is whole. */
static enum gw_status take_packet(struct gw_mpi_world *world, int from, const struct packet *packet,
                                  size_t data_bytes, struct gw_mpi_letter ***out,
                                  struct gw_error *error) {
    struct gw_mpi_letter **place = &world->arriving;
    while (*place != NULL && (*place)->from != from) {
        place = &(*place)->next;
    }
    if (*place == NULL) {
        *place = malloc(sizeof **place + packet->message_bytes);
        if (*place == NULL) {
            return gw_fail_memory(error, "taking a message that was posted");
        }
        **place = (struct gw_mpi_letter){.from = from, .bytes = packet->message_bytes};
    }
    struct gw_mpi_letter *letter = *place;
    if (letter->bytes != packet->message_bytes || data_bytes > letter->bytes - letter->arrived) {
        return gw_fail(error, GW_FAILED, "a message from rank %d: expected %zu more bytes, got %zu",
                       from, letter->bytes - letter->arrived, data_bytes);
    }
    memcpy(letter->message + letter->arrived, packet->data, data_bytes);
    letter->arrived += data_bytes;
    *out = letter->arrived == letter->bytes ? place : NULL;
    return GW_OK;
}

/* Takes packets until a message is whole, or none are there. */
static enum gw_status take_packets(struct gw_mpi_world *world, struct gw_mpi_letter ***out,
                                   struct gw_error *error) {
    *out = NULL;
    while (*out == NULL) {
        struct packet packet;
        int there = 0;
        int size = 0;
        MPI_Status about;
        GW_TRY(gw_mpi_check(MPI_Iprobe(MPI_ANY_SOURCE, POST_TAG, world->comm, &there, &about),
                            "MPI_Iprobe", error));
        if (!there) {
            break;
        }
        GW_TRY(gw_mpi_check(MPI_Recv(&packet, sizeof packet, MPI_BYTE, about.MPI_SOURCE, POST_TAG,
                                     world->comm, &about),
                            "MPI_Recv", error));
        MPI_Get_count(&about, MPI_BYTE, &size);
        GW_TRY(take_packet(world, about.MPI_SOURCE, &packet, (size_t)size - packet_bytes(0), out,
                           error));
    }
    return GW_OK;
}

enum gw_status gw_mpi_poll(struct gw_communicator *communicator, void *message, size_t capacity,
                           size_t *bytes, int *from, struct gw_error *error) {
    struct gw_mpi_world *world = communicator->state;
    struct gw_mpi_letter **place = NULL;
    *from = -1;
    *bytes = 0;
    GW_TRY(forget_sent(world, error));
    GW_TRY(take_packets(world, &place, error));
    if (place == NULL) {
        return GW_OK;
    }
    struct gw_mpi_letter *letter = *place;
    size_t size = letter->bytes;
    *place = letter->next;
    if (size <= capacity) {
        memcpy(message, letter->message, size);
        *from = letter->from;
        *bytes = size;
    }
    free(letter);
    return size <= capacity
               ? GW_OK
               : gw_fail(error, GW_FAILED, "expected a message of at most %zu bytes, got %zu",
                         capacity, size);
}

/* ---- the end ------------------------------------------------------------------------------- */

void gw_mpi_finish_posts(struct gw_mpi_world *world) {
    while (world->posted != NULL) {
        struct gw_mpi_parcel *parcel = world->posted;
        world->posted = parcel->next;
        MPI_Wait(&parcel->request, MPI_STATUS_IGNORE);
        free(parcel);
    }
    while (world->arriving != NULL) {
        struct gw_mpi_letter *letter = world->arriving;
        world->arriving = letter->next;
        free(letter);
    }
}
