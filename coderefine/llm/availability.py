"""Check whether a model can be used, without network access and without heavy imports."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from ipaddress import ip_address

from coderefine.config import Config, masked
from coderefine.config.key_rules import host_of
from coderefine.core import Verdict
from coderefine.errors import UsageError
from coderefine.sensitive import LOGIN, is_secret

LONG = 12
"""Minimum length of an environment variable's value that is treated as a secret because of the variable's name."""


def configured(config: Config, environ: Mapping[str, str] | None = None) -> Verdict:
    """Return whether a model can be used; if not, the reason says which setting is missing or wrong."""
    environ = os.environ if environ is None else environ
    if not config.model:
        return Verdict(ok=False, reason="no model is set; give --model NAME or `model` in [tool.coderefine]")
    if config.base_url and not host_of(config.base_url):
        return Verdict(
            ok=False, reason=f"base-url must be set to an http:// or https:// address, not {masked(config.base_url)!r}"
        )
    if model_key(config, environ) or any(map(_is_credential, config.extra_headers)) or _near(config.base_url):
        return Verdict(ok=True)
    where = f"{config.api_key_env} in the environment"
    todo = f", but {config.key_refusal}" if config.key_refusal else f": set {where}, or base-url to a local server"
    return Verdict(ok=False, reason=f"model {config.model!r} needs a key{todo}")


def model_key(config: Config, environ: Mapping[str, str]) -> str:
    """Return the model's key without blanks at its ends, such as the line break of a file; "" if there is none."""
    return "" if config.key_refusal else environ.get(config.api_key_env, "").strip()


def check_price(config: Config) -> None:
    """Raise UsageError if the only limit is one in dollars and the price of a configured model is unknown."""
    if not config.cost_alone:
        return
    from coderefine.llm.budget import price

    for model in dict.fromkeys(filter(None, (config.model, *config.models, config.critic_model))):
        if price(model, config.base_url, 1000, 1000) is None:
            raise UsageError(
                f"the price of {model!r} is not known, so --max-cost cannot be checked: also give --max-tokens or "
                "--max-requests"
            )


def known_secrets(config: Config, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the model's key and the credentials in configured headers and in environment variables.

    A password in a URL that such a variable contains is also returned separately.
    """
    headers = (value for name, value in config.extra_headers.items() if _is_credential(name))
    named = [value for name, value in environ.items() if is_secret(name, value) and len(value) >= LONG]
    named += re.findall(rf":[ \t]*(\S.{{{LONG - 2},}}\S)", environ.get("OPENAI_CUSTOM_HEADERS", ""))
    logins = (match[1] for value in named for match in re.finditer(LOGIN, value) if len(match[1]) >= LONG)
    return tuple(filter(None, map(str.strip, (environ.get(config.api_key_env, ""), *headers, *named, *logins))))


def _is_credential(header: str) -> bool:
    return header.lower() in {"authorization", "api-key", "x-api-key"}


def _near(base_url: str | None) -> bool:
    """Return whether the server is on this machine or in a private network, where keys are unusual."""
    host = host_of(base_url or "")
    try:
        return ip_address(host).is_private
    except ValueError:
        return bool(host) and ("." not in host or host.endswith((".local", ".internal", ".localhost")))
