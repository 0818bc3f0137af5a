"""Whether a model can be asked at all, told without network and without heavy imports."""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from coderefine.config import Config
from coderefine.core import Verdict


def configured(config: Config, environ: Mapping[str, str] | None = None) -> Verdict:
    """Whether a model can be asked at all, and if not, what to set. No network, no heavy import."""
    environ = os.environ if environ is None else environ
    if not config.model:
        return Verdict(ok=False, reason="no model is set; give --model NAME or `model` in [tool.coderefine]")
    if config.base_url and urlsplit(config.base_url).scheme not in {"http", "https"}:
        return Verdict(
            ok=False, reason=f"base-url must be set to an http:// or https:// address, not {config.base_url!r}"
        )
    if environ.get(config.api_key_env) or _authorised(config.extra_headers) or _near(config.base_url):
        return Verdict(ok=True)
    where = f"{config.api_key_env} in the environment"
    return Verdict(ok=False, reason=f"model {config.model!r} needs a key: set {where}, or base-url to a local server")


def _authorised(headers: Mapping[str, str]) -> bool:
    return any(name.lower() in {"authorization", "api-key", "x-api-key"} for name in headers)


def _near(base_url: str | None) -> bool:
    """Whether the server is on this machine or its own network, where keys are unusual."""
    host = urlsplit(base_url or "").hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return bool(host) and ("." not in host or host.endswith((".local", ".internal", ".localhost")))
