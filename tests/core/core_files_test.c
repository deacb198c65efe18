/* Files that are whole or as they were: what is replaced, what is written through, what is left. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/core.h"
#include "tests/core/core_support.h"
#include "tests/test.h"

/* ---- files --------------------------------------------------------------------------------- */

TEST_IN_FOLDER(files_are_written_and_replaced) {
    const char *path = path_in(*state, "plan.json");
    assert_false(gw_file_exists(path));
    const char *texts[] = {"first\n", "", "the second is longer\nand has two lines"};
    for (size_t i = 0; i < 3; i++) {
        assert_ok(gw_file_write(path, texts[i], strlen(texts[i]), &error));
        assert_holds(path, texts[i], strlen(texts[i]));
        assert_true(gw_file_exists(path));
        assert_int_equal(count_entries(*state), 1);
    }
}

/* Around the sizes at which the reader's buffer grows. */
TEST_IN_FOLDER(files_of_any_size_are_read) {
    const size_t sizes[] = {1, 65534, 65535, 65536, 131071, 1 << 20};
    const char *path = path_in(*state, "large");
    char *text = malloc((1 << 20) + 1);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t c = 0; c < sizes[i]; c++) {
            text[c] = (char)('a' + c % 23);
        }
        text[sizes[i]] = '\0';
        assert_ok(gw_file_write(path, text, sizes[i], &error));
        assert_holds(path, text, sizes[i]);
    }
    free(text);
}

TEST_IN_FOLDER(a_missing_folder_is_named) {
    const char *path = path_in(*state, "missing/plan.json");
    assert_message(gw_file_write(path, "x", 1, &error), GW_FAILED,
                   "%s: cannot be written: No such file or directory", path);
    assert_int_equal(count_entries(*state), 0);
}

TEST_IN_FOLDER(a_folder_is_not_overwritten) {
    const char *path = path_in(*state, "folder");
    assert_int_equal(mkdir(path, 0777), 0);
    assert_message(gw_file_write(path, "x", 1, &error), GW_FAILED,
                   "%s: cannot be written: Is a directory", path);
    assert_int_equal(count_entries(*state), 1);
    char *temporary = NULL;
    assert_ok(gw_file_temporary(path, &temporary, &error));
    assert_message(gw_file_replace(temporary, path, &error), GW_FAILED,
                   "%s: cannot be written: Is a directory", path);
    assert_int_equal(count_entries(*state), 1);
    free(temporary);
}

