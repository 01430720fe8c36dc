"""Pages and their files are sent compressed to whoever can read that: a page is mostly repeated markup, and shrinks to a tenth.

What is sent in parts is compressed part by part, so that each arrives when it is sent. Event streams and the API's answers
stay as they are: hundreds may listen to the same fragment, and programs ask for speed rather than for few bytes.

That lengths tell something of a page's secrets to whoever can make a browser ask for pages of their choice (BREACH) needs
requests from elsewhere that carry the session; its cookie is SameSite=Strict.
"""

from typing import Final

from fastapi import FastAPI
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware

NOT_COMPRESSED: Final = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/*", "text/plain", "text/csv")
LEVEL: Final = 5
LEAST_BYTES: Final = 1000
"""Shorter bodies fit one packet anyway."""


def compress_pages(app: FastAPI) -> None:
    """Send pages, style sheets, scripts and drawings compressed where that is asked for."""
    app.add_middleware(
        GZipMiddleware, minimum_size=LEAST_BYTES, compresslevel=LEVEL, exclude_content_types=NOT_COMPRESSED
    )
