/* LD_PRELOAD: lets calls on the files of one database fail, so that tests see what their callers do.
 *
 * TAILCUT_FAULTS names the database; its log and its shared memory have the same beginning.
 * TAILCUT_FAULT_AT is a file with "N KIND CALLS": the N-th of the calls fails, N from 1 on; KIND is "once" or
 * "forever"; CALLS has a letter for each kind that counts: w(rite), s(ync), t(runcate), o(pen). It is read when
 * the process starts and whenever it has changed. The number of calls so far is written into FILE.count.
 * A process may also call tailcut_fail, and tailcut_calls for how many calls there were since.
 * tailcut_record lets everything that changes a file be written to a file descriptor, but for shared memory:
 * "LETTER PATH OFFSET SIZE\n", then what was written. Besides the letters above, u is unlink, d a sync of the
 * folder.
 * What is written reaches the file even if the sync after it fails, as on a real disk.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST 4096
static char *ours[MOST];
static int record = -1;
static long calls, wanted, until;
static char letters[16];
static struct timespec seen;

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

static int is_ours(const char *path) {
    const char *name = getenv("TAILCUT_FAULTS");
    return name && path && strncmp(path, name, strlen(name)) == 0 && !strstr(path, "-lock");
}

static int is_folder(const char *path) {
    const char *name = getenv("TAILCUT_FAULTS"), *end = name ? strrchr(name, '/') : NULL;
    return end && path && strlen(path) == (size_t)(end - name) && strncmp(path, name, end - name) == 0;
}

static void put(char letter, const char *path, long at, const void *data, size_t size) {
    char line[MOST];
    ssize_t (*write_it)(int, const void *, size_t) = real("write");
    if (record < 0 || strstr(path, "-shm")) return;
    int length = snprintf(line, sizeof line, "%c %s %ld %zu\n", letter, path, at, size);
    if (write_it(record, line, length) != length) abort();
    if (data && write_it(record, data, size) != (ssize_t)size) abort();
}

void tailcut_record(int fd) { record = fd; }

static void read_plan(void) {
    const char *plan = getenv("TAILCUT_FAULT_AT");
    struct stat now;
    char kind[16] = "", text[64] = "";
    if (!plan || stat(plan, &now) != 0) return;
    if (now.st_mtim.tv_sec == seen.tv_sec && now.st_mtim.tv_nsec == seen.tv_nsec) return;
    seen = now.st_mtim;
    int (*open_it)(const char *, int, ...) = real("open");
    ssize_t (*read_it)(int, void *, size_t) = real("read");
    int fd = open_it(plan, O_RDONLY);
    if (fd < 0) return;
    ssize_t size = read_it(fd, text, sizeof text - 1);
    ((int (*)(int))real("close"))(fd);
    if (size <= 0) return;
    calls = 0;
    sscanf(text, "%ld %15s %15s", &wanted, kind, letters);
    until = strcmp(kind, "forever") == 0 ? 1L << 60 : wanted;
}

void tailcut_fail(long number, int forever, const char *kinds) {
    wanted = number, until = forever ? 1L << 60 : number, calls = 0;
    snprintf(letters, sizeof letters, "%s", kinds);
}

long tailcut_calls(void) { return calls; }

static int fails(char letter) {
    read_plan();
    if (!wanted || !strchr(letters, letter)) return 0;
    calls++;
    if (calls < wanted || calls > until) return 0;
    errno = EIO;
    return 1;
}

static int known(int fd) {
    return fd >= 0 && fd < MOST && ours[fd] && is_ours(ours[fd]);
}

static void note(int fd, const char *path) {
    if (fd < 0 || fd >= MOST) return;
    free(ours[fd]);
    ours[fd] = is_ours(path) || is_folder(path) ? strdup(path) : NULL;
}

#define OPEN(NAME, ...)                                                                    \
    va_list more;                                                                          \
    va_start(more, flags);                                                                 \
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;                      \
    va_end(more);                                                                          \
    if (is_ours(path) && fails('o')) return -1;                                            \
    int fd = ((int (*)())real(NAME))(__VA_ARGS__, flags, mode);                            \
    note(fd, path);                                                                        \
    if (fd >= 0 && flags & O_CREAT && is_ours(path)) put('o', path, 0, NULL, 0);           \
    return fd

int open(const char *path, int flags, ...) { OPEN("open", path); }
int open64(const char *path, int flags, ...) { OPEN("open64", path); }
int openat(int dir, const char *path, int flags, ...) { OPEN("openat", dir, path); }
int openat64(int dir, const char *path, int flags, ...) { OPEN("openat64", dir, path); }

int close(int fd) {
    if (fd >= 0 && fd < MOST && ours[fd]) free(ours[fd]), ours[fd] = NULL;
    return ((int (*)(int))real("close"))(fd);
}

int unlink(const char *path) {
    if (is_ours(path)) put('u', path, 0, NULL, 0);
    return ((int (*)(const char *))real("unlink"))(path);
}

#define CALL(LETTER, AT, DATA, SIZE, TYPE, NAME, PARAMETERS, ...)                          \
    TYPE NAME PARAMETERS {                                                                 \
        if (known(fd) && fails(LETTER)) return -1;                                         \
        if (known(fd)) put(LETTER, ours[fd], AT, DATA, SIZE);                              \
        else if (LETTER == 's' && fd >= 0 && fd < MOST && ours[fd]) put('d', ours[fd], 0, NULL, 0); \
        return ((TYPE(*) PARAMETERS)real(#NAME))(__VA_ARGS__);                             \
    }

CALL('w', lseek(fd, 0, SEEK_CUR), data, size, ssize_t, write, (int fd, const void *data, size_t size), fd, data, size)
CALL('w', at, data, size, ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), fd, data, size, at)
CALL('w', at, data, size, ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), fd, data, size, at)
CALL('s', 0, NULL, 0, int, fsync, (int fd), fd)
CALL('s', 0, NULL, 0, int, fdatasync, (int fd), fd)
CALL('t', size, NULL, 0, int, ftruncate, (int fd, off_t size), fd, size)
CALL('t', size, NULL, 0, int, ftruncate64, (int fd, off64_t size), fd, size)