/* A limit on file sizes stands for the full disk. */
TEST_IN_FOLDER(a_failed_write_leaves_the_old_file) {
    const char *path = path_in(*state, "plan.json");
    const size_t length = 100000;
    char *text = calloc(length, 1);
    assert_non_null(text);
    assert_ok(gw_file_write(path, "old", 3, &error));
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = {.rlim_cur = 5000, .rlim_max = before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum gw_status status = gw_file_write(path, text, length, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    free(text);
    assert_message(status, GW_FAILED, "%s: cannot be written: File too large", path);
    assert_holds(path, "old", 3);
    assert_int_equal(count_entries(*state), 1);
}

static bool is_a_link(const char *path) {
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return S_ISLNK(status.st_mode);
}

static ino_t inode_of(const char *path) {
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status.st_ino;
}

/* Whoever has the old file open still sees all of it. */
TEST_IN_FOLDER(writing_a_link_replaces_its_target) {
    const char *target = path_in(*state, "target");
    const char *link = path_in(*state, "link");
    const char *longer = path_in(*state, "longer");
    assert_ok(gw_file_write(target, "old", 3, &error));
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(symlink(link, longer), 0);
    int reader = open(target, O_RDONLY);
    char seen[4] = "";
    ino_t before = inode_of(target);
    assert_ok(gw_file_check_target(longer, NULL, &error));
    assert_ok(gw_file_write(longer, "newer", 5, &error));
    assert_holds(target, "newer", 5);
    assert_true(inode_of(target) != before);
    assert_int_equal(read(reader, seen, sizeof seen), 3);
    assert_string_equal(seen, "old");
    (void)close(reader);
    assert_true(is_a_link(link) && is_a_link(longer) && !is_a_link(target));
    assert_int_equal(count_entries(*state), 3);
}

TEST_IN_FOLDER(writing_a_link_creates_its_target) {
    const char *folder = path_in(*state, "folder");
    const char *link = path_in(*state, "link");
    const char *target = path_in(*state, "folder/target");
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(symlink("folder/target", link), 0);
    assert_ok(gw_file_write(link, "new", 3, &error));
    assert_holds(target, "new", 3);
    assert_true(is_a_link(link));
    assert_int_equal(count_entries(folder), 1);
    assert_int_equal(count_entries(*state), 2);
    assert_int_equal(unlink(target), 0);
}

TEST_IN_FOLDER(links_that_lead_nowhere_are_refused) {
    const char *circle = path_in(*state, "circle");
    const char *missing = path_in(*state, "missing");
    assert_int_equal(symlink("circle", circle), 0);
    assert_int_equal(symlink("folder/file", missing), 0);
    const char *cause[] = {"Too many levels of symbolic links", "No such file or directory"};
    for (int i = 0; i < 2; i++) {
        const char *path = i == 0 ? circle : missing;
        assert_message(gw_file_check_target(path, NULL, &error), GW_FAILED,
                       "%s: cannot be written: %s", path, cause[i]);
        assert_message(gw_file_write(path, "x", 1, &error), GW_FAILED, "%s: cannot be written: %s",
                       path, cause[i]);
    }
    assert_int_equal(count_entries(*state), 2);
}

TEST_IN_FOLDER(pipes_are_written_through) {
    const char *pipe = path_in(*state, "pipe");
    const char *link = path_in(*state, "link");
    assert_int_equal(mkfifo(pipe, 0666), 0);
    assert_int_equal(symlink("pipe", link), 0);
    int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    char seen[4] = "";
    assert_ok(gw_file_check_target(link, NULL, &error));
    assert_ok(gw_file_write(link, "all", 3, &error));
    assert_int_equal(read(reader, seen, sizeof seen), 3);
    assert_string_equal(seen, "all");
    (void)close(reader);
    char *temporary = NULL;
    assert_ok(gw_file_temporary(link, &temporary, &error));
    assert_string_equal(temporary, link);
    assert_ok(gw_file_replace(temporary, link, &error));
    gw_file_discard(temporary);
    gw_file_discard(pipe);
    free(temporary);
    assert_true(is_a_link(link));
    assert_int_equal(count_entries(*state), 2);
    assert_ok(gw_file_write("/dev/null", "x", 1, &error));
}

TEST_IN_FOLDER(temporary_names_lie_beside_and_keep_the_ending) {
    const char *folder = path_in(*state, "b");
    const char *link = path_in(*state, "link.png");
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(symlink("b/real.svg", link), 0);
    const char *paths[] = {path_in(*state, "b/plot.svg"), link, path_in(*state, "b/plot")};
    const char *endings[] = {".svg", ".svg", ""};
    for (size_t i = 0; i < 3; i++) {
        char expected[512];
        char *temporary = NULL;
        (void)snprintf(expected, sizeof expected, "%s/.gradweave-%ld-0%s", folder, (long)getpid(),
                       endings[i]);
        assert_ok(gw_file_temporary(paths[i], &temporary, &error));
        assert_string_equal(temporary, expected);
        assert_int_equal(count_entries(folder), 1);
        gw_file_discard(temporary);
        free(temporary);
    }
    assert_int_equal(count_entries(folder), 0);
}

/* An existing file with a temporary file's name, such as a link of someone else, stays. */
TEST_IN_FOLDER(temporary_files_are_new) {
    char name[64];
    const char *bait = path_in(*state, "bait");
    (void)snprintf(name, sizeof name, ".gradweave-%ld-0.json", (long)getpid());
    assert_ok(gw_file_write(bait, "bait", 4, &error));
    assert_int_equal(symlink("bait", path_in(*state, name)), 0);
    assert_ok(gw_file_write(path_in(*state, "plan.json"), "x", 1, &error));
    assert_holds(path_in(*state, "plan.json"), "x", 1);
    assert_holds(bait, "bait", 4);
    assert_true(is_a_link(path_in(*state, name)));
    assert_int_equal(count_entries(*state), 3);
}

TEST_IN_FOLDER(the_longest_names_are_written) {
    const char *endings[] = {".json",
                             ".an ending that is longer than the names of temporary files"};
    for (size_t i = 0; i < 2; i++) {
        char name[256] = "";
        memset(name, 'x', 255);
        memcpy(name + 255 - strlen(endings[i]), endings[i], strlen(endings[i]));
        const char *path = path_in(*state, name);
        assert_ok(gw_file_write(path, "whole", 5, &error));
        assert_holds(path, "whole", 5);
        assert_int_equal(count_entries(*state), i + 1);
    }
}

TEST_IN_FOLDER(unreadable_files_are_bad_input) {
    char *text = NULL;
    size_t length = 0;
    const char *path = path_in(*state, "missing");
    assert_message(gw_file_read(path, &text, &length, &error), GW_BAD_INPUT,
                   "%s: cannot be read: No such file or directory", path);
    assert_message(gw_file_read(*state, &text, &length, &error), GW_BAD_INPUT,
                   "%s: cannot be read: Is a directory", (char *)*state);
}

/* ---- what may be replaced ------------------------------------------------------------------ */

TEST_IN_FOLDER(mode_and_owner_stay) {
    const char *path = path_in(*state, "plan.json");
    struct stat about;
    assert_ok(gw_file_write(path, "old", 3, &error));
    assert_int_equal(chmod(path, 0640), 0);
    bool is_root = chown(path, 1234, 2345) == 0;
    assert_ok(gw_file_write(path, "new", 3, &error));
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0640);
    assert_true(!is_root || (about.st_uid == 1234 && about.st_gid == 2345));
    assert_holds(path, "new", 3);
}

TEST_IN_FOLDER(read_only_files_stay) {
    const char *path = path_in(*state, "plan.json");
    assert_ok(gw_file_write(path, "old", 3, &error));
    assert_int_equal(chmod(path, 0444), 0);
    assert_message(gw_file_write(path, "new", 3, &error), GW_FAILED,
                   "%s: cannot be written: Permission denied", path);
    assert_message(gw_file_check_target(path, NULL, &error), GW_FAILED,
                   "%s: cannot be written: Permission denied", path);
    assert_holds(path, "old", 3);
    assert_int_equal(count_entries(*state), 1);
}

/* Beginnings of files, each of a kind of its own but the empty ones. */
static const char *const kinds[] = {
    "{\"schema\": \"gradweave/model@1\"",
    "{\n  \"schema\": \"gradweave/plan@1\"",
    "{\"displayTimeUnit\": \"ms\", \"otherData\": {\"schema\": \"gradweave/timeline@1\"}",
    "{\"mine\": 1}",
    "\x89PNG\r\n\x1a\n",
    "%PDF-1.5",
    "<?xml?>\n<svg>",
    "num_ranks 4\n",
    "point,model\n",
    "#position,label\n",
    "import os\n",
};

static enum gw_status release(struct gw_error *failure) {
    GW_TRY(gw_outputs_place(failure));
    gw_outputs_keep();
    return GW_OK;
}

/* From here on as a program: that lasts until its end. */
TEST_IN_FOLDER(another_kind_of_file_stays) {
    const char *path = path_in(*state, "out");
    gw_outputs_hold();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++) {
            (void)unlink(path);
            assert_ok(gw_file_write(path, kinds[i], strlen(kinds[i]), &error));
            assert_ok(release(&error));
            enum gw_status expected = i == j ? GW_OK : GW_BAD_INPUT;
            const char *left = i == j ? kinds[j] : kinds[i];
            assert_int_equal(gw_file_check_target(path, kinds[j], &error), expected);
            assert_int_equal(gw_file_write(path, kinds[j], strlen(kinds[j]), &error), expected);
            assert_ok(release(&error));
            assert_holds(path, left, strlen(left));
            assert_int_equal(count_entries(*state), 1);
        }
    }
    assert_ok(gw_file_write(path, "", 0, &error));
    assert_ok(release(&error));
    assert_ok(gw_file_write(path, kinds[0], strlen(kinds[0]), &error));
    assert_ok(release(&error));
    assert_message(gw_file_write(path, "a,b\n", 4, &error), GW_BAD_INPUT,
                   "%s: expected no file, or a table, to write to, got \"gradweave/model\", which "
                   "--force replaces",
                   path);
}

