"""The yard of each file of fault tests, and the service that runs on it through the proxy."""

from collections.abc import Iterator

import pytest

from tests.faults.yard import Up, Yard, opened_yard, start_up


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """A Redis with a proxy before it."""
    with opened_yard(tmp_path_factory.mktemp("redis")) as yard:
        yield yard


@pytest.fixture(scope="module")
def up(yard: Yard, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """`blockyard up` with two playing processes, which reach Redis through the proxy."""
    up = start_up(tmp_path_factory.mktemp("up"), redis_url=yard.proxy.url)
    yield up
    yard.proxy.clear()
    yard.proxy.mend()
    up.stop()
