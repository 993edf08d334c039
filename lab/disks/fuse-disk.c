// A disk of FUSE: passes each call through to a backing folder, and records and fails calls as `layer.c` does. It serves programs that
// `layer.c` cannot, such as a server with many processes. The kernel sends it each write immediately, since it has no writeback cache.
//
// fuse-disk <backing folder> <mount point>. Runs in the foreground with one thread, so the order of the records is the order of the calls.
// Prints a line once it is mounted, and unmounts when its parent ends. What it does not have, such as fallocate, the kernel refuses.
#define _GNU_SOURCE
#define FUSE_USE_VERSION 31
#include "record.h"
#include <dirent.h>
#include <fuse.h>
#include <signal.h>
#include <sys/prctl.h>

static int backing;
static size_t backing_length;
static const char *mount_point;

static const char *below(const char *path) { return path[1] == '\0' ? "." : path + 1; }
static int result_of(int result) { return result == -1 ? -errno : 0; }

/** Records a call of one or two paths, `to` of which may be NULL, with the inode of the last one. */
static void record_names(const char *call, const char *from, const char *to) {
  char names[2 * 4096];
  struct stat made = {0};
  int length = snprintf(names, sizeof names, "%s%s", mount_point, from);
  if (to != NULL) length += 1 + snprintf(names + length + 1, sizeof names - length - 1, "%s%s", mount_point, to);
  fstatat(backing, below(to != NULL ? to : from), &made, AT_SYMLINK_NOFOLLOW); // removed: inode 0
  record(call, made.st_ino, 0, 0, names, length);
}

static uint64_t inode_of(int fd) {
  struct stat file;
  if (fstat(fd, &file) != 0) abort();
  return file.st_ino;
}

static int disk_getattr(const char *path, struct stat *file, struct fuse_file_info *open) {
  return result_of(open != NULL ? fstat(open->fh, file) : fstatat(backing, below(path), file, AT_SYMLINK_NOFOLLOW));
}

static int disk_opendir(const char *path, struct fuse_file_info *open) {
  int fd = openat(backing, below(path), O_RDONLY | O_DIRECTORY);
  open->fh = fd;
  return result_of(fd);
}

static int disk_readdir(const char *path, void *entries, fuse_fill_dir_t fill, off_t at, struct fuse_file_info *open, enum fuse_readdir_flags flags) {
  (void)path, (void)at, (void)flags;
  DIR *folder = fdopendir(dup(open->fh));
  if (folder == NULL) return -errno;
  rewinddir(folder);
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) fill(entries, entry->d_name, NULL, 0, 0);
  return result_of(closedir(folder));
}

static int open_file(const char *path, mode_t mode, struct fuse_file_info *open) {
  struct stat file;
  int is_new = (open->flags & O_CREAT) && fstatat(backing, below(path), &file, AT_SYMLINK_NOFOLLOW) != 0;
  int error = is_new || (open->flags & O_TRUNC) ? fault(is_new ? needs_room : other) : 0;
  if (error != 0) return -error;
  int fd = openat(backing, below(path), open->flags & ~O_APPEND, mode); // the kernel says where it appends
  if (fd == -1) return -errno;
  open->fh = fd;
  if (is_new) record_names("file", path, NULL);
  else if (open->flags & O_TRUNC) record("truncate", inode_of(fd), 0, 0, "", 0);
  return 0;
}

static int disk_create(const char *path, mode_t mode, struct fuse_file_info *open) { return open_file(path, mode, open); }
static int disk_open(const char *path, struct fuse_file_info *open) { return open_file(path, 0, open); }

static int disk_release(const char *path, struct fuse_file_info *open) {
  (void)path;
  return result_of(close(open->fh));
}

static int disk_read(const char *path, char *data, size_t length, off_t at, struct fuse_file_info *open) {
  (void)path;
  ssize_t size = pread(open->fh, data, length, at);
  return size == -1 ? -errno : (int)size;
}

static int disk_write(const char *path, const char *data, size_t length, off_t at, struct fuse_file_info *open) {
  (void)path;
  int error;
  size_t room = room_for(length, &error);
  if (error != 0 && room == 0) return -error;
  ssize_t written = pwrite(open->fh, data, room, at);
  if (written == -1) return -errno;
  record("write", inode_of(open->fh), at, 0, data, written);
  return written;
}

