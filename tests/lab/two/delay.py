"""Passes packets between two network namespaces, each so many ms after it came.

delay.py MS NAMESPACE NAMESPACE: makes `delay0` in both, says `ready`, and goes on until it is
ended. What it delays it delays by that much at least; a machine that is busy adds to it.
"""

import collections
import ctypes
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x0001, 0x1000, 0x40000000


def opened(namespace):
    libc = ctypes.CDLL(None, use_errno=True)
    there = os.open("/var/run/netns/" + namespace, os.O_RDONLY)
    if libc.setns(there, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"delay0", IFF_TUN | IFF_NO_PI))
    return tun


def main():
    delay_s = int(sys.argv[1]) / 1000
    ends = [opened(name) for name in sys.argv[2:4]]
    os.nice(-15)  # what waits for a processor is delayed by more than was asked
    print("ready", flush=True)
    waiting = {ends[0]: collections.deque(), ends[1]: collections.deque()}
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    while True:
        now = time.monotonic()
        for end, packets in waiting.items():
            while packets and packets[0][0] <= now:
                try:
                    os.write(end, packets.popleft()[1])
                except OSError:
                    pass  # the interface is not up yet, or no longer
        first = min((packets[0][0] for packets in waiting.values() if packets), default=now + 1)
        for end in select.select(ends, [], [], max(0, first - time.monotonic()))[0]:
            for _ in range(64):
                try:
                    packet = os.read(end, 65536)
                except OSError:
                    break
                waiting[other[end]].append((time.monotonic() + delay_s, packet))


main()
