/* Makes one system call on the files of a store fail, for the tests in main.rs.
 *
 * Loaded by LD_PRELOAD. Counts the calls below on paths under HAFT_FAULT_FOLDER, and on descriptors
 * that were opened there, and fails the one numbered HAFT_FAULT_AT in the way of HAFT_FAULT_KIND:
 * "eio", "enospc", "short" (half of the bytes, then an error) or "sync" (only fsync and fdatasync are
 * counted, and fail). HAFT_FAULT_LASTS=1 fails all calls from that one on, until the program asks for
 * the file HAFT_FAULT_OFF to exist. At the end the count is written to HAFT_FAULT_COUNT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define MOST 4096

static const char *folder, *kind, *off;
static long at;
static int lasts;
static atomic_long count;
static atomic_uchar watched[MOST];

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
  folder = getenv("HAFT_FAULT_FOLDER");
  kind = getenv("HAFT_FAULT_KIND");
  off = getenv("HAFT_FAULT_OFF");
  at = getenv("HAFT_FAULT_AT") ? atol(getenv("HAFT_FAULT_AT")) : 0;
  lasts = getenv("HAFT_FAULT_LASTS") != NULL;
}

__attribute__((destructor)) static void end(void) {
  const char *place = getenv("HAFT_FAULT_COUNT");
  if (!place) return;
  FILE *out = fopen(place, "w");
  if (!out) return;
  fprintf(out, "%ld\n", (long)count);
  fclose(out);
}

static int is_ours(const char *path) {
  return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_watched(int fd) { return fd >= 0 && fd < MOST && watched[fd]; }

/* Whether this call is to fail; sets errno. */
static int fails(int is_sync) {
  if (!kind) return 0;
  if (strcmp(kind, "sync") == 0 && !is_sync) return 0;
  long number = atomic_fetch_add(&count, 1) + 1;
  if (at == 0 || (lasts ? number < at : number != at)) return 0;
  if (lasts && off && access(off, F_OK) == 0) return 0;
  errno = strcmp(kind, "enospc") == 0 ? ENOSPC : EIO;
  return 1;
}

static int opened(int fd, const char *path) {
  if (fd >= 0 && fd < MOST) watched[fd] = is_ours(path);
  return fd;
}

#define OPENS(name)                                                       \
  int name(const char *path, int flags, ...) {                            \
    va_list rest;                                                         \
    va_start(rest, flags);                                                \
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                         \
    int (*real)(const char *, int, ...) = next(#name);                    \
    if (is_ours(path) && fails(0)) return -1;                             \
    return opened(real(path, flags, mode), path);                         \
  }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                    \
  int name(int base, const char *path, int flags, ...) {                  \
    va_list rest;                                                         \
    va_start(rest, flags);                                                \
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                         \
    int (*real)(int, const char *, int, ...) = next(#name);               \
    if (is_ours(path) && fails(0)) return -1;                             \
    return opened(real(base, path, flags, mode), path);                   \
  }
OPENS_AT(openat)
OPENS_AT(openat64)

int close(int fd) {
  int (*real)(int) = next("close");
  if (fd >= 0 && fd < MOST) watched[fd] = 0;
  return real(fd);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  ssize_t (*real)(int, const void *, size_t) = next("write");
  if (is_watched(fd) && fails(0)) {
    if (strcmp(kind, "short") == 0 && length > 1) return real(fd, bytes, length / 2);
    return -1;
  }
  return real(fd, bytes, length);
}

ssize_t read(int fd, void *bytes, size_t length) {
  ssize_t (*real)(int, void *, size_t) = next("read");
  if (is_watched(fd) && fails(0)) return -1;
  return real(fd, bytes, length);
}

#define MAPS(name, offset)                                                \
  void *name(void *at, size_t length, int may, int flags, int fd, offset place) { \
    void *(*real)(void *, size_t, int, int, int, offset) = next(#name);   \
    if (is_watched(fd) && fails(0)) return MAP_FAILED;                    \
    return real(at, length, may, flags, fd, place);                       \
  }
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)

#define WRITES(name, offset)                                              \
  ssize_t name(int fd, const void *bytes, size_t length, offset place) {  \
    ssize_t (*real)(int, const void *, size_t, offset) = next(#name);     \
    if (is_watched(fd) && fails(0)) {                                     \
      int fault = errno;                                                  \
      if (strcmp(kind, "short") == 0 && length > 1)                       \
        (void)!real(fd, bytes, length / 2, place);                        \
      errno = fault;                                                      \
      return -1;                                                          \
    }                                                                     \
    return real(fd, bytes, length, place);                                \
  }
WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)

#define READS(name, offset)                                               \
  ssize_t name(int fd, void *bytes, size_t length, offset place) {        \
    ssize_t (*real)(int, void *, size_t, offset) = next(#name);           \
    if (is_watched(fd) && fails(0)) return -1;                            \
    return real(fd, bytes, length, place);                                \
  }
READS(pread, off_t)
READS(pread64, off64_t)

#define SYNCS(name)                                                       \
  int name(int fd) {                                                      \
    int (*real)(int) = next(#name);                                       \
    if (is_watched(fd) && fails(1)) return -1;                            \
    return real(fd);                                                      \
  }
SYNCS(fsync)
SYNCS(fdatasync)

int ftruncate(int fd, off_t length) {
  int (*real)(int, off_t) = next("ftruncate");
  if (is_watched(fd) && fails(0)) return -1;
  return real(fd, length);
}

int ftruncate64(int fd, off64_t length) {
  int (*real)(int, off64_t) = next("ftruncate64");
  if (is_watched(fd) && fails(0)) return -1;
  return real(fd, length);
}

int unlink(const char *path) {
  int (*real)(const char *) = next("unlink");
  if (is_ours(path) && fails(0)) return -1;
  return real(path);
}

int rename(const char *from, const char *to) {
  int (*real)(const char *, const char *) = next("rename");
  if (is_ours(to) && fails(0)) return -1;
  return real(from, to);
}

int mkdir(const char *path, mode_t mode) {
  int (*real)(const char *, mode_t) = next("mkdir");
  if (is_ours(path) && fails(0)) return -1;
  return real(path, mode);
}
