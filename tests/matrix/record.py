"""What is kept of a run of numerics.py: a digest of every block's D, and the first words of the first blocks, in hexadecimal."""

import array
import gzip
import hashlib
import json
import pathlib
import sys

MOST_WORDS = 64  # of a block


def digest(words):
    values = array.array("I", words)
    if sys.byteorder == "big":
        values.byteswap()
    return hashlib.sha256(values.tobytes()).hexdigest()[:12]


def blocks_of(words, blocks):
    size = len(words) // blocks
    return [words[i * size : i * size + size] for i in range(blocks)]


def write(path, said, blocks, shown):
    """Keeps `said` ({label: words}); words of the first `shown` blocks."""
    kept = {}
    for label, words in said.items():
        parts = blocks_of(words, blocks)
        words = ["".join(f"{word:08x}" for word in part[:MOST_WORDS]) for part in parts[:shown]]
        kept[label] = {"digests": [digest(part) for part in parts], "words": words}
    # No time in it: the same run makes the same file.
    pathlib.Path(path).write_bytes(gzip.compress(json.dumps(kept, indent=0).encode(), 9, mtime=0))


def read(path):
    return json.loads(gzip.decompress(pathlib.Path(path).read_bytes()))


def differing(kept, said):
    """[(label, block, first words that were kept or None, words now)] of all blocks that are not what was kept."""
    found = []
    for label, one in kept.items():
        if isinstance(said.get(label), (str, type(None))):
            found.append((label, None, None, said.get(label)))
            continue
        for block, part in enumerate(blocks_of(said[label], len(one["digests"]))):
            if digest(part) != one["digests"][block]:
                words = one["words"][block] if block < len(one["words"]) else None
                found.append((label, block, words and [int(words[i : i + 8], 16) for i in range(0, len(words), 8)], part))
    return found
