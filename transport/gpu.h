/*
 * Communicators for memory of GPUs: the interface of transport.h, with the data of collectives and
 * messages on the GPU of a stream. Each has a parent, another communicator with the same ranks for
 * memory of the host. gw_agree and the other functions of transport.h on memory of the host are
 * called with the parent. Control messages of both are in memory of the host.
 */
#ifndef GW_TRANSPORT_GPU_H
#define GW_TRANSPORT_GPU_H

#include "device/device.h"
#include "transport/transport.h"

/* ---- locations of GPUs --------------------------------------------------------------------- */

/* Ranks with the same host and bus share a GPU. */
struct gw_gpu_location {
    char host[GW_HOST_SIZE];
    char bus[GW_BUS_SIZE]; /* of the GPU on that host's PCI, "0000:3b:00.0" */
};

/* ---- communicators ------------------------------------------------------------------------- */

enum gw_gpu_transport {
    GW_GPU_NCCL, /* NVIDIA's; each rank has a GPU of its own, and the parent has control messages */
    /*
     * The parent's: directly from the GPU over an MPI library that can (Open MPI built with CUDA),
     * otherwise through page-locked memory of the host, in pieces that are copied while others are
     * sent. Ranks may share a GPU.
     */
    GW_GPU_MPI,
};

/*
 * Chooses NCCL if every rank has it and a GPU of its own, otherwise MPI; the same on all ranks.
 * *sharing is the largest number of ranks on one GPU. Over a communicator for memory of the host;
 * one without control messages, by which ranks report failures to each other, gives MPI.
 */
enum gw_status gw_gpu_transport_choose(struct gw_communicator *communicator,
                                       const struct gw_device *device, enum gw_gpu_transport *out,
                                       size_t *sharing, struct gw_error *error);

/* GW_BAD_INPUT, naming what is missing, unless NCCL is in this build and on this machine. */
enum gw_status gw_nccl_need(struct gw_error *error);

/* Settings, equal on all ranks except the stream. */
struct gw_gpu_settings {
    enum gw_gpu_transport transport;
    /* Calls begin after all work of the stream, and return when their own work on it is done. To
     * send data that another stream writes, make this one wait for it (gw_device_event_hold). */
    struct gw_device_stream *stream;
    /*
     * NCCL: a call that takes longer, for example because a rank is lost, fails; 0:
     * GW_GPU_TIMEOUT_S. The first collective or message between two ranks may wait for other ranks
     * in NCCL without limit, unless NCCL_COMM_BLOCKING=0 is in the environment.
     */
    double timeout_s;
};
enum { GW_GPU_TIMEOUT_S = 600 };

/* The longest message that goes through page-locked memory in one piece. It is short where GPUs are
 * emulated, so that tests send messages of several pieces. */
#ifdef GW_CUDA_EMULATED
enum { GW_STAGED_MESSAGE_BYTES = (1 << 18) - 16 };
#else
enum { GW_STAGED_MESSAGE_BYTES = (4 << 20) - 16 };
#endif

/*
 * Called by all ranks of `parent`; close it before the parent and the stream. It has collectives
 * and control messages of its own, and may be used besides the parent, by one thread at a time. The
 * name of its transport is "nccl", "cuda-aware" or "staged". GW_BAD_INPUT, on all ranks: NCCL is
 * asked for and missing on a rank's machine, or ranks share a GPU; the message names them.
 *
 * Beyond the rules of transport.h:
 * - gw_start_send over "cuda-aware" and "staged" waits for the stream, but for no other rank.
 * - Over "staged", a message longer than GW_STAGED_MESSAGE_BYTES advances only while its ranks are
 *   in gw_start_send, gw_start_receive, wait or poll, of any message: if one side has a collective
 *   between start and wait, the other must have it there too. The host holds at most two pieces of
 *   a message. If only one side takes a message for that short, only the receiver fails.
 * - Over "nccl", messages are sent while their rank waits for one of them: wait() starts all
 *   messages that were started before, and returns when they are done. Two ranks that each start a
 *   send and a receive before they wait do not block each other; but when wait() returns for a
 *   receive, every send started before it has been received. A collective may come between start
 *   and wait. A receive of another length than the message fails only after timeout_s.
 * - Over "nccl", a failed call makes all later ones fail, on all ranks. Ranks that wait notice it
 *   at once, unless a rank is lost.
 */
enum gw_status gw_communicator_open_gpu(struct gw_communicator *out, struct gw_communicator *parent,
                                        const struct gw_gpu_settings *settings,
                                        struct gw_error *error);

#endif
