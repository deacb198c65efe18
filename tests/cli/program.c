#include "tests/cli/program.h"

#include <ctype.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support.h"

/* ---- what tests asked for ------------------------------------------------------------------- */

static struct kept {
    void *object;
    void (*release)(void *object);
    struct kept *next;
} * all_kept;

static void *keep(void *object, void (*release)(void *object)) {
    struct kept *kept = malloc(sizeof *kept);
    assert_non_null(kept);
    *kept = (struct kept){.object = object, .release = release, .next = all_kept};
    all_kept = kept;
    return object;
}

static void delete_document(void *document) {
    cJSON_Delete(document);
}

__attribute__((destructor)) void forget_answers(void) {
    while (all_kept != NULL) {
        struct kept *next = all_kept->next;
        all_kept->release(all_kept->object);
        free(all_kept);
        all_kept = next;
    }
}

/* ---- running ------------------------------------------------------------------------------- */

enum { MOST_WORDS = 64, MOST_PROCESSES = 4096 };

static void run_child(const char *folder, const char *command, int out, int err) {
    char *words[MOST_WORDS] = {0};
    size_t count = 0;
    char *rest = strdup(command);
    for (char *word = NULL; count + 1 < MOST_WORDS && (word = strsep(&rest, " ")) != NULL;) {
        if (word[0] != '\0') {
            words[count++] = strcmp(word, "gradweave") == 0 ? (char *)GW_TEST_PROGRAM : word;
        }
    }
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)unsetenv("GRADWEAVE_DATA");
    (void)unsetenv("GRADWEAVE_TERMINAL");
    bool ready = prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && setpgid(0, 0) == 0 &&
                 chdir(folder) == 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
                 dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0;
    if (ready && count > 0) {
        execvp(words[0], words);
    }
    _exit(127);
}

static struct running start_into(const char *folder, const char *command, FILE *out) {
    struct running running = {.out = out, .err = tmpfile(), .command = command};
    assert_non_null(running.out);
    assert_non_null(running.err);
    running.process = fork();
    if (running.process == 0) {
        run_child(folder, command, fileno(running.out), fileno(running.err));
    }
    assert_true(running.process > 0);
    (void)setpgid(running.process, running.process);
    return running;
}

struct running start(const char *folder, const char *command) {
    return start_into(folder, command, tmpfile());
}

/* All of a stream that another process wrote into, and closes it. */
static char *drain(FILE *stream) {
    struct stat file;
    assert_int_equal(fstat(fileno(stream), &file), 0);
    size_t size = S_ISREG(file.st_mode) ? (size_t)file.st_size : 0;
    char *text = keep(calloc(size + 1, 1), free);
    assert_non_null(text);
    rewind(stream);
    assert_int_equal(fread(text, 1, size, stream), size);
    (void)fclose(stream);
    return text;
}

/* The address sanitizer warns of the fibers of an emulated GPU, in a line for each thread at once.
 */
static char *without_warnings(char *text) {
    char *found = NULL;
    while ((found = strstr(text, "==WARNING: ASan doesn't fully support")) != NULL) {
        char *start = found;
        while (start > text && start[-1] != '\n') {
            start--;
        }
        char *end = strchrnul(found, '\n');
        end += *end == '\n';
        memmove(start, end, strlen(end) + 1);
    }
    return text;
}

static void nap(double seconds) {
    struct timespec time = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)(1e9 * (seconds - floor(seconds)))};
    (void)nanosleep(&time, NULL);
}

