/* Grids of blocks: a stream's thread and a helper of it run a block each at a time. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <atomic>
#include <memory>
#include <vector>

#include "kernels.h"
#include "order.h"
#include "streams.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

thread_local gw_emulated_thread *gw_emulated_self;

namespace {

/* ---- threads of a block as fibers of the thread that runs it ------------------------------- */

enum { STACK_BYTES = 1 << 17 };

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

ground::ground() : context(), stack_bottom(nullptr), stack_size(0), sanitizer(nullptr) {
#if defined(__SANITIZE_THREAD__)
    sanitizer = __tsan_get_current_fiber();
#endif
}

fiber::fiber(ground *ground, void (*live)())
    : gw_emulated_thread(), is(RETURNED), number(0), home(ground), context(),
      stack(new char[STACK_BYTES]), sanitizer(nullptr) {
    (void)getcontext(&context);
    context.uc_stack.ss_sp = stack.get();
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_link = nullptr;
    makecontext(&context, live, 0);
#if defined(__SANITIZE_THREAD__)
    sanitizer = __tsan_create_fiber(0);
#endif
}

fiber::~fiber() {
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(sanitizer);
#endif
}

void fiber::enter() {
    gw_emulated_self = this;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&home->sanitizer, stack.get(), STACK_BYTES);
#elif defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(sanitizer, __tsan_switch_to_fiber_no_sync);
#endif
    (void)swapcontext(&home->context, &context);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(home->sanitizer, nullptr, nullptr);
#endif
}

void fiber::leave() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&sanitizer, home->stack_bottom, home->stack_size);
#elif defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(home->sanitizer, __tsan_switch_to_fiber_no_sync);
#endif
    (void)swapcontext(&context, &home->context);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(sanitizer, &home->stack_bottom, &home->stack_size);
#endif
}

void fiber::begin() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &home->stack_bottom, &home->stack_size);
#endif
}

/* ---- grids --------------------------------------------------------------------------------- */

enum { MOST_THREADS = 1024, LARGE_BLOCK = 256, LANES = 32 };

struct grid {
    dim3 blocks, threads;
    std::function<void()> body;
    unsigned count, first; /* blocks, of which one by lot is the first */
    std::atomic<unsigned> taken;
    char begin, end, fence; /* what is in order with what: places for order.h */
};

/* The meeting of a mask's lanes; their values stay until all have met again. */
struct meeting {
    unsigned mask, arrived;
    uint64_t times;
    uint64_t brought[2][LANES];
};

struct warp {
    meeting meetings[LANES]; /* by the mask's lowest lane */
};

/* Runs blocks on one thread of the CPU, with fibers that are made when first needed. */
struct multiprocessor {
    ground home;
    std::vector<std::unique_ptr<fiber>> fibers;
    std::vector<warp> warps;
    grid *of;
    unsigned thread_count;
    unsigned meetings; /* of the block */
    char begin, end, met[2];
    uint64_t lot = 1;
};

thread_local std::unique_ptr<multiprocessor> here;

[[noreturn]] void give_up(const char *what) {
    (void)fprintf(stderr, "emulated GPU: block %u, thread %u: %s\n", gw_emulated_self->block.x,
                  gw_emulated_self->thread.x, what);
    abort();
}

fiber *self() {
    return static_cast<fiber *>(gw_emulated_self);
}

uint64_t draw(uint64_t below) {
    here->lot = here->lot * 6364136223846793005u + 1442695040888963407u;
    return (here->lot >> 33) % below;
}

/* ---- a block ------------------------------------------------------------------------------- */

/* A fiber runs the body for one block after another. */
void live() {
    self()->begin();
    for (;;) {
        order_after(&here->begin);
        here->of->body();
        order_before(&here->end);
        self()->is = fiber::RETURNED;
        self()->leave();
    }
}

void begin_block(unsigned block) {
    const dim3 &blocks = here->of->blocks;
    const dim3 &threads = here->of->threads;
    here->warps.assign((here->thread_count + LANES - 1) / LANES, warp());
    for (unsigned number = 0; number < here->thread_count; number++) {
        fiber *one = here->fibers[number].get();
        one->thread = {number % threads.x, number / threads.x % threads.y,
                       number / (threads.x * threads.y)};
        one->block = {block % blocks.x, block / blocks.x % blocks.y, block / (blocks.x * blocks.y)};
        one->threads = threads;
        one->blocks = blocks;
        one->number = number;
        one->is = fiber::READY;
    }
    order_before(&here->begin);
}

