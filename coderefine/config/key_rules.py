"""Decide whether the model's key may be sent: the files of a project do not choose a secret and where it goes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

USUAL = "OPENAI_API_KEY"
"""The variable with the key of any provider."""
PROVIDERS: Mapping[str, str] = {
    "api.openai.com": USUAL,
    "openai.azure.com": "AZURE_OPENAI_API_KEY",
    "services.ai.azure.com": "AZURE_OPENAI_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
    "api.mistral.ai": "MISTRAL_API_KEY",
    "api.deepseek.com": "DEEPSEEK_API_KEY",
    "api.groq.com": "GROQ_API_KEY",
    "api.x.ai": "XAI_API_KEY",
    "api.together.xyz": "TOGETHER_API_KEY",
    "models.github.ai": "GITHUB_TOKEN",
}
"""Hosts of providers, and the variable with the key of each: a project may name both of them."""


def key_refusal(base_url: str | None, variable: str, chosen: Collection[str]) -> str:
    """Return why the key in `variable` may not be sent to the server `base_url` (None: OpenAI); "" if it may.

    `chosen`: the settings that the user has given, in the environment or as flags; the others may be those of a
    repository that the user has only cloned.
    """
    provider = "api.openai.com" if base_url is None else _provider(base_url)
    needed = {}
    if "base_url" not in chosen and provider is None:
        needed["CODEREFINE_BASE_URL"] = base_url
    if "api_key_env" not in chosen and variable not in (USUAL, PROVIDERS.get(provider or "")):
        needed["CODEREFINE_API_KEY_ENV"] = variable
    if not needed:
        return ""
    assignments = " and ".join(f"{name}={value!r}" for name, value in needed.items())
    return f"only files of the project choose where the key in {variable} goes: if you trust them, set {assignments}"


def _provider(base_url: str) -> str | None:
    """Return the known provider whose server `base_url` names; None for any other server."""
    try:
        parts = urlsplit(base_url)
        host = f".{parts.hostname}" if parts.scheme == "https" else ""
    except ValueError:
        return None
    return next((known for known in PROVIDERS if host.endswith(f".{known}")), None)
