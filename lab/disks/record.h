// The records that both layers write, and the faults that they make.
//
// LAB_DISK_RECORD: the file of the records. LAB_DISK_CONTROL: a file that has a `struct control`, by which the process counts its steps and
// arms a fault.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { other, sync_call, needs_room };

struct control {
  int64_t step;    // the number of recorded calls
  int64_t fail_at; // the step that fails, or 0
  int64_t error;   // its errno
  int64_t lasts;   // whether every later call fails, too
  int64_t only;    // the kind of the calls that fail, or 0 for all
};

static int record_fd = -1;
static struct control *control;

/** Returns whether this process has a record. */
static int begin_record(void) {
  const char *control_file = getenv("LAB_DISK_CONTROL"), *record = getenv("LAB_DISK_RECORD");
  if (control_file == NULL || record == NULL) return 0;
  int fd = syscall(SYS_openat, AT_FDCWD, control_file, O_RDWR | O_CLOEXEC, 0);
  control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  record_fd = syscall(SYS_openat, AT_FDCWD, record, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
  if (control == MAP_FAILED || record_fd == -1) abort();
  syscall(SYS_close, fd);
  return 1;
}

/** Counts a step. Returns its fault, or 0. */
static int fault(enum kind kind) {
  int64_t step = ++control->step, at = control->fail_at;
  if (at == 0 || step < at || (control->only != 0 && control->only != kind)) return 0;
  if (!control->lasts) control->fail_at = 0;
  return (int)control->error;
}

/** Counts a write. Returns how many of its bytes are written: the last one before a disk is full may be a short one. */
static size_t room_for(size_t length, int *error) {
  *error = fault(needs_room);
  return *error == 0 ? length : *error == ENOSPC && control->step == control->fail_at ? length / 2 : 0;
}

/** Writes one record: a line of the call, inode, offset or size, errno, and length of the payload, and then the payload. */
static void record(const char *call, uint64_t inode, int64_t at, int error, const void *payload, size_t length) {
  char line[120];
  int size = snprintf(line, sizeof line, "%s %llu %lld %d %zu\n", call, (unsigned long long)inode, (long long)at, error, length);
  struct iovec parts[] = {{line, size}, {(void *)payload, length}};
  if (syscall(SYS_writev, record_fd, parts, 2) != (long)(size + length)) abort();
}
