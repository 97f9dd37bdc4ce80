"""One HTML file: markup, style, script and data, with no need of anything else.

Everything that comes from users travels as JSON in a data block, which the browser does not run, and
is put on the page as text. The content security policy names the page's own script and style by
their hashes and allows no connection.
"""

import base64
import hashlib
import html
import json
from dataclasses import asdict
from importlib import resources
from pathlib import Path

from bherd.errors import InputError
from bherd.report.payload import Payload
from bherd.runs.files import write_atomically

STYLES = ("base.css", "parts.css")
SCRIPTS = (
    "dom.js",
    "data.js",
    "statistics.js",
    "format.js",
    "scale.js",
    "tip.js",
    "layout.js",
    "chart.js",
    "export.js",
    "methods.js",
    "curves.js",
    "table.js",
    "heatmap.js",
    "herd.js",
    "inside.js",
    "federation.js",
    "provenance.js",
    "main.js",
)


def write_report(payload: Payload, output: Path) -> Path:
    """Write the report; the folder is made if it is missing."""
    content = page(payload).encode("utf-8")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(output, content)
    except OSError as error:
        raise InputError(f"cannot write the report to {output}: {error.strerror}") from error
    return output


def page(payload: Payload) -> str:
    """The whole page as text."""
    style = "\n".join(_asset(name) for name in STYLES)
    script = '"use strict";\n(() => {\n' + "\n".join(_asset(name) for name in SCRIPTS) + "\n})();\n"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    head, body = _asset("page.html").split("<!-- split -->")
    filled = head.replace("{{policy}}", policy).replace("{{title}}", html.escape(payload.title))
    return (
        f"{filled}<style>{style}</style>\n{body}"
        f'<script type="application/json" id="report-data">{embedded(payload)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def embedded(payload: Payload) -> str:
    """The payload as JSON that cannot end its script element, whatever strings are in it."""
    text = json.dumps(asdict(payload), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _asset(name: str) -> str:
    return (resources.files("bherd.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
