#include "fibers.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

enum { STACK_BYTES = 1 << 17 };

thread_local gw_emulated_thread *gw_emulated_self;

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
