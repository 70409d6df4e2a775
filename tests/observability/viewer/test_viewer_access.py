"""Who may ask the server: nobody from elsewhere, nobody who does not know the address; and nothing can be written to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from agentfp_viewer.bundle import data_block, policy, script
from tests.observability.viewer.browser import serving


@pytest.fixture(scope="module")
def url(switch_file: Path) -> Iterator[str]:
    with serving(switch_file) as address:
        yield address


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False) as made:
        yield made


def run_of(client: httpx.Client, url: str) -> str:
    return f"{url}api/run/{client.get(url + 'api/runs').json()[0]['id']}"


def test_it_listens_on_this_machine_only(url: str) -> None:
    assert urlsplit(url).hostname == "127.0.0.1"
    assert len(urlsplit(url).path.strip("/")) >= 24


@pytest.mark.parametrize("path", ["", "/", "/api/runs", "/x/api/runs", "/%00/", "/favicon.ico"])
def test_without_the_token_nothing_is_told(url: str, client: httpx.Client, path: str) -> None:
    parts = urlsplit(url)
    answer = client.get(f"http://{parts.netloc}{path}")
    assert answer.status_code == 403
    assert "SW-12" not in answer.text
    assert parts.path.strip("/") not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1", ""])
def test_other_names_for_the_server_get_nothing(url: str, client: httpx.Client, host: str) -> None:
    assert client.get(url, headers={"Host": host}).status_code in (400, 421)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_get_nothing(url: str, client: httpx.Client, site: str) -> None:
    asked = f"{run_of(client, url)}/changes"
    assert client.get(asked, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}).status_code == 403
    assert client.get(asked, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    assert client.get(url, headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}).status_code == 200, "a link was followed"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_there_is_nothing_to_write_to(url: str, client: httpx.Client, method: str) -> None:
    answer = client.request(method, f"{url}api/runs")
    assert answer.status_code == 405
    assert "access-control-allow-origin" not in answer.headers


def test_every_answer_forbids_what_it_does_not_need(url: str, client: httpx.Client) -> None:
    for path in ("", "api/runs", "api/run/none/changes"):
        headers = client.get(url + path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers
    assert "'unsafe" not in policy(connect=True) + policy(connect=False)
    assert "require-trusted-types-for 'script'" in policy(connect=False)


def test_paths_lead_to_no_other_file(url: str, client: httpx.Client) -> None:
    for odd in ("..%2f..%2fetc%2fpasswd", "....//etc/passwd", "0" * 16):
        assert client.get(f"{url}api/run/{odd}/changes").status_code == 404
    run = run_of(client, url)
    assert client.get(f"{run}/changes?thread=none").status_code == 404
    assert client.get(f"{run}/event/99999").status_code == 404
    assert client.get(f"{run}/event/-1").status_code in (200, 404)
    assert client.get(f"{run}/events?from=x&to=99999999999999999999999").status_code == 200


def test_an_event_is_handed_out_as_a_file_and_never_as_a_page(url: str, client: httpx.Client) -> None:
    answer = client.get(f"{run_of(client, url)}/event/1")
    assert json.loads(answer.content)["seq"] == 1
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")


def test_the_script_is_whole_and_its_licence_goes_with_it() -> None:
    assert "import " not in [line[:7] for line in script().splitlines()]
    assert not any(line.startswith("export ") for line in script().splitlines())
    assert "Copyright 2017 Google LLC" in script()
    licence = Path(__file__).resolve().parents[3] / "observability/viewer/agentfp_viewer/page/vendor/LICENSE-lit-html.txt"
    assert "BSD 3-Clause" in licence.read_text(encoding="utf-8")


def test_data_in_the_page_cannot_leave_its_block() -> None:
    odd = {"</script><script>alert(1)</script><!--": "\u2028 & ' \" <"}
    block = data_block('a"b', odd)
    assert block.count("<") == 2
    assert json.loads(block.split(">", 1)[1].rsplit("<", 1)[0]) == odd
    assert 'id="a&quot;b"' in block
