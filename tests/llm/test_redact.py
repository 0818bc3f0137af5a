from __future__ import annotations

import pytest

from coderefine.config import Config
from coderefine.llm.model_request import Message, ModelRequest
from coderefine.llm.redact import Redactor
from tests.support.clients import line
from tests.support.llm_server import Reply, Seen

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\nxyz=\n-----END RSA PRIVATE KEY-----"
SECRETS = {
    'password = "hunter2abcd"': "hunter2abcd",
    'aws_key = "AKIAIOSFODNN7EXAMPLE"': "AKIAIOSFODNN7EXAMPLE",
    'x = "ghp_abcdefghijklmnopqrstuvwxyzABCDEF1234"': "ghp_abcdefghijklmnopqrstuvwxyzABCDEF1234",
    'k = "sk-proj-abcdefghijklmnopqrstT3BlbkFJabcdefghijklmnopqrst"': "sk-proj-abcdefghij",
    'url = "https://user:passw0rd99@host/x"': "passw0rd99",
    f'pem = """{PEM}"""': "MIIEabc",
    'client.connect(api_key="Zx81-ff90-aa")': "Zx81-ff90-aa",
    'slack = "xoxb-123456789012-1234567890123-abcdefghijklmnopqrstuvwx"': "xoxb-123456789012",
    "DEBUG=True\nDB_PASS=hunter2horse\nHOST=x": "hunter2horse",
    "export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY  # mine": "wJalrXUtnFEMI",
    "  client_secret: GOCSPX-abcdefgh1": "GOCSPX-abcdefgh1",
    "spring.datasource.password = tr0ub4dor&3": "tr0ub4dor&3",
    "the own key is own-key-77!": "own-key-77!",
    "x = github_pat_11ABCDEFG0abcdefghijkl_abcdefghijklmnopqrstuvwxyz0123456789ABCDEF": "github_pat_11ABCDEFG0",
    "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH": "hf_abcdef",
    "key=AIzaSyA1234567890abcdefghijklmnopqrstuvw": "AIzaSyA1234567890",
    "{'Authorization': 'Bearer abcdef1234567890abcdef'}": "abcdef1234567890abcdef",
    "Authorization: Basic dXNlcjpwYXNzd29yZA==": "dXNlcjpwYXNzd29yZA",
    "sk-ant-api03-abcdefghijklmnopqrstuvwxyz": "sk-ant-api03",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I": "dozjgNryP4J3jVmNHl0w5N",
}


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_never_leave_and_come_back(text: str) -> None:
    redactor = Redactor(("own-key-77!",))
    clean = redactor.clean(text)
    assert SECRETS[text] not in clean
    assert "REDACTED_SECRET_1_" in clean
    assert redactor.restore(clean) == text


@pytest.mark.parametrize(
    "text",
    [
        "def check_password(user, password):\n    return hash(password) == user.password_hash",
        'digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"',
        "host = '192.168.0.1'",
        'assert secret_word("banana") == "ananab"',
        'password = "password"',
        'token = get_token("a b c")',
        'password = "{password}"',
        "MAX_TOKENS=20000",
        "API_KEY=$OTHER",
        "access_token: OAuth2AccessToken",
        "    token = settings.token_2",
        "    api_key: Key3[str]",
        "    api_key=make_key(2)",
        "the bearer of good news about authentication_of_everybody",
        "import sk_learn_something_long_and_plain as sklearn",
    ],
)
def test_ordinary_code_is_left_alone(text: str) -> None:
    assert Redactor().clean(text) == text


def test_the_same_secret_has_the_same_number_everywhere() -> None:
    redactor = Redactor()
    assert redactor.clean('password = "hunter2abcd"') == 'password = "REDACTED_SECRET_1_"'
    assert redactor.clean("AssertionError: hunter2abcd != x") == "AssertionError: REDACTED_SECRET_1_ != x"
    assert redactor.restore("REDACTED_SECRET_9_") == "REDACTED_SECRET_9_"


def test_credentials_are_known_by_their_place_and_titles_are_not() -> None:
    config = Config(extra_headers={"X-Title": "shopping", "Authorization": "Bearer header-credential"})
    environ = {"DEPLOY_TOKEN": "plain-looking-token", "MY_SECRET": "cart", "HOME": "/home/somebody-else"}
    with line(["x"], config, environ=environ) as it:
        text = "shopping cart /home/somebody-else Bearer header-credential plain-looking-token"
        it.client.ask(ModelRequest("edit", (Message("user", text),)))
        sent = it.server.requests[0].prompt
    assert sent.startswith("shopping cart /home/somebody-else REDACTED_SECRET_")
    assert "header-credential" not in sent
    assert "plain-looking-token" not in sent


def test_secrets_are_replaced_in_requests_and_restored_in_answers() -> None:
    def echo(seen: Seen) -> Reply:
        return Reply(seen.prompt)

    code = 'password = "hunter2abcd"\n'
    with line(echo) as it:
        assert it.client.ask(ModelRequest("edit", (Message("user", code),))).text == code
        assert "hunter2abcd" not in it.server.requests[0].prompt
