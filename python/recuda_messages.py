"""Messages between cuda-rlm and its Python processes: four bytes of length, little-endian, then the message, as
src/base/process.h sends and receives them."""

import os
import struct


def read_exactly(descriptor, size):
    parts = []
    while size > 0:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_message(descriptor):
    head = read_exactly(descriptor, 4)
    return None if head is None else read_exactly(descriptor, struct.unpack("<I", head)[0])


def write_message(descriptor, message):
    view = memoryview(struct.pack("<I", len(message)) + message)
    while view:
        view = view[os.write(descriptor, view) :]
