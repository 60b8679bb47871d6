"""New inputs from old ones: tokens and lines moved, doubled, deleted, spliced, replaced; and bytes changed.

A text is cut into tokens (words, numbers, blanks, signs) or into pieces that end as lines, elements and
commands do. Numbers become nasty ones, words become other words of the same format, pieces come from another
file. A binary file is changed by bytes and by whole integers; a PNG's checksums are made right again most of
the time, since a wrong one is refused before anything else is looked at.
"""

from __future__ import annotations

import gzip
import random
import re
import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache

LONGEST = 1 << 16
"""Bytes of an input; longer ones are cut, since they take longer and find no more."""

NUMBERS = (
    b"0", b"-0", b"-1", b"1", b"2", b"0.5", b".", b"-", b"1e308", b"-1e308", b"1e-320", b"1e999", b"nan",
    b"inf", b"-inf", b"1e5", b"1e-9", b"9999999999999999999999", b"2147483648", b"-2147483649", b"4294967296",
    b"65536", b"255", b"1" * 400, b"0." + b"3" * 400, b"1_0", b"0x10", b"1e", b"1,5", b"1/2", b"100%",
    "١٢".encode(), "²".encode(), b"",
)  # fmt: skip
BYTES = b"0123456789-.eE*%XYDGM,;:$()[]{}<>&#'\"=/\\\n\r\t\0 \x7f\x80\xff"
ODD = (
    "\ufeff",
    "\u2028",
    "\x85",
    "ß",
    "é",
    "𝟘",
    "\u202e",
    "\x0b",
    "\x1c",
    "&#0;",
    "&amp;",
    "<!--",
    "]]>",
    "\\u0000",
)
INTEGERS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
PNG = b"\x89PNG\r\n\x1a\n"

_TOKENS = re.compile(
    rb"[A-Za-z_][\w-]*|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\s+|[^\w\s]|[\x80-\xff]+|.", re.DOTALL
)
_PIECES = re.compile(rb"[^\n>*;)}\]]*[\n>*;)}\]]|[^\n>*;)}\]]+", re.DOTALL)
_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_][\w-]*")


@lru_cache(maxsize=4096)
def tokens(data: bytes) -> tuple[bytes, ...]:
    return tuple(_TOKENS.findall(data))


@lru_cache(maxsize=4096)
def pieces(data: bytes) -> tuple[bytes, ...]:
    return tuple(_PIECES.findall(data))


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:4096] or data.startswith(b"\x89")