static int disk_truncate(const char *path, off_t size, struct fuse_file_info *open) {
  int error = fault(other);
  if (error != 0) return -error;
  int fd = open != NULL ? (int)open->fh : openat(backing, below(path), O_WRONLY);
  int result = result_of(fd == -1 ? -1 : ftruncate(fd, size));
  if (result == 0) record("truncate", inode_of(fd), size, 0, "", 0);
  if (open == NULL && fd != -1) close(fd);
  return result;
}

/** Also of a folder. The name in the record is as in `layer.c`: also that of a file that was removed. */
static int disk_fsync(const char *path, int is_data_only, struct fuse_file_info *open) {
  (void)path, (void)is_data_only;
  char link[40], place[4096], name[8192];
  snprintf(link, sizeof link, "/proc/self/fd/%d", (int)open->fh);
  ssize_t length = readlink(link, place, sizeof place - 1);
  if (length < (ssize_t)backing_length) abort();
  place[length] = '\0';
  length = snprintf(name, sizeof name, "%s%s", mount_point, place + backing_length);
  int error = fault(sync_call);
  record("sync", inode_of(open->fh), 0, error, name, length);
  return -error;
}

/** Does a call that changes names, and records it. */
#define CHANGE_NAMES(kind, call, from, to, change)    \
  {                                                   \
    int error = fault(kind);                          \
    if (error != 0) return -error;                    \
    int result = result_of(change);                   \
    if (result == 0) record_names(call, from, to);    \
    return result;                                    \
  }

static int disk_mkdir(const char *path, mode_t mode) CHANGE_NAMES(needs_room, "folder", path, NULL, mkdirat(backing, below(path), mode))
static int disk_unlink(const char *path) CHANGE_NAMES(other, "remove", path, NULL, unlinkat(backing, below(path), 0))
static int disk_rmdir(const char *path) CHANGE_NAMES(other, "remove", path, NULL, unlinkat(backing, below(path), AT_REMOVEDIR))
static int disk_link(const char *from, const char *to)
  CHANGE_NAMES(needs_room, "link", from, to, linkat(backing, below(from), backing, below(to), 0))
static int disk_rename(const char *from, const char *to, unsigned int flags)
  CHANGE_NAMES(other, "rename", from, to, renameat2(backing, below(from), backing, below(to), flags))

// What is not recorded: a power cut loses none of it.
static int disk_chmod(const char *path, mode_t mode, struct fuse_file_info *open) {
  (void)open;
  return result_of(fchmodat(backing, below(path), mode, 0));
}
static int disk_chown(const char *path, uid_t user, gid_t group, struct fuse_file_info *open) {
  (void)open;
  return result_of(fchownat(backing, below(path), user, group, AT_SYMLINK_NOFOLLOW));
}
static int disk_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *open) {
  (void)open;
  return result_of(utimensat(backing, below(path), times, AT_SYMLINK_NOFOLLOW));
}

static void *disk_init(struct fuse_conn_info *connection, struct fuse_config *settings) {
  (void)connection;
  settings->use_ino = 1;      // the inodes of the backing folder, as in the records
  settings->hard_remove = 1;  // an open file that is removed gets no other name
  settings->nullpath_ok = 1;  // calls of an open file have only its descriptor
  settings->kernel_cache = 1; // once a writer has begun, only the mount point changes the files
  puts("mounted");
  fflush(stdout);
  return NULL;
}

int main(int count, char **arguments) {
  if (count != 3 || !begin_record()) return 2;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  umask(0);
  backing = open(arguments[1], O_RDONLY | O_DIRECTORY);
  backing_length = strlen(arguments[1]);
  mount_point = arguments[2];
  if (backing == -1) return 2;
  static const struct fuse_operations operations = {
    .init = disk_init, .getattr = disk_getattr, .opendir = disk_opendir, .readdir = disk_readdir, .releasedir = disk_release, .open = disk_open, .create = disk_create, .release = disk_release,
    .read = disk_read, .write = disk_write, .truncate = disk_truncate, .fsync = disk_fsync, .fsyncdir = disk_fsync, .mkdir = disk_mkdir,
    .unlink = disk_unlink, .rmdir = disk_rmdir, .link = disk_link, .rename = disk_rename, .chmod = disk_chmod, .chown = disk_chown,
    .utimens = disk_utimens,
  };
  char *fuse[] = {arguments[0], "-f", "-s", "-o", "allow_other,auto_unmount", arguments[2]};
  return fuse_main(6, fuse, &operations, NULL);
}
