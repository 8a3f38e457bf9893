"""What a reader sees of a text, by the characters' categories and without the code of the build."""

import re
import unicodedata


def visible_text(text: str) -> str:
    """What a reader sees of a text, in NFC: joiners, selectors and tags count between letters of scripts that
    need them and in emoji only, all other format characters never; a control character is a blank."""
    if text.isascii() and text.isprintable():
        return text.strip()
    if any(unicodedata.category(sign) in ("Cc", "Zl", "Zp") for sign in text):
        blanks = (" " if unicodedata.category(sign) in ("Cc", "Zl", "Zp") else sign for sign in text)
        text = " ".join("".join(blanks).split())
    kept = [sign for sign in text if sign in _SHAPING or not _is_hidden(sign)]
    signs = [sign for index, sign in enumerate(kept) if sign not in _SHAPING or _shapes(kept, index)]
    visible = unicodedata.normalize("NFC", "".join(signs)).strip()
    return visible if visible == text else visible_text(visible)


_SHAPING = frozenset(map(chr, (0x180B, 0x180C, 0x180D, 0x180F, 0x200C, 0x200D))) | frozenset(
    map(chr, (*range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000)))
)
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2065\u3164\uffa0") | frozenset(
    map(chr, range(0xFFF0, 0xFFFC))
)


def _is_hidden(sign: str) -> bool:
    # Signs of numbers and of verses in Arabic, Syriac and Kaithi are seen although they are "format".
    if sign in _FILLERS:
        return True
    return unicodedata.category(sign) == "Cf" and not re.match(
        "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001345f]", sign
    )


def _is_picture(sign: str) -> bool:
    code = ord(sign)
    return (
        code in (0xA9, 0xAE, 0x203C, 0x2049, 0x3030, 0x303D, 0x3297, 0x3299)
        or 0x2100 <= code < 0x2C00
        or 0x1F000 <= code < 0x1FC00
    )


def _joins(sign: str) -> bool:
    code = ord(sign)
    return 0x590 <= code < 0x1D00 or 0xA800 <= code < 0xAC00 or 0x10A00 <= code < 0x12000


def _shapes(signs: list[str], index: int) -> bool:
    """Whether a joiner, selector or tag is needed where it is."""
    sign, before = signs[index], signs[index - 1] if index else ""
    if not before:
        return False
    if sign in "\u200c\u200d":
        picture = before == "\ufe0f" and index > 1 and _is_picture(signs[index - 2])
        after = next((later for later in signs[index + 1 :] if later not in "\u200c\u200d"), " ")
        needed = sign == "\u200d" and unicodedata.combining(before) == 9
        return needed or ((picture or _is_picture(before) or _joins(before)) and not after.isspace())
    if sign in "\ufe0e\ufe0f":
        keycap = before in "#*0123456789" and sign == "\ufe0f" and signs[index + 1 : index + 2] == ["\u20e3"]
        return keycap or _is_picture(before)
    if "\u180b" <= sign <= "\u180f":
        return "\u1820" <= before <= "\u18aa"
    run = index
    while run and "\U000e0020" <= signs[run] <= "\U000e007f":
        run -= 1
    return run < index and signs[run] == "\U0001f3f4"
