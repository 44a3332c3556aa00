#!/usr/bin/python3
"""One TCP stream between two hosts of the testbed, with plain sockets.

  bandwidth.py receive PORT             waits for one sender, prints bytes and seconds as JSON
  bandwidth.py send HOST PORT BYTES     sends that many bytes

The receiver measures the time from the first byte to the last, which excludes start-up.
"""

import json
import socket
import sys
import time

PIECE = 1 << 18


def receive(port):
    with socket.create_server(("", port)) as server:
        print("listening", flush=True)
        connection, _ = server.accept()
    piece = bytearray(PIECE)
    total = connection.recv_into(piece)
    begin = time.monotonic()
    while count := connection.recv_into(piece):
        total += count
    print(json.dumps({"bytes": total, "seconds": time.monotonic() - begin}))


def send(host, port, count):
    with socket.create_connection((host, port)) as connection:
        piece = bytes(PIECE)
        while count > 0:
            count -= connection.send(piece[:count])


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(int(sys.argv[2]))
    else:
        send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
