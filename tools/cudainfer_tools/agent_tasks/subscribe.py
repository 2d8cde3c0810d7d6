"""Waits for publications of a topic: subscribe.py PORT TOPIC COUNT. Prints a line when it has subscribed, by MQTT 3.1.1."""

import socket
import sys


def packet(kind: int, body: bytes) -> bytes:
    return bytes([kind, len(body)]) + body


def text(value: str) -> bytes:
    return len(value.encode()).to_bytes(2, "big") + value.encode()


def exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            sys.exit("the broker has closed the connection")
        data += part
    return data


def read(connection: socket.socket) -> int:
    """Reads a packet; its kind."""
    kind, size, shift = exactly(connection, 1)[0], 0, 0
    while True:
        byte = exactly(connection, 1)[0]
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    exactly(connection, size)
    return kind >> 4


def main(port: int, topic: str, count: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(packet(0x10, text("MQTT") + b"\x04\x02\x00\x00" + text("tasks")))
        read(connection)
        connection.sendall(packet(0x82, b"\x00\x01" + text(topic) + b"\x00"))
        read(connection)
        print("ready", flush=True)
        while count:
            count -= read(connection) == 3


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