/* Lets each thread that is ready run until it waits or returns; whether there was one. */
bool run_ready() {
    bool any = false;
    unsigned first = (unsigned)draw(here->thread_count);
    bool backwards = draw(2) != 0;
    for (unsigned i = 0; i < here->thread_count; i++) {
        unsigned step = backwards ? here->thread_count - 1 - i : i;
        fiber *one = here->fibers[(first + step) % here->thread_count].get();
        if (one->is == fiber::READY) {
            one->enter();
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
        if (self()->is == fiber::AT_WARP) {
            give_up("waits for lanes of its warp that do not come");
        }
        left = left || self()->is == fiber::AT_BLOCK;
    }
    here->meetings++;
    for (unsigned i = 0; i < here->thread_count; i++) {
        fiber *one = here->fibers[i].get();
        one->is = one->is == fiber::AT_BLOCK ? fiber::READY : one->is;
    }
    return left;
}

/* ---- a grid -------------------------------------------------------------------------------- */

/* Blocks of the grid until there are none left. */
void run_blocks(grid *one) {
    if (here == nullptr) {
        here.reset(new multiprocessor());
    }
    here->of = one;
    here->thread_count = one->threads.x * one->threads.y * one->threads.z;
    while (here->fibers.size() < here->thread_count) {
        here->fibers.push_back(std::make_unique<fiber>(&here->home, live));
    }
    order_after(&one->begin);
    for (unsigned i = one->taken++; i < one->count; i = one->taken++) {
        begin_block((one->first + i) % one->count);
        while (run_ready() || open_barrier()) {
        }
        order_after(&here->end);
    }
    order_before(&one->end);
}

/*
 * A thread that runs blocks beside streams' own. All streams share one, as the thread sanitizer is
 * the slower the more fibers there are.
 */
class helper {
  public:
    void take() {
        quiet_lock(&taking);
    }
    bool try_take() {
        quiet_begin();
        bool taken = pthread_mutex_trylock(&taking) == 0;
        quiet_end();
        return taken;
    }
    void give(grid *one) {
        quiet_lock(&mutex);
        if (!begun) {
            begun = pthread_create(&thread, nullptr, work, this) == 0;
        }
        work_is = one;
        quiet_tell(&changed);
        quiet_unlock(&mutex);
    }
    /* Others may take it then. */
    void finish() {
        quiet_lock(&mutex);
        while (work_is != nullptr) {
            quiet_wait(&changed, &mutex);
        }
        quiet_unlock(&mutex);
        quiet_unlock(&taking);
    }

  private:
    static void *work(void *argument) {
        helper *one = static_cast<helper *>(argument);
        quiet_lock(&one->mutex);
        for (;;) {
            while (one->work_is == nullptr) {
                quiet_wait(&one->changed, &one->mutex);
            }
            quiet_unlock(&one->mutex);
            run_blocks(one->work_is);
            quiet_lock(&one->mutex);
            one->work_is = nullptr;
            quiet_tell(&one->changed);
        }
        return nullptr;
    }

    pthread_t thread;
    pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    grid *work_is = nullptr;
    bool begun = false;
};

helper beside;

/* Two blocks at a time, unless the helper has other work. */
void share_blocks(grid *one) {
    bool shared = one->count > 1 && beside.try_take();
    if (shared) {
        beside.give(one);
    }
    run_blocks(one);
    if (shared) {
        beside.finish();
    }
}

/* On one thread for all streams, as the thread sanitizer has not fibers enough for each. */
void run_large_blocks(grid *one) {
    beside.take();
    beside.give(one);
    beside.finish();
}

void run_grid(void *context) {
    std::unique_ptr<grid> one(static_cast<grid *>(context));
    order_before(&one->begin);
    if (one->threads.x * one->threads.y * one->threads.z > LARGE_BLOCK) {
        run_large_blocks(one.get());
    } else {
        share_blocks(one.get());
    }
    order_after(&one->end);
}

} // namespace

void gw_emulated_put(dim3 blocks, dim3 threads, cudaStream_t stream, std::function<void()> body) {
    static std::atomic<unsigned> lot;
    unsigned count = blocks.x * blocks.y * blocks.z;
    unsigned of_block = threads.x * threads.y * threads.z;
    if (of_block == 0 || of_block > MOST_THREADS) {
        (void)cuda_result(cudaErrorInvalidConfiguration);
        return;
    }
    grid *one = new grid{blocks, threads, std::move(body), count, lot++ * 7 % count, {0}, 0, 0, 0};
    stream_put(stream, run_grid, one);
}

/* ---- threads that meet --------------------------------------------------------------------- */

void gw_emulated_meet_block() {
    char *place = &here->met[here->meetings % 2];
    self()->is = fiber::AT_BLOCK;
    order_before(place);
    self()->leave();
    order_after(place);
}

unsigned gw_emulated_lane(void) {
    return self()->number % LANES;
}

const uint64_t *gw_emulated_meet_warp(unsigned mask, uint64_t brought, bool orders) {
    unsigned lane = self()->number % LANES;
    unsigned first = self()->number - lane;
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
    if (orders) {
        order_before(all);
    }
    if (met->arrived != mask) {
        self()->is = fiber::AT_WARP;
        self()->leave();
    } else {
        met->arrived = 0;
        met->times++;
        for (unsigned other = 0; other < LANES; other++) {
            if ((mask >> other & 1u) != 0) {
                here->fibers[first + other]->is = fiber::READY;
            }
        }
    }
    if (orders) {
        order_after(all);
    }
    return all;
}

void gw_emulated_pause(void) {
    (void)sched_yield();
    self()->leave(); /* and is READY */
}

void gw_emulated_fence(void) {
    order_after(&here->of->fence);
    order_before(&here->of->fence);
}
