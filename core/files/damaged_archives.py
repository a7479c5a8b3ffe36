"""Errors of the readers of zip archives and arrays on damaged or hostile files."""

import lzma
import tokenize
import zipfile
import zlib

DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    tokenize.TokenError,  # NumPy reads the header of an array as Python
    SyntaxError,
    TypeError,
    ValueError,
    OverflowError,
    LookupError,
    EOFError,
    MemoryError,
    RuntimeError,  # NotImplementedError and RecursionError included
    OSError,  # bz2, and seeking to an offset that the archive claims
)