TEST_IN_FOLDER(files_of_a_program_appear_together) {
    const char *one = path_in(*state, "one");
    const char *two = path_in(*state, "two");
    const char *input = path_in(*state, "input");
    assert_ok(gw_file_write(one, "old", 3, &error));
    assert_ok(gw_file_write(input, "input", 5, &error));
    assert_ok(release(&error));
    const char *inner = path_in(*state, "two/inner");
    for (int round = 0; round < 4; round++) {
        assert_ok(gw_file_write(one, "new", 3, &error));
        assert_ok(gw_file_write(two, "new", 3, &error));
        gw_outputs_remove(input);
        assert_int_equal(access(two, F_OK), -1);
        assert_int_equal(access(input, F_OK), 0);
        if (round == 0) {
            gw_outputs_discard();
        } else if (round == 1) { /* the second one cannot be put in place */
            assert_int_equal(mkdir(two, 0777), 0);
            assert_int_equal(mkdir(inner, 0777), 0);
            assert_message(release(&error), GW_FAILED, "%s: cannot be written: Is a directory",
                           two);
            assert_int_equal(rmdir(inner), 0);
            assert_int_equal(rmdir(two), 0);
        } else if (round == 2) { /* what fails comes after that */
            assert_ok(gw_outputs_place(&error));
            assert_holds(one, "new", 3);
            assert_int_equal(access(two, F_OK), 0);
            gw_outputs_discard();
        }
        if (round < 3) {
            char *text = NULL;
            size_t length = 0;
            assert_int_equal(count_entries(*state), 2);
            assert_ok(gw_file_read(one, &text, &length, &error));
            assert_string_equal(text, "old");
            free(text);
        }
    }
    assert_ok(release(&error));
    assert_int_equal(count_entries(*state), 2);
    assert_holds(one, "new", 3);
    assert_ok(gw_file_write(two, "2", 1, &error));
    assert_message(gw_file_write(two, "2", 1, &error), GW_BAD_INPUT,
                   "%s: expected a file of its own for each output", two);
    gw_outputs_discard();
    gw_outputs_forced = true;
    assert_ok(gw_file_write(one, "forced", 6, &error));
    assert_ok(release(&error));
    assert_holds(one, "forced", 6);
}

/* ---- what interrupted runs leave ------------------------------------------------------------- */

/* The copy of the descriptor stands for whoever looks into /proc while it is closed. */
TEST_IN_FOLDER(one_at_a_time_goes_on_with_a_partial_file) {
    const char *path = path_in(*state, "out.csv.partial");
    bool created = false;
    int first = -1;
    int second = -1;
    assert_ok(gw_file_open_partial(path, "sweep", &created, &first, &error));
    assert_true(created);
    assert_message(gw_file_open_partial(path, "sweep", &created, &second, &error), GW_BAD_INPUT,
                   "%s: expected an interrupted sweep, got one that is still running", path);
    assert_true(!created && second == -1);
    int copy = dup(first);
    assert_true(copy >= 0);
    assert_int_equal(gw_write_all(first, "ab", 2), 0);
    gw_file_unlock(first);
    assert_int_equal(close(first), 0);
    assert_ok(gw_file_open_partial(path, "sweep", &created, &second, &error));
    assert_false(created);
    assert_int_equal(gw_write_all(second, "c", 1), 0);
    assert_int_equal(close(second) + close(copy), 0);
    assert_holds(path, "abc", 3);
}
