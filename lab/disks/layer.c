// A layer between a process and the files below one folder, loaded by LD_PRELOAD. It records each call that changes a file or a name, or
// syncs one, and can let such a call fail. Nothing is really synced, in no folder: `disk.ts` works out which changes a power cut may lose.
//
// LAB_DISK_FOLDER: the folder, as an absolute path. `record.h` has the other variables.
#define _GNU_SOURCE
#include "record.h"
#include <pthread.h>
#include <stdarg.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // the order of the records is the order of the calls
static const char *folder;
static size_t folder_length;

__attribute__((constructor)) static void begin(void) {
  if (!begin_record()) return;
  const char *given = getenv("LAB_DISK_FOLDER");
  folder_length = strlen(given);
  folder = given;
}

static int is_below(const char *path) {
  return folder != NULL && strncmp(path, folder, folder_length) == 0 &&
         (path[folder_length] == '/' || path[folder_length] == '\0');
}

struct file {
  struct stat stat;
  char path[4096]; // as it was opened or renamed; also of a file that was removed
};

/** Whether the file is below the folder. */
static int is_ours(int fd, struct file *file) {
  char link[40];
  if (folder == NULL) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, file->path, sizeof file->path - 1);
  if (length <= 0) return 0;
  file->path[length] = '\0';
  return is_below(file->path) && fstat(fd, &file->stat) == 0;
}

static int failed(int error) {
  errno = error;
  return -1;
}

/** `offset`: -1 for the position of the descriptor. */
static ssize_t write_bytes(int fd, const void *data, size_t length, off64_t offset) {
  return offset < 0 ? syscall(SYS_write, fd, data, length) : syscall(SYS_pwrite64, fd, data, length, offset);
}

static ssize_t change(int fd, const void *data, size_t length, off64_t offset) {
  struct file file;
  if (!is_ours(fd, &file) || !S_ISREG(file.stat.st_mode)) return write_bytes(fd, data, length, offset);
  pthread_mutex_lock(&lock);
  int error;
  size_t room = room_for(length, &error);
  ssize_t written = error != 0 && room == 0 ? failed(error) : write_bytes(fd, data, room, offset);
  if (written >= 0) {
    off64_t at = offset < 0 ? lseek64(fd, 0, SEEK_CUR) - written : offset;
    record("write", file.stat.st_ino, at, 0, data, written);
  }
  pthread_mutex_unlock(&lock);
  return written;
}

ssize_t write(int fd, const void *data, size_t length) { return change(fd, data, length, -1); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return change(fd, data, length, offset); }
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) { return change(fd, data, length, offset); }

static ssize_t change_parts(int fd, const struct iovec *parts, int count, off64_t offset) {
  size_t length = 0;
  for (int n = 0; n < count; n++) length += parts[n].iov_len;
  char *whole = malloc(length + 1), *end = whole;
  for (int n = 0; n < count; n++) end = mempcpy(end, parts[n].iov_base, parts[n].iov_len);
  ssize_t written = change(fd, whole, length, offset);
  int error = errno;
  free(whole);
  errno = error;
  return written;
}

ssize_t writev(int fd, const struct iovec *parts, int count) { return change_parts(fd, parts, count, -1); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) { return change_parts(fd, parts, count, offset); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) { return change_parts(fd, parts, count, offset); }

int fsync(int fd) {
  struct file file;
  if (!is_ours(fd, &file)) return 0;
  pthread_mutex_lock(&lock);
  int error = fault(sync_call);
  record("sync", file.stat.st_ino, 0, error, file.path, strlen(file.path));
  pthread_mutex_unlock(&lock);
  return error == 0 ? 0 : failed(error);
}

int fdatasync(int fd) { return fsync(fd); }

int ftruncate64(int fd, off64_t size) {
  struct file file;
  if (!is_ours(fd, &file)) return syscall(SYS_ftruncate, fd, size);
  pthread_mutex_lock(&lock);
  int error = fault(other);
  int result = error != 0 ? failed(error) : syscall(SYS_ftruncate, fd, size);
  if (result == 0) record("truncate", file.stat.st_ino, size, 0, "", 0);
  pthread_mutex_unlock(&lock);
  return result;
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

/** Does a call that changes names, and records it with the inode of the second name, and both names. */
static int change_names(const char *call, const char *from, const char *to, enum kind kind, long number, int flags) {
  char names[8200];
  struct stat made = {0};
  pthread_mutex_lock(&lock);
  int error = fault(kind);
  int result = error != 0 ? failed(error) : syscall(number, AT_FDCWD, from, AT_FDCWD, to, flags);
  if (result == 0) {
    int length = snprintf(names, sizeof names, "%s%c%s", from, '\0', to);
    if (lstat(to, &made) != 0) abort();
    record(call, made.st_ino, 0, 0, names, length);
  }
  pthread_mutex_unlock(&lock);
  return result;
}

int rename(const char *from, const char *to) {
  if (!is_below(from)) return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  return change_names("rename", from, to, other, SYS_renameat2, 0);
}

int link(const char *from, const char *to) {
  if (!is_below(from)) return syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
  return change_names("link", from, to, needs_room, SYS_linkat, 0);
}

static int remove_name(const char *path, int flags) {
  if (!is_below(path)) return syscall(SYS_unlinkat, AT_FDCWD, path, flags);
  pthread_mutex_lock(&lock);
  int error = fault(other);
  int result = error != 0 ? failed(error) : syscall(SYS_unlinkat, AT_FDCWD, path, flags);
  if (result == 0) record("remove", 0, 0, 0, path, strlen(path));
  pthread_mutex_unlock(&lock);
  return result;
}

int unlink(const char *path) { return remove_name(path, 0); }
int rmdir(const char *path) { return remove_name(path, AT_REMOVEDIR); }

int mkdir(const char *path, mode_t mode) {
  struct stat made;
  if (!is_below(path)) return syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  pthread_mutex_lock(&lock);
  int error = fault(needs_room);
  int result = error != 0 ? failed(error) : syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  if (result == 0) {
    if (lstat(path, &made) != 0) abort();
    record("folder", made.st_ino, 0, 0, path, strlen(path));
  }
  pthread_mutex_unlock(&lock);
  return result;
}

static int open_file(const char *path, int flags, mode_t mode) {
  struct stat file;
  if (!is_below(path) || (flags & (O_CREAT | O_TRUNC)) == 0) return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  pthread_mutex_lock(&lock);
  int is_new = lstat(path, &file) != 0;
  int error = is_new || (flags & O_TRUNC) ? fault(is_new ? needs_room : other) : 0;
  int fd = error != 0 ? failed(error) : syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (fd >= 0 && fstat(fd, &file) == 0) {
    if (is_new) record("file", file.st_ino, 0, 0, path, strlen(path));
    else if (flags & O_TRUNC) record("truncate", file.st_ino, 0, 0, "", 0);
  }
  pthread_mutex_unlock(&lock);
  return fd;
}

static mode_t mode_of(int flags, va_list rest) { return flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0; }

#define OPEN(name)                              \
  int name(const char *path, int flags, ...) {  \
    va_list rest;                               \
    va_start(rest, flags);                      \
    mode_t mode = mode_of(flags, rest);         \
    va_end(rest);                               \
    return open_file(path, flags, mode);        \
  }
OPEN(open)
OPEN(open64)
