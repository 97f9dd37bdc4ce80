"""Certificates for the server and keys for the nodes, made on the spot, readable by their owner only."""

import datetime
import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CA_CERTIFICATE, SERVER_CERTIFICATE, SERVER_KEY = "ca.pem", "server.pem", "server.key"
_CURVE = ec.SECP384R1


def node_key(client: int) -> str:
    """The file name of a node's private key; its public key has .pub after it."""
    return f"client-{client}"


def make_keys(folder: Path, clients: int, hosts: Sequence[str], days: int = 365) -> None:
    """Write a CA certificate, the server's certificate and key, and a key pair a node.

    The CA's private key is thrown away: nobody can sign another certificate with it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    authority, server = ec.generate_private_key(_CURVE()), ec.generate_private_key(_CURVE())
    ca = _certificate("bherd federation CA", authority, authority, None, [], days)
    certificate = _certificate(hosts[0], server, authority, ca, hosts, days)
    _write(folder / CA_CERTIFICATE, ca.public_bytes(serialization.Encoding.PEM))
    _write(folder / SERVER_CERTIFICATE, certificate.public_bytes(serialization.Encoding.PEM))
    _write(
        folder / SERVER_KEY,
        server.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
    for client in range(clients):
        make_node_key(folder / node_key(client))


def make_node_key(path: Path) -> None:
    """Write a node's key pair: PATH and PATH.pub, in the OpenSSH formats that Flower reads."""
    key = ec.generate_private_key(_CURVE())
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    _write(path, private)
    _write(path.with_name(path.name + ".pub"), public + b"\n")


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    hosts: Sequence[str],
    days: int,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    is_ca = issuer is None
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=0 if is_ca else None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .add_extension(_usage(is_ca), critical=True)
    )
    if hosts:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False
        )
    return builder.sign(signer, hashes.SHA384())


def _usage(is_ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_ca,
        crl_sign=is_ca,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, from its first byte on."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
