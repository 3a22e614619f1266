"""One-dimensional .npy files of unsigned integers, without numpy (NEP 1, version 1.0)."""
import array
import ast
import struct

_CODES = {"B": "|u1", "H": "<u2", "I": "<u4", "Q": "<u8"}


def write(path, values):
    header = repr({"descr": _CODES[values.typecode], "fortran_order": False, "shape": (len(values),)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes())


def read(path):
    """The bytes of the file's values."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"\x93NUMPY\x01\x00":
        raise ValueError(f"{path} is no .npy file of version 1.0")
    end = 10 + struct.unpack("<H", data[8:10])[0]
    ast.literal_eval(data[10:end].decode())
    return data[end:]
