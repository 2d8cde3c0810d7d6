"""A Kafka cluster for tests and benchmarks: librdkafka's mock, and, with TLS or a login, a gate before it.

    kafka_cluster.py [--tls CA CERTIFICATE KEY] [--login USER PASSWORD] [--mechanism NAME]

The gate ends TLS (which wants a certificate of the authority CA from its clients), asks for the login by SASL as the broker's
side of PLAIN (RFC 4616) and SCRAM (RFC 5802), or of the one mechanism alone, and hands on the rest. It prints the address that
clients use, then an answer in JSON for each line that it reads:

    stored TOPIC PARTITION          the ids of what has arrived, in order
    login MECHANISM USER PASSWORD   whether librdkafka's own client gets in with them (it has its certificates from the gate)
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import socket
import ssl
import struct
import sys
import threading

import confluent_kafka as kafka

HANDSHAKE, API_VERSIONS, AUTHENTICATE = 17, 18, 36
MECHANISMS = {"PLAIN": None, "SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
UNSUPPORTED, FAILED = 33, 58


def exactly(stream, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = stream.recv(count - len(data))
        if not piece:
            raise ConnectionError
        data += piece
    return data


def frame(stream) -> bytes:
    return exactly(stream, struct.unpack(">i", exactly(stream, 4))[0])


def send(stream, body: bytes) -> None:
    stream.sendall(struct.pack(">i", len(body)) + body)


class Login:
    """The broker's side of one login."""

    def __init__(self, user: str, password: str):
        self.user, self.password, self.mechanism, self.step, self.done = user, password, None, 0, False

    def answer(self, message: bytes) -> bytes | None:
        """What is said to the client; None where it is refused."""
        if self.mechanism == "PLAIN":
            _, user, password = message.decode().split("\0")
            self.done = (user, password) == (self.user, self.password)
            return b"" if self.done else None
        name = MECHANISMS[self.mechanism]
        if self.step == 0:
            self.step, self.first = 1, message.decode().split(",", 2)[2]
            fields = dict(part.split("=", 1) for part in self.first.split(","))
            if fields["n"] != self.user:
                return None
            self.salt, self.nonce = os.urandom(16), fields["r"] + base64.b64encode(os.urandom(12)).decode()
            self.challenge = f"r={self.nonce},s={base64.b64encode(self.salt).decode()},i=4096"
            return self.challenge.encode()
        final, proof = message.decode().rsplit(",p=", 1)
        salted = hashlib.pbkdf2_hmac(name, self.password.encode(), self.salt, 4096)
        key, server = (hmac.digest(salted, text, name) for text in (b"Client Key", b"Server Key"))
        said = ",".join((self.first, self.challenge, final)).encode()
        signature = hmac.digest(hashlib.new(name, key).digest(), said, name)
        wanted = bytes(a ^ b for a, b in zip(key, signature))
        self.done = hmac.compare_digest(base64.b64decode(proof), wanted) and f"r={self.nonce}" in final
        return b"v=" + base64.b64encode(hmac.digest(server, said, name)) if self.done else None


def more_versions(version: int, answer: bytes) -> bytes:
    """The versions of requests that the cluster knows, and those of a login."""
    own = (HANDSHAKE, AUTHENTICATE)
    if version < 3:
        count = struct.unpack_from(">i", answer, 6)[0]
        end = 10 + 6 * count
        kept = [answer[at : at + 6] for at in range(10, end, 6) if struct.unpack_from(">h", answer, at)[0] not in own]
        entries = kept + [struct.pack(">hhh", key, 0, 1) for key in own]
        return answer[:6] + struct.pack(">i", len(entries)) + b"".join(entries) + answer[end:]
    # A list of fewer than 127 entries has one byte for its length.
    count = answer[6] - 1
    end = 7 + 7 * count
    kept = [answer[at : at + 7] for at in range(7, end, 7) if struct.unpack_from(">h", answer, at)[0] not in own]
    entries = kept + [struct.pack(">hhhB", key, 0, 1, 0) for key in own]
    return answer[:6] + bytes([len(entries) + 1]) + b"".join(entries) + answer[end:]


