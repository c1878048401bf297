"""Brings a database to this version's schema, forward only; refuses one that a newer narthex wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Engine, inspect, text

from pipelines.model.errors import Refused

_VERSIONS: Final = Path(__file__).parent / "migrations" / "versions"


class SchemaTooNew(Refused):
    """The database carries a schema that this version does not know."""

    code = "schema-too-new"
    title = "A newer narthex wrote this database"


def known_versions() -> list[str]:
    """The numbers of the migrations here, in order: ``0001``, ``0002`` …"""
    return sorted(path.name.partition("_")[0] for path in _VERSIONS.glob("[0-9]*.py"))


def stored_version(engine: Engine) -> str | None:
    """The schema the database carries; None when it is empty."""
    with engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        return None if version is None else str(version)


def migrate(engine: Engine) -> None:
    """All missing migrations in one transaction, so that a crash leaves the old schema or the new, nothing between."""
    known = known_versions()
    stored = stored_version(engine)
    if stored == known[-1]:
        return
    if stored is not None and stored not in known:
        raise SchemaTooNew(
            f"the database has schema {stored}, this version knows up to {known[-1]}",
            hint="install the newer narthex again, or restore a backup made by this one",
        )
    from alembic import command  # 0.7 s to import: only when there is something to do
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_VERSIONS.parent))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
