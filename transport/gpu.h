/*
 * Communicators for memory of GPUs: the interface of transport.h, where the data of collectives and
 * of messages is on the GPU of a stream. One stands beside another communicator, its parent, which
 * has the same ranks and takes memory of the host: gw_agree, gw_gather_hosts and all else in
 * transport.h that speaks of the host's memory is asked of the parent. Control messages are the
 * host's on both.
 */
#ifndef GW_TRANSPORT_GPU_H
#define GW_TRANSPORT_GPU_H

#include "device/device.h"
#include "transport/transport.h"

/* ---- where the GPUs are -------------------------------------------------------------------- */

/* Ranks with the same host and bus share a GPU. */
struct gw_gpu_location {
    char host[GW_HOST_SIZE];
    char bus[GW_BUS_SIZE]; /* of the GPU on that host's PCI, "0000:3b:00.0" */
};

/* ---- communicators ------------------------------------------------------------------------- */

enum gw_gpu_transport {
    GW_GPU_NCCL, /* of NVIDIA; each rank has a GPU to itself, and its parent control messages */
    /*
     * The parent's: straight from the GPU where it is an MPI library that can (Open MPI built with
     * CUDA), else through page-locked memory of the host, in pieces that are copied while others
     * travel. Ranks may share a GPU.
     */
    GW_GPU_MPI,
};

/*
 * NCCL where every rank has it and a GPU to itself, otherwise MPI, the same on all ranks; *sharing
 * is the most ranks that are on one GPU. Over a communicator for memory of the host: if it has no
 * control messages, by which ranks hear that one has failed, MPI's way through it is taken.
 */
enum gw_status gw_gpu_transport_choose(struct gw_communicator *communicator,
                                       const struct gw_device *device, enum gw_gpu_transport *out,
                                       size_t *sharing, struct gw_error *error);

/* GW_BAD_INPUT with what is missing, unless NCCL is in this build and on this machine. */
enum gw_status gw_nccl_need(struct gw_error *error);

/* The same on all ranks but for the stream. */
struct gw_gpu_settings {
    enum gw_gpu_transport transport;
    /*
     * Calls begin after all work that is on it, and have returned once theirs is done on it: to
     * send what another stream makes, let this one wait for it (gw_device_event_hold).
     */
    struct gw_device_stream *stream;
    /*
     * NCCL: what takes longer, as when a rank is lost, fails; 0: GW_GPU_TIMEOUT_S. Where a
     * collective or message connects ranks for the first time NCCL itself waits for the others,
     * without end, unless NCCL_COMM_BLOCKING=0 is in the environment.
     */
    double timeout_s;
};
enum { GW_GPU_TIMEOUT_S = 600 };

/*
 * Of a message that stays in one piece on its way through page-locked memory. Where GPUs are
 * emulated it is short, so that tests meet messages of several pieces sooner.
 */
#ifdef GW_CUDA_EMULATED
enum { GW_STAGED_MESSAGE_BYTES = (1 << 18) - 16 };
#else
enum { GW_STAGED_MESSAGE_BYTES = (4 << 20) - 16 };
#endif

/*
 * Called by all ranks of `parent`; close it before the parent and the stream. It has messages
 * of both kinds of its own, and may be used beside the parent, from one thread at a time. Its
 * transport's name says what it is: "nccl", "cuda-aware" or "staged". GW_BAD_INPUT, on all ranks:
 * NCCL is asked for and is not on some rank's machine, or ranks share a GPU, which are named.
 *
 * What transport.h leaves to transports:
 * - gw_start_send over "cuda-aware" and "staged" waits for the stream, but for no other rank.
 * - Over "staged", what is longer than GW_STAGED_MESSAGE_BYTES goes on while its ranks are in
 *   gw_start_send, gw_start_receive, wait or poll, for whatever message: with a collective between
 *   start and wait on one side, have it there on the other. The host has two pieces of a message at
 *   most. If one side takes a message for so short and the other does not, only the receiver is
 *   told.
 * - Over "nccl", messages travel while their rank waits for one of them: wait() starts all that
 *   was started before, and returns when all of that is done. Two ranks that each start a send and
 *   a receive before they wait do not hold up each other; but when wait() returns for a receive,
 *   every send started before it was received. A collective may come between start and wait.
 *   A receive of another length than the message's fails only after timeout_s.
 * - Over "nccl", a call that failed makes all later ones fail, on all ranks: those that wait find
 *   out at once, as long as none is lost.
 */
enum gw_status gw_communicator_open_gpu(struct gw_communicator *out, struct gw_communicator *parent,
                                        const struct gw_gpu_settings *settings,
                                        struct gw_error *error);

#endif