class Mutator:
    """Makes inputs from examples, and from inputs that were new to the reader.

    examples: good files.  found: what `keep` was told to build on, read or refused.  words: of all examples.
    """

    def __init__(self, examples: Sequence[bytes], rng: random.Random, most: int = 3000) -> None:
        self.rng, self.examples, self.most = rng, list(examples), most
        self.found: dict[bool, list[bytes]] = {False: [], True: []}
        self.words = sorted({w for one in examples if not is_binary(one) for w in _WORD.findall(one)})

    def keep(self, data: bytes, refused: bool) -> None:
        """Build on this input later; some are forgotten when there are too many."""
        found = self.found[refused]
        if len(data) <= LONGEST // 4:
            if len(found) >= self.most:
                del found[self.rng.randrange(len(found))]
            found.append(data)

    def pick(self) -> bytes:
        """Most often what was read, since a change to what is refused is hardly ever looked at."""
        chance = self.rng.random()
        found = self.found[chance < 0.1]
        return self.rng.choice(found if found and chance < 0.5 else self.examples)

    def make(self) -> bytes:
        """A new input."""
        rng, data = self.rng, self.pick()
        rounds = rng.choice((1, 1, 1, 1, 1, 1, 2, 2, 3, 8))
        if is_binary(data):
            data = self._binary(data, rounds)
        elif rng.random() < 0.15:
            data = self._bytes(data, rounds)
        else:
            for _ in range(min(rounds, 2)):
                cut = pieces if rng.random() < 0.4 else tokens
                data = self._parts(list(cut(data)), (rounds + 1) // 2, fine=cut is tokens)
        return self._wrapped(data[:LONGEST])[:LONGEST]

    # Texts

    def _parts(self, parts: list[bytes], rounds: int, *, fine: bool) -> bytes:
        """Changed tokens or pieces."""
        for _ in range(rounds):
            if not parts:
                break
            (self._token if fine and self.rng.random() < 0.8 else self._order)(parts)
        return b"".join(parts)

    def _order(self, parts: list[bytes]) -> None:
        """Delete, double, move or splice parts."""
        rng, n = self.rng, len(parts)
        i, length = rng.randrange(n), rng.choice((1, 1, 1, 2, 4, 16))
        kind = rng.randrange(8)
        if kind < 2:
            del parts[i : i + length]
        elif kind == 2:
            times = rng.choice((1, 1, 2, 2, 5, 60, 600))
            parts[i:i] = parts[i : i + length] * min(times, 1 + 2000 // length)
        elif kind == 3:
            j = rng.randrange(n)
            parts[i], parts[j] = parts[j], parts[i]
        elif kind == 4:
            j = rng.randrange(n)
            parts[j:j] = parts[i : i + length]
        elif kind == 5:
            other = self.pick()
            if not is_binary(other):
                cut = (pieces if rng.random() < 0.5 else tokens)(other)
                k = rng.randrange(len(cut)) if cut else 0
                parts[i : i + rng.choice((0, length))] = cut[k : k + rng.choice((1, 2, 8, 64))]
        elif kind == 6:
            if rng.random() < 0.3:
                del parts[i:]
        else:
            piece = parts[i : i + length]
            rng.shuffle(piece)
            parts[i : i + length] = piece

    def _token(self, parts: list[bytes]) -> None:
        """Another number, word or sign."""
        rng = self.rng
        numbers = [k for k, part in enumerate(parts) if _NUMBER.fullmatch(part)] if rng.random() < 0.5 else ()
        i = rng.choice(numbers) if numbers else rng.randrange(len(parts))
        part = parts[i]
        if _NUMBER.fullmatch(part) and rng.random() < 0.8:
            parts[i] = self._number(part)
        elif _WORD.fullmatch(part) and self.words and rng.random() < 0.8:
            parts[i] = rng.choice(self.words)
        elif rng.random() < 0.5:
            parts[i] = part * rng.choice((2, 3, 40, 400))
        elif rng.random() < 0.5:
            parts[i:i] = [rng.choice(ODD).encode()]
        else:
            parts[i] = bytes([rng.choice(BYTES)])

    def _number(self, part: bytes) -> bytes:
        """A nasty number, or a neighbour of this one."""
        rng = self.rng
        kind = rng.randrange(6)
        if kind < 3:
            return rng.choice(NUMBERS)
        if kind == 3:
            return part.removeprefix(b"-") if part.startswith(b"-") else b"-" + part
        if kind == 4:
            return b"%s%s" % (part, rng.choice((b"0", b"00000", b"e3", b"e-3", b"e30", b".5", b"mm", b"in")))
        try:
            return repr(float(part) * rng.choice((0, 0.5, 2, 1e3, 1e-3, 1 + 1e-9))).encode()
        except ValueError:
            return part

    def _wrapped(self, data: bytes) -> bytes:
        """Now and then in another encoding, with other line ends, or packed."""
        chance = self.rng.random()
        if chance > 0.03 or is_binary(data):
            return data
        if chance < 0.01:
            return data.decode("utf-8", "replace").encode(
                self.rng.choice(("utf-16", "utf-16-le", "cp1252")), "replace"
            )
        if chance < 0.02:
            return data.replace(b"\n", self.rng.choice((b"\r\n", b"\r", b"\n\n", b"\x0b")))
        packed = bytearray(gzip.compress(data, 1, mtime=0))
        if self.rng.random() < 0.3:
            packed[self.rng.randrange(len(packed))] ^= 1 << self.rng.randrange(8)
        return bytes(packed)

    # Bytes

    def _bytes(self, data: bytes, rounds: int) -> bytes:
        out, rng = bytearray(data), self.rng
        for _ in range(rounds):
            if len(out) < 2:
                break
            i, j, kind = rng.randrange(len(out)), rng.randrange(len(out)), rng.randrange(8)
            if kind == 0:
                out[i] = rng.randrange(256)
            elif kind == 1:
                out[i] ^= 1 << rng.randrange(8)
            elif kind == 2:
                del out[i : i + rng.choice((1, 2, 4, 8, 50))]
            elif kind == 3:
                out[i:i] = out[j : j + rng.choice((1, 2, 4, 8, 60))]
            elif kind == 4:
                out[i] = rng.choice(BYTES)
            elif kind == 5:
                form = rng.choice((">H", "<H", ">I", "<I", "B"))
                size = struct.calcsize(form)
                out[i : i + size] = struct.pack(form, rng.choice(INTEGERS) & ((1 << 8 * size) - 1))
            elif kind == 6 and rng.random() < 0.3:
                del out[i:]
            else:
                out[i], out[j] = out[j], out[i]
        return bytes(out)

    def _binary(self, data: bytes, rounds: int) -> bytes:
        if data.startswith(PNG) and self.rng.random() < 0.8:
            return self._png(data, rounds)
        if data.startswith(b"\0\x06\0\x02") and self.rng.random() < 0.7:
            return self._records(data, rounds)
        if self.rng.random() < 0.1:
            other = self.pick()
            data = data[: self.rng.randrange(len(data) + 1)] + other[self.rng.randrange(len(other) + 1) :]
        return self._bytes(data, rounds)

    def _png(self, data: bytes, rounds: int) -> bytes:
        """Chunks changed, doubled, moved or dropped, with the right checksum."""
        rng, chunks, at = self.rng, [], len(PNG)
        while at + 8 <= len(data):
            size = int.from_bytes(data[at : at + 4], "big")
            chunks.append([data[at + 4 : at + 8], data[at + 8 : at + 8 + size]])
            at += 12 + size
        for _ in range(rounds):
            if not chunks:
                break
            k, kind = rng.randrange(len(chunks)), rng.randrange(6)
            if kind == 0:
                del chunks[k]
            elif kind == 1:
                chunks.insert(rng.randrange(len(chunks) + 1), list(chunks[k]))
            elif kind == 2 and chunks[k][0] == b"IDAT":
                try:
                    raw = zlib.decompress(chunks[k][1])
                except zlib.error:
                    continue
                chunks[k][1] = zlib.compress(self._bytes(raw, rounds), 1)
            elif kind == 3:
                chunks[k][0] = rng.choice(
                    (b"tRNS", b"PLTE", b"pHYs", b"gAMA", b"iCCP", b"acTL", b"fcTL", b"eXIf", b"tEXt", b"zTXt")
                )
            else:
                chunks[k][1] = self._bytes(chunks[k][1], 1)
        out = PNG
        for name, body in chunks:
            checksum = zlib.crc32(name + body) ^ (rng.random() < 0.02)
            out += len(body).to_bytes(4, "big") + name + body + checksum.to_bytes(4, "big")
        return out

    def _records(self, data: bytes, rounds: int) -> bytes:
        """Records of GDSII changed, doubled, moved or dropped; their lengths are right most of the time."""
        rng, records, at = self.rng, [], 0
        while at + 4 <= len(data):
            size = max(int.from_bytes(data[at : at + 2], "big"), 4)
            records.append(data[at : at + size])
            at += size
        for _ in range(rounds):
            k, kind = rng.randrange(len(records)), rng.randrange(7)
            if kind == 0:
                del records[k]
            elif kind == 1:
                records.insert(rng.randrange(len(records) + 1), records[k])
            elif kind == 2:
                j = rng.randrange(len(records))
                records[k], records[j] = records[j], records[k]
            elif kind == 3:
                records[k:k] = records[k : k + rng.choice((2, 8, 20))] * rng.choice((1, 2, 50))
            else:
                body = self._bytes(records[k][4:], 1)[:60000]
                size = (4 + len(body)) & 0xFFFF if rng.random() < 0.9 else rng.randrange(1 << 16)
                records[k] = size.to_bytes(2, "big") + records[k][2:4] + body
            if not records:
                break
        return b"".join(records)
