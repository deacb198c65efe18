/*
 * Preloaded into the program, makes its N-th call of one kind fail: GW_FAULT=KIND:N (N of 0: none).
 * Writes the number of calls of each kind to the file GW_FAULT_COUNTS, a line each.
 *
 * Functions that allocate memory or start tasks replace the C library's. All other kinds are system
 * calls, which the C library also makes internally (for fprintf, say): a filter makes those from
 * its code raise a signal, whose handler makes the call, or fails it. Started programs have that
 * code at other addresses, and are not affected.
 *
 * In a job GW_FAULT_RANK is the rank. Only memory fails there, and only in the program's own code:
 * libraries for messages crash without it, and make calls of their own while they wait.
 *
 * Calls whose failure no program can handle do not fail: writing to stderr, removing a file, and
 * calls of a library's constructors while it is loaded (NCCL's crash without memory).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- counting ------------------------------------------------------------------------------- */

enum kind { MEMORY, TASK, OPEN, READ, WRITE, SYNC, NAME, CLOSE, LOOK, KINDS };

static const char *const names[KINDS] = {"memory", "task", "open",  "read", "write",
                                         "sync",   "name", "close", "look"};
static const int errors[KINDS] = {ENOMEM, EAGAIN, EMFILE, EIO, ENOSPC, EIO, EIO, EIO, EIO};

static atomic_long counts[KINDS];
static enum kind failing = KINDS;
static long fails_at;
static pid_t counted; /* the process, once it is in main() */
static struct range {
    uintptr_t inside, start, end;
} watched = {.end = UINTPTR_MAX}; /* code whose requests for memory are counted */
static _Thread_local int loading; /* libraries */

/* A place for a debugger's breakpoint. */
__attribute__((noinline)) static void fail_here(void) {
    __asm__ volatile("");
}

static int fails(enum kind kind) {
    if (counted == 0 || getpid() != counted || loading > 0) {
        return 0;
    }
    long count = atomic_fetch_add(&counts[kind], 1) + 1;
    if (kind != failing || count != fails_at) {
        return 0;
    }
    fail_here();
    errno = errors[kind];
    return 1;
}

/* ---- functions ------------------------------------------------------------------------------ */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static int refuses(const void *caller) {
    uintptr_t code = (uintptr_t)caller;
    return code >= watched.start && code < watched.end && fails(MEMORY);
}

#define REFUSED refuses(__builtin_return_address(0))

void *malloc(size_t size) {
    return REFUSED ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return REFUSED ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    return REFUSED ? NULL : __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
    return REFUSED ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return REFUSED ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    void *memory = REFUSED ? NULL : __libc_memalign(alignment, size);
    if (memory == NULL) {
        return ENOMEM;
    }
    *out = memory;
    return 0;
}

void *dlopen(const char *name, int flags) {
    void *(*real)(const char *, int) = dlsym(RTLD_NEXT, "dlopen");
    loading++;
    void *library = real(name, flags);
    loading--;
    return library;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument) {
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        dlsym(RTLD_NEXT, "pthread_create");
    return fails(TASK) ? EAGAIN : create(thread, attributes, run, argument);
}

pid_t fork(void) {
    pid_t (*real)(void) = dlsym(RTLD_NEXT, "fork");
    return fails(TASK) ? -1 : real();
}

/* ---- system calls --------------------------------------------------------------------------- */

