"""Make text of a repository or a model harmless for a terminal, a commit message or a pull request."""

import re

_ESCAPES = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # window titles, links, the clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c\n]*(?:\x1b\\|\x9c)?"  # device strings
    r"|\x1b[ -/]*[0-~]"
)
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff"
)
"""Control characters, marks that reorder or hide text, and lone surrogates, which no encoding can represent."""
CONTROL = f"[{_HIDDEN}]"
_TRAILER = r"(?m)^(?=[A-Za-z][\w-]*:\s|[A-Za-z-]+ #)"


def escape_text(text: str) -> str:
    """Escape multi-line text: escape sequences are removed, other control characters are spelled out."""
    text = text.replace("\r\n", "\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    text = re.sub(_ESCAPES, "", text).replace("\r", "\n")
    return re.sub(CONTROL, lambda found: f"\\x{code:02x}" if (code := ord(found[0])) < 256 else f"\\u{code:04x}", text)


def clean_message(text: str) -> str:
    """Clean a part of a commit message. Lines that git would read as trailers are indented: only bough writes those."""
    return re.sub(_TRAILER, "  ", escape_text(text))


def clean_markdown(text: str) -> str:
    """Turn a text into a Markdown quotation without HTML, so that it cannot pass for a section of the page."""
    plain = escape_text(text).replace("&", "&amp;").replace("<", "&lt;")
    return "\n".join(f"> {line}".rstrip() for line in plain.splitlines())


def clean_markdown_line(text: str) -> str:
    """Clean a line of a Markdown page, so that nothing in it is markup."""
    plain = " ".join(escape_text(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{character}" if character in "[]*_`#|!" else character for character in plain)


def repair_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates (U+FFFD): JSON cannot hold them. File names, output of programs
    and badly cut answers of models contain some."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