static double now_s(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

struct answer finish(const struct running *running, double seconds) {
    double start_s = now_s();
    int wait_status = 0;
    bool late = false;
    while (waitpid(running->process, &wait_status, WNOHANG) == 0) {
        if (!late && now_s() - start_s > seconds) {
            late = true;
            (void)kill(-running->process, SIGTERM);
        }
        if (now_s() - start_s > seconds + 10) {
            (void)kill(-running->process, SIGKILL);
        }
        nap(0.001);
    }
    struct answer answer = {.out = join_notes(drain(running->out)),
                            .err = without_warnings(drain(running->err))};
    answer.status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
    if (late) {
        print_error("%s: still running after %g s; stderr: %s\n", running->command, seconds,
                    answer.err);
        fail();
    }
    return answer;
}

static const char *format_command(const char *format, va_list arguments) {
    char *command = NULL;
    assert_true(vasprintf(&command, format, arguments) >= 0);
    return keep(command, free);
}

/* Ends a command that hangs; the longest take some 10 s on an idle machine. */
static const double longest_command_s = 300;

static struct answer ask_one(const char *folder, const char *command) {
    struct running running = start(folder, command);
    return finish(&running, longest_command_s);
}

struct answer ask(const char *folder, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *command = format_command(format, arguments);
    va_end(arguments);
    return ask_one(folder, command);
}

struct answer ask_into(const char *folder, const char *command, const char *out) {
    struct running running = start_into(folder, command, fopen(out, "we"));
    return finish(&running, longest_command_s);
}

bool have_program(const char *name) {
    const char *path = getenv("PATH");
    char *folders = strdup(path == NULL ? "" : path);
    char *rest = folders;
    bool found = false;
    for (char *folder = NULL; !found && (folder = strsep(&rest, ":")) != NULL;) {
        found = access(path_in(folder, name), X_OK) == 0;
    }
    free(folders);
    return found;
}

void need_gnuplot(void) {
    if (!have_program("gnuplot")) {
        print_message("skipped: no gnuplot in PATH\n");
        skip();
    }
}

/* ---- processes ----------------------------------------------------------------------------- */

/* A process's parent; 0 if there is no such process. */
static pid_t parent_of(pid_t process) {
    char path[64];
    char line[512] = "";
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)process);
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        return 0;
    }
    size_t length = fread(line, 1, sizeof line - 1, stream);
    (void)fclose(stream);
    line[length] = '\0';
    /* "PID (name) state PPID ...": the name may hold anything. */
    const char *name_end = strrchr(line, ')');
    return name_end == NULL || strlen(name_end) < 5 ? 0 : (pid_t)strtol(name_end + 4, NULL, 10);
}

static bool runs_program(pid_t process) {
    char path[64];
    char program[4096];
    char *expected = realpath(GW_TEST_PROGRAM, NULL);
    (void)snprintf(path, sizeof path, "/proc/%ld/exe", (long)process);
    ssize_t length = readlink(path, program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    bool same = expected != NULL && strcmp(program, expected) == 0;
    free(expected);
    return same;
}

/* A descendant with another program - mpirun - between. */
static bool is_rank_of(pid_t process, pid_t program) {
    if (process == program || !runs_program(process)) {
        return false;
    }
    bool launched = false;
    for (pid_t ancestor = parent_of(process); ancestor > 1; ancestor = parent_of(ancestor)) {
        if (ancestor == program) {
            return launched;
        }
        launched = launched || !runs_program(ancestor);
    }
    return false;
}

/* The rank of a process in its job; -1 if it is none, or has ended. */
static int rank_of(pid_t process) {
    static const char name[] = "OMPI_COMM_WORLD_RANK=";
    char path[64];
    char text[65536];
    (void)snprintf(path, sizeof path, "/proc/%ld/environ", (long)process);
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        return -1;
    }
    size_t length = fread(text, 1, sizeof text - 1, stream);
    (void)fclose(stream);
    text[length] = '\0';
    for (const char *entry = text; entry < text + length; entry += strlen(entry) + 1) {
        if (strncmp(entry, name, sizeof name - 1) == 0) {
            return atoi(entry + sizeof name - 1);
        }
    }
    return -1;
}

void find_ranks(pid_t program, size_t count, pid_t *ranks) {
    size_t found = 0;
    for (double start_s = now_s(); found < count && now_s() - start_s < 30; nap(0.01)) {
        DIR *processes = opendir("/proc");
        assert_non_null(processes);
        found = 0;
        const struct dirent *entry = NULL;
        while (found < count && (entry = readdir(processes)) != NULL) {
            pid_t process = (pid_t)strtol(entry->d_name, NULL, 10);
            int rank = process > 0 && is_rank_of(process, program) ? rank_of(process) : -1;
            if (rank >= 0 && rank < (int)count) {
                ranks[rank] = process;
                found++;
            }
        }
        (void)closedir(processes);
    }
    assert_int_equal(found, count);
}

/* ---- files --------------------------------------------------------------------------------- */

void write_text(const char *folder, const char *name, const char *text) {
    FILE *stream = fopen(path_in(folder, name), "we");
    assert_non_null(stream);
    for (const char *c = text; *c != '\0'; c++) {
        (void)fputc(*c == '\'' ? '"' : *c, stream);
    }
    assert_int_equal(fclose(stream), 0);
}

char *read_text(const char *folder, const char *name) {
    FILE *stream = fopen(path_in(folder, name), "re");
    if (stream == NULL) {
        print_error("%s: not there\n", name);
    }
    assert_non_null(stream);
    return drain(stream);
}