class Gate:
    def __init__(self, broker: tuple[str, int], files: list[str], login: list[str], mechanisms: list[str]):
        self.broker, self.login, self.mechanisms, self.context = broker, login, mechanisms, None
        if files:
            ca, certificate, key = files
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(certificate, key)
            self.context.load_verify_locations(ca)
            self.context.verify_mode = ssl.CERT_REQUIRED
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        while True:
            threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        cluster = socket.create_connection(self.broker)
        # The cluster says where its broker is: here.
        host = self.broker[0].encode()
        real, own = (host + struct.pack(">i", port) for port in (self.broker[1], self.port))
        login = Login(*self.login) if self.login else None
        try:
            if self.context:
                client = self.context.wrap_socket(client, server_side=True)
            while True:
                request = frame(client)
                key, version, number = struct.unpack_from(">hhi", request)
                if login and key in (HANDSHAKE, AUTHENTICATE):
                    length = max(struct.unpack_from(">h", request, 8)[0], 0)
                    send(client, struct.pack(">i", number) + self.ask(login, key, version, request[10 + length :]))
                    continue
                if login and not login.done and key != API_VERSIONS:
                    return
                send(cluster, request)
                answer = frame(cluster)
                if key == API_VERSIONS and login:
                    answer = more_versions(version, answer)
                send(client, answer.replace(real, own))
        except (OSError, ValueError):
            return
        finally:
            client.close()
            cluster.close()

    def ask(self, login: Login, key: int, version: int, body: bytes) -> bytes:
        if key == HANDSHAKE:
            login.mechanism = body[2:].decode()
            known = login.mechanism in self.mechanisms
            names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in self.mechanisms)
            return struct.pack(">hi", 0 if known else UNSUPPORTED, len(self.mechanisms)) + names
        answer = login.answer(body[4:])
        error, text = (0, b"\xff\xff") if answer is not None else (FAILED, struct.pack(">h", 2) + b"no")
        said = answer or b""
        life = struct.pack(">q", 0) if version > 0 else b""
        return struct.pack(">h", error) + text + struct.pack(">i", len(said)) + said + life


def stored(address: str, topic: str, number: int) -> list[str]:
    consumer = kafka.Consumer({"bootstrap.servers": address, "group.id": "test"})
    partition = kafka.TopicPartition(topic, number, 0)
    _, end = consumer.get_watermark_offsets(partition, timeout=30)
    consumer.assign([partition])
    ids = []
    while len(ids) < end:
        message = consumer.poll(30)
        ids.append(dict(message.headers())["id"].decode())
        assert json.loads(message.value())["id"] == ids[-1]
    consumer.close()
    return ids


def gets_in(gate: Gate, files: list[str], mechanism: str, user: str, password: str) -> bool:
    refused = threading.Event()
    settings = {
        "bootstrap.servers": f"localhost:{gate.port}",
        "security.protocol": "sasl_ssl" if files else "sasl_plaintext",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
        "error_cb": lambda error: error.code() == kafka.KafkaError._AUTHENTICATION and refused.set(),
        "log_level": 0,
    }
    if files:
        ca, certificate, key = files
        settings |= {"ssl.ca.location": ca, "ssl.certificate.location": certificate, "ssl.key.location": key}
    client = kafka.Producer(settings)
    for _ in range(100):
        try:
            client.list_topics(timeout=0.3)
            return True
        except kafka.KafkaException:
            client.poll(0)
            if refused.is_set():
                return False
    raise TimeoutError("neither let in nor refused")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tls", nargs=3, default=[])
    parser.add_argument("--login", nargs=2, default=[])
    parser.add_argument("--mechanism", action="append")
    given = parser.parse_args()
    files, login = given.tls, given.login
    producer = kafka.Producer({"test.mock.num.brokers": 1, "log_level": 0})
    broker = next(iter(producer.list_topics(timeout=30).brokers.values()))
    address, gate = f"{broker.host}:{broker.port}", None
    if files or login:
        gate = Gate((broker.host, broker.port), files, login, given.mechanism or list(MECHANISMS))
    print(f"localhost:{gate.port}" if gate else address, flush=True)
    for line in sys.stdin:
        match line.split():
            case ["stored", topic, number]:
                answer = stored(address, topic, int(number))
            case ["login", mechanism, user, password]:
                answer = gets_in(gate, files, mechanism, user, password)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
