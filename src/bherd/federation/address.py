"""Hosts and ports that can be written into scripts and certificates as they are."""

import ipaddress
import re

from bherd.errors import InputError

_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_EXAMPLES = "a name such as server.example.org, 192.0.2.1 or [2001:db8::1]"


def check_host(text: str) -> str:
    """A DNS name or an address, the latter without brackets; anything else is refused.

    >>> check_host("server.example.org"), check_host("[2001:db8::1]")
    ('server.example.org', '2001:db8::1')
    """
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    address = _address(bare)
    if address is not None and (bare == text or address.version == 6):
        return str(address)
    labels = text.split(".")
    named = len(text) <= 253 and all(_LABEL.fullmatch(label) for label in labels)
    if not named or labels[-1].isdigit():
        raise InputError(f"host = {text!r}: must be a DNS name or an address. Try {_EXAMPLES}.")
    return text


def check_reachable(text: str) -> str:
    """As `check_host`, and not the address that stands for all addresses of a machine."""
    host = check_host(text)
    address = _address(host)
    if address is not None and address.is_unspecified:
        raise InputError(f"host = {text!r}: must be where the clients find the server. Try {_EXAMPLES}.")
    return host


def check_bind(text: str) -> str:
    """An address of this machine to listen on."""
    host = check_host(text)
    if _address(host) is None:
        raise InputError(f"bind = {text!r}: must be an address of the server. Try 0.0.0.0 or 192.0.2.1.")
    return host


def check_port(port: int) -> int:
    """A port that one can listen on."""
    if not 1 <= port <= 65535:
        raise InputError(f"port = {port}: must be in 1 to 65535. Try 8000.")
    return port


def is_v6(host: str) -> bool:
    address = _address(host)
    return address is not None and address.version == 6


def location(host: str, port: int) -> str:
    """HOST:PORT, with brackets around an address of version 6."""
    return f"[{host}]:{port}" if is_v6(host) else f"{host}:{port}"


def own_address(bind: str) -> str:
    """Where a server that listens on `bind` is reached from its own machine: loopback if possible."""
    if not ipaddress.ip_address(bind).is_unspecified:
        return bind
    return "::1" if is_v6(bind) else "127.0.0.1"


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a text is, without a zone, which may hold any character."""
    try:
        return None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None