char *list_files(const char *folder) {
    struct dirent **entries = NULL;
    char *text = NULL;
    size_t length = 0;
    int count = scandir(folder, &entries, NULL, alphasort);
    FILE *stream = open_memstream(&text, &length);
    assert_true(count >= 0 && stream != NULL);
    for (int i = 0; i < count; i++) {
        struct stat file;
        const char *name = entries[i]->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            assert_int_equal(lstat(path_in(folder, name), &file), 0);
            (void)fprintf(stream, "%s %llu %lld %lld.%09ld\n", name,
                          (unsigned long long)file.st_ino, (long long)file.st_size,
                          (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
        }
        free(entries[i]);
    }
    free(entries);
    (void)fclose(stream);
    return keep(text, free);
}

void check_png(const char *folder, const char *name) {
    static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    char *picture = read_text(folder, name);
    assert_memory_equal(picture, signature, sizeof signature);
}

/* ---- documents ----------------------------------------------------------------------------- */

cJSON *parse_document(const char *text, const char *schema) {
    const char *end = NULL;
    cJSON *document = keep(cJSON_ParseWithOpts(text, &end, 0), delete_document);
    bool alone = document != NULL && end[strspn(end, " \t\r\n")] == '\0';
    if (!alone) {
        print_error("expected one JSON document, got: %.400s\n", text);
    }
    assert_true(alone);
    if (schema != NULL) {
        assert_string_equal(text_at(document, "schema"), schema);
    }
    return document;
}

/* The output of a command that succeeds, without a word on stderr. */
static const char *ask_well(const char *folder, const char *command) {
    struct answer answer = ask_one(folder, command);
    if (answer.status != 0 || answer.err[0] != '\0') {
        print_error("%s: exit status %d, stderr: %s\n", command, answer.status, answer.err);
        fail();
    }
    return answer.out;
}

const char *check_says(const char *folder, const char *command, ...) {
    const char *text = ask_well(folder, command);
    const char *place = text;
    va_list parts;
    va_start(parts, command);
    for (const char *part = va_arg(parts, const char *); part != NULL;
         part = va_arg(parts, const char *)) {
        place = strstr(place, part);
        if (place == NULL) {
            fail_msg("%s: expected \"%s\", behind what is expected before it, in:\n%s", command,
                     part, text);
        }
        place += strlen(part);
    }
    va_end(parts);
    return text;
}

cJSON *ask_document(const char *folder, const char *command, const char *schema) {
    return parse_document(ask_well(folder, command), schema);
}

cJSON *ask_for(const char *folder, const char *schema, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *command = format_command(format, arguments);
    va_end(arguments);
    return ask_document(folder, command, schema);
}

const cJSON *item_at(const cJSON *document, const char *path) {
    const cJSON *item = document;
    for (const char *rest = path; *rest != '\0' && item != NULL;) {
        char key[64];
        size_t length = strcspn(rest, ".");
        (void)snprintf(key, sizeof key, "%.*s", (int)length, rest);
        item = cJSON_GetObjectItemCaseSensitive(item, key);
        rest += length + (rest[length] == '.');
    }
    if (item == NULL) {
        print_error("%s: not in the document\n", path);
    }
    assert_non_null(item);
    return item;
}

double number_at(const cJSON *document, const char *path) {
    const cJSON *item = item_at(document, path);
    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble)) {
        print_error("%s: not a finite number\n", path);
        fail();
    }
    return item->valuedouble;
}

const char *text_at(const cJSON *document, const char *path) {
    const cJSON *item = item_at(document, path);
    if (!cJSON_IsString(item)) {
        print_error("%s: not a string\n", path);
        fail();
    }
    return item->valuestring;
}

void check_times(const cJSON *result) {
    static const char *const parts[] = {"breakdown.forward_s", "breakdown.backward_s",
                                        "breakdown.compress_s", "breakdown.exposed_comm_s",
                                        "breakdown.other_s"};
    double sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        double part = number_at(result, parts[i]);
        assert_true(part > -1e-9);
        sum += part;
    }
    assert_true(number_at(result, "iteration_s") > 0);
    assert_true(near(sum, number_at(result, "iteration_s"), 1e-9));
}

void check_trace(const char *folder, const char *name, size_t workers) {
    enum { MOST_WORKERS = 64 };
    size_t spans[MOST_WORKERS] = {0};
    size_t names[MOST_WORKERS] = {0};
    assert_true(workers <= MOST_WORKERS);
    char *text = read_text(folder, name);
    cJSON *trace = parse_document(text, NULL);
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, item_at(trace, "traceEvents")) {
        double process = number_at(event, "pid");
        assert_true(process >= 0 && process < (double)workers);
        if (strcmp(text_at(event, "ph"), "X") == 0) {
            assert_true(number_at(event, "ts") >= 0 && number_at(event, "dur") >= 0);
            assert_true(number_at(event, "tid") >= 0 && text_at(event, "name")[0] != '\0');
            spans[(size_t)process]++;
        } else if (strcmp(text_at(event, "name"), "process_name") == 0) {
            names[(size_t)process]++;
        }
    }
    for (size_t worker = 0; worker < workers; worker++) {
        assert_true(spans[worker] > 0);
        assert_int_equal(names[worker], 1);
    }
}
