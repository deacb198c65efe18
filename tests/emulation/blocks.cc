/* Blocks of threads as fibers of the thread that launches them. */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <memory>
#include <vector>

#include "kernels.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

thread_local gw_emulated_thread *gw_emulated_self;

namespace {

enum { STACK_BYTES = 1 << 17, MOST_THREADS = 1024, LANES = 32 };

enum state { READY, AT_BLOCK, AT_WARP, RETURNED };

struct fiber : gw_emulated_thread {
    state is;
    unsigned number; /* in the block, x first */
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    void *sanitizer;
};

/* Where the lanes of a mask meet; what they bring stays until all have met again. */
struct meeting {
    unsigned mask, arrived;
    uint64_t times;
    uint64_t brought[2][LANES];
};

struct warp {
    meeting meetings[LANES]; /* by the mask's lowest lane */
};

/* A host thread's fibers, made as they are first needed. */
struct scheduler {
    ucontext_t context;
    const void *stack_bottom;
    size_t stack_size;
    void *sanitizer;
    std::vector<std::unique_ptr<fiber>> fibers;
    std::vector<warp> warps;
    const std::function<void()> *body;
    unsigned thread_count;
    int sum, last_sum; /* of what the block's threads brought */
    uint64_t lot = 1;
};

thread_local std::unique_ptr<scheduler> here;

[[noreturn]] void give_up(const char *what) {
    (void)fprintf(stderr, "emulated GPU: block %u, thread %u: %s\n", gw_emulated_self->block.x,
                  gw_emulated_self->thread.x, what);
    abort();
}

uint64_t draw(uint64_t below) {
    here->lot = here->lot * 6364136223846793005u + 1442695040888963407u;
    return (here->lot >> 33) % below;
}

/* ---- switching ----------------------------------------------------------------------------- */

void leave_to_scheduler(fiber *self) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&self->sanitizer, here->stack_bottom, here->stack_size);
#endif
    (void)swapcontext(&self->context, &here->context);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(self->sanitizer, &here->stack_bottom, &here->stack_size);
#endif
}

void enter(fiber *next) {
    gw_emulated_self = next;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&here->sanitizer, next->stack.get(), STACK_BYTES);
#endif
    (void)swapcontext(&here->context, &next->context);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(here->sanitizer, nullptr, nullptr);
#endif
}

/* A fiber runs the body for one block after another. */
void live() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &here->stack_bottom, &here->stack_size);
#endif
    for (;;) {
        fiber *self = static_cast<fiber *>(gw_emulated_self);
        (*here->body)();
        self->is = RETURNED;
        leave_to_scheduler(self);
    }
}

void make_fiber() {
    std::unique_ptr<fiber> made(new fiber());
    made->stack.reset(new char[STACK_BYTES]);
    (void)getcontext(&made->context);
    made->context.uc_stack.ss_sp = made->stack.get();
    made->context.uc_stack.ss_size = STACK_BYTES;
    made->context.uc_link = nullptr;
    makecontext(&made->context, live, 0);
    here->fibers.push_back(std::move(made));
}

/* ---- a block ------------------------------------------------------------------------------- */

void begin_block(dim3 blocks, dim3 threads, unsigned block) {
    here->sum = here->last_sum = 0;
    here->warps.assign((here->thread_count + LANES - 1) / LANES, warp());
    for (unsigned number = 0; number < here->thread_count; number++) {
        fiber *one = here->fibers[number].get();
        one->thread = {number % threads.x, number / threads.x % threads.y,
                       number / (threads.x * threads.y)};
        one->block = {block % blocks.x, block / blocks.x % blocks.y, block / (blocks.x * blocks.y)};
        one->threads = threads;
        one->blocks = blocks;
        one->number = number;
        one->is = READY;
    }
}

/* Lets each thread that is ready run until it waits or returns; whether there was one. */
bool run_ready() {
    bool any = false;
    unsigned first = (unsigned)draw(here->thread_count);
    bool backwards = draw(2) != 0;
    for (unsigned i = 0; i < here->thread_count; i++) {
        unsigned step = backwards ? here->thread_count - 1 - i : i;
        fiber *one = here->fibers[(first + step) % here->thread_count].get();
        if (one->is == READY) {
            enter(one);
            any = true;
        }
    }
    return any;
}

/* Whether threads are left; those that have all met go on. */
bool open_barrier() {
    bool left = false;
    for (unsigned i = 0; i < here->thread_count; i++) {
        gw_emulated_self = here->fibers[i].get();
        if (here->fibers[i]->is == AT_WARP) {
            give_up("waits for lanes of its warp that do not come");
        }
        left = left || here->fibers[i]->is == AT_BLOCK;
    }
    here->last_sum = here->sum;
    here->sum = 0;
    for (unsigned i = 0; i < here->thread_count; i++) {
        fiber *one = here->fibers[i].get();
        one->is = one->is == AT_BLOCK ? READY : one->is;
    }
    return left;
}

} // namespace

int gw_emulated_meet_block(int brought) {
    fiber *self = static_cast<fiber *>(gw_emulated_self);
    here->sum += brought;
    self->is = AT_BLOCK;
    leave_to_scheduler(self);
    return here->last_sum;
}

unsigned gw_emulated_lane(void) {
    return static_cast<fiber *>(gw_emulated_self)->number % LANES;
}

const uint64_t *gw_emulated_meet_warp(unsigned mask, uint64_t brought) {
    fiber *self = static_cast<fiber *>(gw_emulated_self);
    unsigned lane = self->number % LANES;
    unsigned first = self->number - lane;
    if ((mask >> lane & 1u) == 0) {
        give_up("is not in the mask that it gives");
    }
    meeting *met = &here->warps[first / LANES].meetings[__builtin_ctz(mask)];
    if (met->arrived == 0) {
        met->mask = mask;
        memset(met->brought[met->times % 2], 0xa5, sizeof met->brought[0]);
    }
    if (met->mask != mask) {
        give_up("gives another mask than other lanes");
    }
    uint64_t *all = met->brought[met->times % 2];
    all[lane] = brought;
    met->arrived |= 1u << lane;
    if (met->arrived != mask) {
        self->is = AT_WARP;
        leave_to_scheduler(self);
        return all;
    }
    met->arrived = 0;
    met->times++;
    for (unsigned other = 0; other < LANES; other++) {
        if ((mask >> other & 1u) != 0) {
            here->fibers[first + other]->is = READY;
        }
    }
    return all;
}

void gw_emulated_launch(dim3 blocks, dim3 threads, const std::function<void()> &body) {
    unsigned count = blocks.x * blocks.y * blocks.z;
    if (here == nullptr) {
        here.reset(new scheduler());
    }
    here->thread_count = threads.x * threads.y * threads.z;
    if (here->thread_count == 0 || here->thread_count > MOST_THREADS) {
        (void)fprintf(stderr, "emulated GPU: a block of %u threads\n", here->thread_count);
        abort();
    }
    while (here->fibers.size() < here->thread_count) {
        make_fiber();
    }
    here->body = &body;
    unsigned start = count > 0 ? (unsigned)draw(count) : 0;
    for (unsigned i = 0; i < count; i++) {
        begin_block(blocks, threads, (start + i) % count);
        while (run_ready() || open_barrier()) {
        }
    }
}
