/* Threads of a block as fibers of the thread that runs it, and what sanitizers are told of them. */
#ifndef GW_EMULATION_FIBERS_H
#define GW_EMULATION_FIBERS_H

#include <ucontext.h>

#include <memory>

#include "kernels.h"

/* A thread of the CPU, to which its fibers return. */
class ground {
  public:
    ground();

  private:
    friend class fiber;
    ucontext_t context;
    /* Only sanitizers want to know. */
    [[maybe_unused]] const void *stack_bottom;
    [[maybe_unused]] size_t stack_size;
    [[maybe_unused]] void *sanitizer;
};

class fiber : public gw_emulated_thread {
  public:
    /* `live` is what it does: it never returns, and leaves from time to time. */
    fiber(ground *ground, void (*live)());
    ~fiber();
    fiber(const fiber &) = delete;
    fiber &operator=(const fiber &) = delete;

    void enter(); /* from the ground, until it leaves */
    void leave(); /* from the fiber, to the ground */
    void begin(); /* the first thing that it does */

    enum { READY, AT_BLOCK, AT_WARP, RETURNED } is;
    unsigned number; /* in the block, x first */

  private:
    ground *home;
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    [[maybe_unused]] void *sanitizer;
};

#endif
