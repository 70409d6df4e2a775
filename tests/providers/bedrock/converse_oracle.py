"""botocore's model of the API and its client as the judges of what goes over the wire."""

from __future__ import annotations

import functools
from typing import Any

import botocore.config
import botocore.session
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.validate import ParamValidator

from tests.providers.faults import Received

KEY, SECRET, TOKEN = "AKIDEXAMPLE", "s3cret/key", "session-token"


@functools.cache
def session() -> Any:
    """One session; reading the model takes time."""
    return botocore.session.Session()


@functools.cache
def input_shape() -> Any:
    """What a request of Converse may hold."""
    return session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape


def check_request(body: dict[str, Any], model: str) -> None:
    """A body is one that botocore's model knows, to the last key."""
    report = ParamValidator().validate({"modelId": model, **body}, input_shape())
    assert not report.has_errors(), report.generate_report()
    assert not _unknown(body, input_shape(), "body"), _unknown(body, input_shape(), "body")


def _unknown(value: Any, shape: Any, path: str) -> list[str]:
    """Keys that the model does not know: the validator passes over them in plain structures."""
    if shape.type_name == "list":
        return [found for at, item in enumerate(value) for found in _unknown(item, shape.member, f"{path}[{at}]")]
    if shape.type_name != "structure" or getattr(shape, "is_document_type", False):
        return []
    strange = [f"{path}.{key}" for key in value if key not in shape.members]
    return strange + [
        found for key, item in value.items() if key in shape.members for found in _unknown(item, shape.members[key], f"{path}.{key}")
    ]


def client(url: str) -> Any:
    """Amazon's own client, at a server of the tests."""
    config = botocore.config.Config(retries={"total_max_attempts": 1}, proxies={})
    return session().create_client(
        "bedrock-runtime",
        region_name="eu-central-1",
        endpoint_url=url,
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        aws_session_token=TOKEN,
        config=config,
    )


def signature(received: Received, url: str, region: str, token: str | None = TOKEN) -> str:
    """The header that botocore makes for a request as it arrived."""
    request = AWSRequest(
        method=received.method, url=url + received.path, data=received.body, headers={"content-type": received.headers["content-type"]}
    )
    signer = SigV4Auth(Credentials(KEY, SECRET, token), "bedrock", region)
    request.context["timestamp"] = received.headers["x-amz-date"]
    signer._modify_request_before_signing(request)  # type: ignore[attr-defined]
    request.headers.replace_header("X-Amz-Date", received.headers["x-amz-date"])
    canonical = signer.canonical_request(request)
    signer._inject_signature_to_request(request, signer.signature(signer.string_to_sign(request, canonical), request))  # type: ignore[attr-defined]
    made: str = request.headers["Authorization"]
    return made
