/* User-mode kernels up to 6.12 hand the host an XSAVE image of the size that processors without AMX
 * have; a host with AMX refuses it, and the guest dies as its first process starts. Preloaded, this
 * passes images of the host's own size on, and the part that the guest knows back. */
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NT_X86_XSTATE 0x202

static unsigned char image[1 << 16];

static long state(long request, long pid, struct iovec *guest)
{
    struct iovec host = { image, sizeof image };
    long done = syscall(SYS_ptrace, PTRACE_GETREGSET, pid, NT_X86_XSTATE, &host);
    if (done < 0)
        return done;
    size_t known = guest->iov_len < host.iov_len ? guest->iov_len : host.iov_len;
    if (request == PTRACE_GETREGSET) {
        memcpy(guest->iov_base, image, known);
        guest->iov_len = known;
        return 0;
    }
    memcpy(image, guest->iov_base, known);
    /* What the guest does not know is left in its first state: the bits of XSTATE_BV say so. */
    unsigned long long *components = (unsigned long long *)(image + 512);
    if (known < host.iov_len)
        *components &= 0x2ff;
    return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, NT_X86_XSTATE, &host);
}

long ptrace(enum __ptrace_request request, ...)
{
    va_list rest;
    va_start(rest, request);
    long pid = va_arg(rest, int);
    void *address = va_arg(rest, void *);
    void *data = va_arg(rest, void *);
    va_end(rest);
    if ((request == PTRACE_GETREGSET || request == PTRACE_SETREGSET) && (long)address == NT_X86_XSTATE)
        return state(request, pid, data);
    if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
        long value;
        long done = syscall(SYS_ptrace, request, pid, address, &value);
        return done < 0 ? done : value;
    }
    return syscall(SYS_ptrace, request, pid, address, data);
}
