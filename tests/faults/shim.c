/* LD_PRELOAD: lets calls on the files of one database fail, so that tests see what their callers do.
 *
 * TAILCUT_FAULTS names the database; its log and its shared memory have the same beginning.
 * TAILCUT_FAULT_AT is a file with "N KIND CALLS": the N-th of the calls fails, N from 1 on; KIND is "once" or
 * "forever"; CALLS has a letter for each kind that counts: w(rite), s(ync), t(runcate), o(pen). It is read when
 * the process starts and whenever it has changed. The number of calls so far is written into FILE.count.
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
#include <sys/uio.h>
#include <unistd.h>

#define MOST 4096
static char ours[MOST];
static long calls, wanted, until;
static char letters[16];
static struct timespec seen;

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

static int is_ours(const char *path) {
    const char *name = getenv("TAILCUT_FAULTS");
    return name && path && strncmp(path, name, strlen(name)) == 0 && !strstr(path, "-lock");
}

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

static int fails(char letter) {
    read_plan();
    if (!wanted || !strchr(letters, letter)) return 0;
    calls++;
    if (calls < wanted || calls > until) return 0;
    errno = EIO;
    return 1;
}

static int known(int fd) {
    return fd >= 0 && fd < MOST && ours[fd];
}

static void note(int fd, const char *path) {
    if (fd >= 0 && fd < MOST) ours[fd] = is_ours(path);
}

#define OPEN(NAME, ...)                                                                    \
    va_list more;                                                                          \
    va_start(more, flags);                                                                 \
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;                      \
    va_end(more);                                                                          \
    if (is_ours(path) && fails('o')) return -1;                                            \
    int fd = ((int (*)())real(NAME))(__VA_ARGS__, flags, mode);                            \
    note(fd, path);                                                                        \
    return fd

int open(const char *path, int flags, ...) { OPEN("open", path); }
int open64(const char *path, int flags, ...) { OPEN("open64", path); }
int openat(int dir, const char *path, int flags, ...) { OPEN("openat", dir, path); }
int openat64(int dir, const char *path, int flags, ...) { OPEN("openat64", dir, path); }

int close(int fd) {
    if (fd >= 0 && fd < MOST) ours[fd] = 0;
    return ((int (*)(int))real("close"))(fd);
}

#define CALL(LETTER, TYPE, NAME, PARAMETERS, ...)                                          \
    TYPE NAME PARAMETERS {                                                                 \
        if (known(fd) && fails(LETTER)) return -1;                                         \
        return ((TYPE(*) PARAMETERS)real(#NAME))(__VA_ARGS__);                             \
    }

CALL('w', ssize_t, write, (int fd, const void *data, size_t size), fd, data, size)
CALL('w', ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), fd, data, size, at)
CALL('w', ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), fd, data, size, at)
CALL('w', ssize_t, writev, (int fd, const struct iovec *parts, int count), fd, parts, count)
CALL('s', int, fsync, (int fd), fd)
CALL('s', int, fdatasync, (int fd), fd)
CALL('t', int, ftruncate, (int fd, off_t size), fd, size)
CALL('t', int, ftruncate64, (int fd, off64_t size), fd, size)
