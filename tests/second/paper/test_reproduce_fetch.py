"""Fetching: nothing half-written or wrong is ever used, and every failure says what to do."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from polyjudge.second.paper import inputs as sources
from polyjudge.second.paper.fetch import COMMIT, FILES, FetchError, fetch
from refusals import refused


class Server(http.server.ThreadingHTTPServer):
    """Serves `body` for every path; `cut` closes the connection after that many bytes; counts requests."""

    body = b""
    cut: int | None = None
    status = 200
    paths: list[str]


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body[: self.server.cut])
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.paths = []
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server
        server.shutdown()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POLYJUDGE_CACHE", str(tmp_path / "cache"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"


def address(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}"


def files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*") if p.is_file())


def test_a_good_file_is_fetched_once(server: Server, cache: Path, devai_like_path: Path) -> None:
    server.body = devai_like_path.read_bytes()
    path = fetch("devai", sources.devai_panel, source=address(server))
    assert path.read_bytes() == server.body
    assert server.paths == [f"/{COMMIT}/{FILES['devai']}"]
    assert fetch("devai", sources.devai_panel, source=address(server)) == path
    assert len(server.paths) == 1


def test_a_damaged_copy_in_the_cache_is_fetched_again(server: Server, cache: Path, devai_like_path: Path) -> None:
    server.body = devai_like_path.read_bytes()
    path = fetch("devai", sources.devai_panel, source=address(server))
    path.write_bytes(server.body[:-1000])
    assert fetch("devai", sources.devai_panel, source=address(server)).read_bytes() == server.body
    assert len(server.paths) == 2


@pytest.mark.parametrize("cut", [0, 1000, 400_000])
def test_a_cut_download_leaves_nothing(server: Server, cache: Path, devai_like_path: Path, cut: int) -> None:
    server.body, server.cut = devai_like_path.read_bytes(), cut
    with refused(FetchError, "run_level_scores.csv", "polyjudge paper reproduce devai --data FILE"):
        fetch("devai", sources.devai_panel, source=address(server))
    assert files(cache) == []


def test_a_short_file_that_arrived_whole_leaves_nothing(server: Server, cache: Path, devai_like_path: Path) -> None:
    lines = devai_like_path.read_bytes().splitlines(keepends=True)
    server.body = b"".join(lines[:5000])
    with refused(FetchError, "run_level_scores.csv", "judges"):
        fetch("devai", sources.devai_panel, source=address(server))
    assert files(cache) == []


def test_a_file_of_another_commit_is_refused(server: Server, cache: Path, devai_like_path: Path) -> None:
    """Same shape and labels, other scores."""
    text = devai_like_path.read_text()
    server.body = re.sub(r",[0-9.]+,([01])\n", r",55.5,\1\n", text, count=1).encode()
    assert server.body != text.encode()
    with refused(FetchError, "run_level_scores.csv", 48, "English x GPT-4o"):
        fetch("devai", sources.devai_panel, source=address(server), commit="0" * 40)
    assert files(cache) == []


def test_an_unknown_commit_says_what_the_server_answered(server: Server, cache: Path) -> None:
    server.status = 404
    with refused(FetchError, 404, "pilot_complete_panel.csv", "--data FILE"):
        fetch("mrewardbench", sources.mrewardbench_panel, source=address(server), commit="f" * 40)
    assert files(cache) == []


def test_no_network(cache: Path) -> None:
    with refused(FetchError, "run_level_scores.csv", "ConnectionError", "polyjudge paper reproduce devai --data FILE"):
        fetch("devai", sources.devai_panel, source="http://127.0.0.1:9")
    assert files(cache) == []
