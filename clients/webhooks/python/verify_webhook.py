"""Verifies deliveries of webhooks. One file, Python 3.8 or newer, nothing to install: copy it."""

import base64
import hashlib
import hmac
import re
import time
from typing import List, Mapping, Optional, Sequence, Union

TOLERANCE_SECONDS = 300


class WebhookError(Exception):
    """The delivery is not to be trusted.

    ``reason`` is ``missing_header``, ``invalid_timestamp``, ``outside_tolerance`` or ``wrong_signature``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def verify_webhook(
    body: bytes,
    headers: Mapping[str, str],
    secret: Union[str, Sequence[str], None] = None,
    deployment_secret: Optional[str] = None,
    now: Optional[int] = None,
) -> Optional[str]:
    """Returns the id of a delivery that comes from the service, or raises ``WebhookError``.

    ``body`` are the bytes as they came in, before anything parsed them. Each secret that is given must be borne out by
    its header. Give ``secret``, the webhook's own (``whsec_...``; several while you change from one to the next): its
    signature covers id and time, so a delivery cannot be sent again by others. That of the deployment covers the body
    alone. The id is the same at every attempt: skip what you have seen.
    """
    # by an empty key, as of a variable that is set to nothing, anybody can sign
    if (secret is None and deployment_secret is None) or deployment_secret == "":
        raise ValueError("Give a secret to verify with")
    given = {name.lower(): value for name, value in headers.items()}
    if deployment_secret is not None:
        _judge_deployment(body, given.get("x-service-signature"), deployment_secret)
    if secret is not None:
        secrets = [secret] if isinstance(secret, str) else list(secret)
        _judge_own(body, given, secrets, int(time.time()) if now is None else now)
    return given.get("webhook-id")


def _judge_deployment(body: bytes, signature: Optional[str], secret: str) -> None:
    if not signature:
        raise WebhookError("missing_header")
    expected = hmac.new(secret.encode("utf-8"), body, hashlib.sha256).hexdigest()
    if not _is_same(signature, "sha256=" + expected):
        raise WebhookError("wrong_signature")


def _judge_own(body: bytes, given: Mapping[str, str], secrets: List[str], now: int) -> None:
    keys = [_key_of(secret) for secret in secrets]
    identity, timestamp = given.get("webhook-id"), given.get("webhook-timestamp")
    signatures = given.get("webhook-signature")
    if not identity or not timestamp or not signatures:
        raise WebhookError("missing_header")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise WebhookError("invalid_timestamp")
    if abs(now - int(timestamp)) > TOLERANCE_SECONDS:
        raise WebhookError("outside_tolerance")
    signed = f"{identity}.{timestamp}.".encode("utf-8") + body
    expected = [base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode("ascii") for key in keys]
    # for a day after a rotation there are two: one by each secret
    values = [value for value in signatures.split(" ") if value.startswith("v1,")]
    if not any(_is_same(value, "v1," + one) for value in values for one in expected):
        raise WebhookError("wrong_signature")


def _key_of(secret: str) -> bytes:
    text = secret[len("whsec_"):] if secret.startswith("whsec_") else secret
    key = base64.b64decode(text)
    if not key:
        raise ValueError("A secret is whsec_ and base64")
    return key


def _is_same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8"), other.encode("utf-8"))
