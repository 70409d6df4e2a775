"""AWS on the loopback address, for the tests of what sends there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentfp_otel.providers import Providers


@pytest.fixture(autouse=True)
def _no_exporter_goes_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A thread that still exports metrics to an endpoint which is gone disturbs tests of others, and the end of the process."""
    made: list[Providers] = []
    begin = Providers.__init__

    def counted(self: Providers, *args: Any) -> None:
        begin(self, *args)
        made.append(self)

    monkeypatch.setattr(Providers, "__init__", counted)
    yield
    for providers in made:
        providers.stop_metrics(0.01)


@pytest.fixture(scope="session")
def aws_url() -> Iterator[str]:
    """The URL of a moto server."""
    from tests.observability.aws.moto_server import moto_server

    with moto_server() as url:
        yield url


@pytest.fixture
def aws(aws_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same, and an environment in which boto3 finds keys and a region."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    return aws_url