static const struct {
    int number;
    enum kind kind;
} calls[] = {
    {SYS_open, OPEN},         {SYS_openat, OPEN},    {SYS_creat, OPEN},      {SYS_dup, OPEN},
    {SYS_memfd_create, OPEN}, {SYS_pipe, OPEN},      {SYS_pipe2, OPEN},      {SYS_read, READ},
    {SYS_pread64, READ},      {SYS_readv, READ},     {SYS_getdents64, READ}, {SYS_readlink, READ},
    {SYS_readlinkat, READ},   {SYS_write, WRITE},    {SYS_writev, WRITE},    {SYS_pwrite64, WRITE},
    {SYS_ftruncate, WRITE},   {SYS_fsync, SYNC},     {SYS_fdatasync, SYNC},  {SYS_rename, NAME},
    {SYS_renameat, NAME},     {SYS_renameat2, NAME}, {SYS_link, NAME},       {SYS_linkat, NAME},
    {SYS_fchmod, NAME},       {SYS_fchown, NAME},    {SYS_close, CLOSE},     {SYS_stat, LOOK},
    {SYS_fstat, LOOK},        {SYS_lstat, LOOK},     {SYS_newfstatat, LOOK}, {SYS_statx, LOOK},
    {SYS_access, LOOK},       {SYS_faccessat, LOOK}, {SYS_faccessat2, LOOK},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* Not through the C library, whose calls are caught. */
static long make_call(const greg_t *registers) {
    long result = registers[REG_RAX];
    register long r10 __asm__("r10") = registers[REG_R10];
    register long r8 __asm__("r8") = registers[REG_R8];
    register long r9 __asm__("r9") = registers[REG_R9];
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(registers[REG_RDI]), "S"(registers[REG_RSI]), "d"(registers[REG_RDX]),
                       "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static void on_call(int signal, siginfo_t *about, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    int before = errno;
    enum kind kind = KINDS;
    (void)signal;
    for (size_t i = 0; i < CALLS; i++) {
        kind = calls[i].number == about->si_syscall ? calls[i].kind : kind;
    }
    registers[REG_RAX] = about->si_syscall;
    int is_stderr = kind == WRITE && registers[REG_RDI] == STDERR_FILENO;
    int failed = !is_stderr && fails(kind);
    /* A file whose closing fails is closed all the same. */
    long result = failed && kind != CLOSE ? 0 : make_call(registers);
    registers[REG_RAX] = failed ? -errors[kind] : result;
    errno = before;
}

static int find_code(struct dl_phdr_info *object, size_t size, void *context) {
    struct range *range = context;
    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && range->inside - start < part->p_memsz) {
            range->start = start;
            range->end = start + part->p_memsz;
        }
    }
    return 0;
}

/* Filters compare halves of addresses: code whose ends differ in the upper one stays unwatched. */
static int catch_calls(void) {
    enum { IP = offsetof(struct seccomp_data, instruction_pointer) };
    struct range code = {.inside = (uintptr_t)dlsym(RTLD_NEXT, "write")};
    struct sock_filter steps[CALLS + 16];
    unsigned short count = 0;
    (void)dl_iterate_phdr(find_code, &code);
    const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_filter places[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(code.start >> 32), 1, 0),
        allow,
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)code.start, 1, 0),
        allow,
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)code.end, 0, 1),
        allow,
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    memcpy(steps, places, sizeof places);
    count = sizeof places / sizeof *places;
    for (size_t i = 0; i < CALLS; i++) {
        steps[count++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i].number, (unsigned char)(CALLS - i), 0);
    }
    steps[count++] = allow;
    steps[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    const struct sock_fprog filter = {.len = count, .filter = steps};
    struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
    return code.start >> 32 != code.end >> 32 ||
           (sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static const char *counts_path;
static int (*program_main)(int, char **, char **);

static int counted_main(int argc, char **argv, char **environment) {
    const char *fault = getenv("GW_FAULT");
    const char *colon = fault == NULL ? NULL : strchr(fault, ':');
    for (size_t kind = 0; kind < KINDS && colon != NULL; kind++) {
        if (strncmp(fault, names[kind], (size_t)(colon - fault)) == 0) {
            failing = (enum kind)kind;
            fails_at = strtol(colon + 1, NULL, 10);
        }
    }
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    const char *failing_rank = getenv("GW_FAULT_RANK");
    counts_path = getenv("GW_FAULT_COUNTS");
    (void)unsetenv("LD_PRELOAD");
    (void)dlsym(RTLD_NEXT, "fork"); /* what a first look asks memory for is not the program's */
    if (failing_rank != NULL) {
        watched.inside = (uintptr_t)program_main;
        (void)dl_iterate_phdr(find_code, &watched);
        counted = rank != NULL && strcmp(rank, failing_rank) == 0 ? getpid() : 0;
        return program_main(argc, argv, environment);
    }
    if (!catch_calls()) {
        (void)fprintf(stderr, "fault_shim: system calls cannot be watched: %s\n", strerror(errno));
        _exit(99);
    }
    counted = getpid();
    return program_main(argc, argv, environment);
}

__attribute__((destructor)) static void report(void) {
    char text[512] = "";
    int length = 0;
    if (counted == 0 || getpid() != counted || counts_path == NULL) {
        return;
    }
    counted = 0;
    for (size_t kind = 0; kind < KINDS; kind++) {
        length += snprintf(text + length, sizeof text - (size_t)length, "%s %ld\n", names[kind],
                           atomic_load(&counts[kind]));
    }
    int descriptor = open(counts_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    (void)!write(descriptor, text, (size_t)length);
    (void)close(descriptor);
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
    int (*start)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                 void (*)(void), void *) = dlsym(RTLD_NEXT, "__libc_start_main");
    program_main = main;
    return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
