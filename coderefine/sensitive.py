"""Recognise secrets: names and values of environment variables, tokens in text; cut text without leaving parts of them.

The fast path of the hook imports this file too, so it imports nothing until a value has to be examined.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WORDS = (
    "API_KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "PRIVATE_KEY",
    "PRIVATEKEY", "ACCESS_KEY", "ACCESSKEY", "CONNECTION_STRING", "CONN_STR", "WEBHOOK", "SESSION_COOKIE",
)  # fmt: skip
"""A variable whose upper-cased name contains one of these words is a secret."""
ENDS = ("_KEY", "_PAT", "_PWD", "_PW", "_PASS", "_AUTH", "_DSN", "_CREDS")
"""A variable whose upper-cased name ends with one of these texts is a secret, too."""
DATABASE = "DATABASE_URL"

AGENTS = frozenset((
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL", "P11_KIT_SERVER_ADDRESS",
    "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "DOCKER_HOST", "DOCKER_CERT_PATH", "DOCKER_CONTEXT",
    "CONTAINER_HOST", "CONTAINERD_ADDRESS", "KUBECONFIG", "KRB5CCNAME", "XAUTHORITY", "TMUX", "STY", "NVIM",
    "VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "ACTIONS_RUNTIME_URL", "ACTIONS_CACHE_URL",
))  # fmt: skip
"""Variables with addresses of programs that act in the user's name: agents, daemons, the session."""
TOKENS = (
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bhf_[A-Za-z0-9]{20,}",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"\bya29\.[A-Za-z0-9_-]{20,}",
    r"\bsk-(?:proj-|ant-|or-|live-)?[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]{16,}",
    r"\bnpm_[A-Za-z0-9]{30,}",
    r"\bdo[opr]_v1_[a-f0-9]{40,}",
    r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"(?i:\bbearer\s+)((?=[^\s'\"]*[0-9])[A-Za-z0-9._~+/-]{16,}=*)",
    r"(?i:\bauthorization['\"]?\s*[:=]\s*['\"]?(?:basic|token|bearer)\s+)([^\s'\"]{8,})",
)
"""Patterns of tokens; the secret is the pattern's group, or the whole match if the pattern has no group."""
LOGIN = r"://[^/\s:@'\"]*:([^/\s@'\"]+)@"
"""Pattern of a URL with a password, which is the pattern's group."""
_judged: dict[tuple[str, str], bool] = {}
"""Results of `is_secret`: each start of a process checks the whole environment, which takes 0.4 ms.

No `functools.cache`, because this file imports nothing.
"""


def is_secret(name: str, value: str) -> bool:
    """Return whether the environment variable `name` contains a secret, judging by its name or its value."""
    if (name, value) not in _judged:
        _judged[name, value] = _is_secret(name, value)
    return _judged[name, value]


def _is_secret(name: str, value: str) -> bool:
    upper = name.upper()
    if any(word in upper for word in WORDS) or upper.endswith(ENDS):
        return True
    if "://" in value:
        return ("@" in value and _has(value, (LOGIN,))) or _has(value, TOKENS)
    return upper == DATABASE or (len(value) >= 20 and _has(value, TOKENS))


def withheld(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the variables of `environ` that the project's programs do not get."""
    return frozenset(name for name, value in environ.items() if name in AGENTS or is_secret(name, value))


def _has(value: str, patterns: tuple[str, ...]) -> bool:
    import re

    return any(re.search(pattern, value) for pattern in patterns)


def shortened(text: str, most: int) -> str:
    """Return `text`, cut to at most `most` characters with an ellipsis; a possible secret at the cut is left out."""
    if len(text) <= most:
        return text
    return f"{text[: most - 1 - len(broken(text[: most - 1], text[most - 1 :]))]}…"


def ends(text: str, head: int, tail: int) -> tuple[str, str]:
    """Return the first `head` and the last `tail` characters of `text`, without parts of possible secrets."""
    at = max(0, len(text) - tail)
    start, end = text[:head], text[at:]
    over = len(broken(end[::-1], text[:at][::-1]))
    return start[: len(start) - len(broken(start, text[head:]))], end[over:]


def broken(head: str, rest: str) -> str:
    """Return the last word of `head` if it continues in `rest` and may be part of a secret; "" otherwise.

    Patterns that recognise secrets would miss such a part.
    """
    piece = _last_word(head)
    whole = piece + _last_word(rest[::-1])[::-1] if piece else ""
    mixed = any(one.isdigit() for one in whole) and any(one.isalpha() for one in whole)
    return piece if len(whole) >= SHORTEST and len(whole) > len(piece) and (mixed or "//" in whole) else ""


SHORTEST = 16
PART = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+/=.~:@%\\")


def _last_word(text: str) -> str:
    end = len(text)
    while end and text[end - 1] in PART:
        end -= 1
    return text[end:]
