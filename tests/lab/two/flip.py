"""Stands before a listener in a network namespace and flips one bit of what passes.

flip.py NAMESPACE HOST PORT TO WHAT STREAM PLACE BIT: listens on PORT of HOST, TCP and UDP, passes
everything on to port TO there and back, says `ready`, and goes on until it is ended.

WHAT is `none`, `bytes` (of the stream STREAM, bit BIT of the byte PLACE, on its way there) or
`datagram` (of the stream STREAM, bit BIT of the datagram that has the number PLACE, either way).
With `mess`, which flips nothing, one datagram of each seven is dropped, one doubled, one sent late.
Says `flipped` when it has flipped it.
"""

import ctypes
import json
import os
import selectors
import socket
import sys
import threading

NAMESPACE, HOST, PORT, TO, WHAT, STREAM, PLACE, BIT = sys.argv[1:9]
HERE, THERE = (HOST, int(PORT)), (HOST, int(TO))
STREAM, PLACE, BIT = int(STREAM), int(PLACE), int(BIT)
GREETING = b"brkyard?"


def enter():
    libc = ctypes.CDLL(None, use_errno=True)
    there = os.open("/var/run/netns/" + NAMESPACE, os.O_RDONLY)
    if libc.setns(there, 0x40000000) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def copy(source, sink, flips):
    passed = 0
    while True:
        try:
            data = source.recv(1 << 18)
            if flips and data and passed <= PLACE < passed + len(data):
                data = bytearray(data)
                data[PLACE - passed] ^= 1 << BIT
                print("flipped", flush=True)
            passed += len(data)
            if data:
                sink.sendall(data)
        except OSError:
            data = b""
        if not data:
            try:
                sink.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            return


def connection(near):
    line = b""
    while not line.endswith(b"\n"):
        byte = near.recv(1)
        if not byte:
            return
        line += byte
    first = json.loads(line)
    flips = WHAT == "bytes" and first.get("bytes", {}).get("stream") == STREAM
    far = socket.create_connection(THERE)
    far.sendall(line)
    threading.Thread(target=copy, args=(far, near, False), daemon=True).start()
    copy(near, far, flips)


def connections(listener):
    while True:
        near, _ = listener.accept()
        threading.Thread(target=connection, args=(near,), daemon=True).start()


class Flow:
    """One stream of datagrams, and the socket on which the other end knows it."""

    def __init__(self, client, stream):
        self.client, self.stream = client, stream
        self.far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.far.connect(THERE)
        self.first, self.late = None, None

    def changed(self, datagram):
        """What is passed on in place of it."""
        if datagram.startswith(GREETING):
            return [datagram]
        number = int.from_bytes(datagram[:8], "little")
        if self.first is None:
            self.first = number
        number -= self.first
        if WHAT == "datagram" and (self.stream, number) == (STREAM, PLACE):
            datagram = bytearray(datagram)
            datagram[BIT // 8] ^= 1 << (BIT % 8)
            print("flipped", flush=True)
        if WHAT != "mess":
            return [datagram]
        before, self.late = self.late, None
        turn = number % 7
        if turn == 4:
            self.late = datagram
            return []
        passed = {2: [], 6: [datagram, datagram]}.get(turn, [datagram])
        return passed + ([before] if before else [])


def datagrams(door):
    flows, watch = {}, selectors.DefaultSelector()
    watch.register(door, selectors.EVENT_READ, None)
    while True:
        for key, _ in watch.select():
            try:
                if key.data is None:
                    data, client = door.recvfrom(1 << 16)
                    if client not in flows:
                        stream = int.from_bytes(data[8:12], "little")
                        flows[client] = Flow(client, stream)
                        watch.register(flows[client].far, selectors.EVENT_READ, flows[client])
                    flow = flows[client]
                    for one in flow.changed(data):
                        flow.far.send(one)
                else:
                    flow = key.data
                    for one in flow.changed(flow.far.recv(1 << 16)):
                        door.sendto(one, flow.client)
            except OSError:
                pass  # an end is gone, or was not there yet


def main():
    enter()
    listener = socket.create_server(HERE, backlog=128)
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    door.bind(HERE)
    threading.Thread(target=connections, args=(listener,), daemon=True).start()
    print("ready", flush=True)
    datagrams(door)


main()
