"""Decide whether the model's key may be sent: a project's files alone must not send a secret to a server they name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

USUAL = "OPENAI_API_KEY"
"""The variable with the key of any provider."""
AZURE = ("AZURE_OPENAI_API_KEY",)
DASHSCOPE = ("DASHSCOPE_API_KEY",)
PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "api.openai.com": (USUAL,),
    "openai.azure.com": AZURE,
    "services.ai.azure.com": AZURE,
    "cognitiveservices.azure.com": AZURE,
    "openrouter.ai": ("OPENROUTER_API_KEY",),
    "api.anthropic.com": ("ANTHROPIC_API_KEY",),
    "generativelanguage.googleapis.com": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "api.mistral.ai": ("MISTRAL_API_KEY",),
    "api.deepseek.com": ("DEEPSEEK_API_KEY",),
    "api.groq.com": ("GROQ_API_KEY",),
    "api.x.ai": ("XAI_API_KEY",),
    "api.together.xyz": ("TOGETHER_API_KEY",),
    "api.fireworks.ai": ("FIREWORKS_API_KEY",),
    "api.cerebras.ai": ("CEREBRAS_API_KEY",),
    "integrate.api.nvidia.com": ("NVIDIA_API_KEY",),
    "router.huggingface.co": ("HF_TOKEN",),
    "api.moonshot.ai": ("MOONSHOT_API_KEY",),
    "dashscope.aliyuncs.com": DASHSCOPE,
    "dashscope-intl.aliyuncs.com": DASHSCOPE,
    "models.github.ai": ("GITHUB_TOKEN",),
}
"""Hosts of providers, and the variables with the key of each: a project may name the host and one of them."""


def key_refusal(base_url: str | None, variable: str, chosen: Collection[str]) -> str:
    """Return why the key in `variable` may not be sent to the server `base_url` (None: OpenAI); "" if it may.

    `chosen`: the settings that the user has given, in the environment or as flags. All other settings may come from a
    repository that the user has only cloned. A server on this machine may get the key in USUAL.
    """
    url = "https://api.openai.com" if base_url is None else base_url
    provider = _provider(url)
    needed = {}
    if "base_url" not in chosen and not (provider or _may_get(host_of(url), variable)):
        needed["CODEREFINE_BASE_URL"] = base_url
    if "api_key_env" not in chosen and variable not in (USUAL, *PROVIDERS.get(provider or "", ())):
        needed["CODEREFINE_API_KEY_ENV"] = variable
    if not needed:
        return ""
    assignments = " and ".join(f"{name}={value!r}" for name, value in needed.items())
    return f"only files of the project choose where the key in {variable} goes: if you trust them, set {assignments}"


def host_of(url: str) -> str:
    """Return the host of an http:// or https:// address; "" if `url` is no such address."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:  # no IP address in brackets, no port number
        return ""
    return (usable and parts.hostname) or ""


def _provider(url: str) -> str | None:
    """Return the known provider whose server `url` names; None for any other server."""
    host = f".{host_of(url)}" if url.lower().startswith("https:") else ""
    return next((known for known in PROVIDERS if host.endswith(f".{known}")), None)


def _may_get(host: str, variable: str) -> bool:
    """Return whether `variable` is USUAL, and `host` is this machine, which may run a server of LiteLLM or vLLM."""
    try:
        return variable == USUAL and (host == "localhost" or ip_address(host).is_loopback)
    except ValueError:  # another name
        return False
