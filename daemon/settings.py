"""The one reader of narthex.toml and of the NARTHEX_ variables; answers frozen values and never writes any.

A variable wins over the file, the file over the default. A name that nobody knows is refused, with the nearest one
known: a misspelt limit must not be a limit that silently does not hold.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from api.ports import Setting
from pipelines.model.errors import Invalid
from pipelines.model.policy import Policy
from pipelines.model.values import Home

_PREFIX: Final = "NARTHEX_"
_NOT_SETTINGS: Final = frozenset({"NARTHEX_HOME", "NARTHEX_TOKEN"})  # which home; the command line's credential
_TEST_PREFIX: Final = "NARTHEX_TEST_"
_SCOPE: Final = re.compile(r"^[a-z0-9][a-z0-9_-]{0,39}$")
_SECRET: Final = frozenset({"database_url"})
_LISTED: Final = "All settings: 'narthex config show', or daemon/README.md."
_NEAR: Final = 0.7  # less alike, a suggestion misleads
_KINDS: Final = {"integer": "a whole number", "number": "a number"}
_BOUNDS: Final = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to"}  # as JSON Schema calls them
_POLICY: Final = Policy()


def _split(value: object) -> object:
    """A variable holds a list as words between commas."""
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    return value


Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Seconds = Annotated[tuple[float, ...], NoDecode, BeforeValidator(_split)]


class Settings(BaseSettings):
    """Every setting, its default and its meaning. Sizes are bytes; the unit of a time is in its name."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, env_ignore_empty=True, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    port: int = Field(6278, ge=0, le=65535, description="TCP port on 127.0.0.1; 0 takes a free one and prints it")
    database_url: SecretStr | None = Field(
        None, description="`postgresql://…` to keep the state there, not in state.db"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="what is written to stderr; `debug` adds a line for each request"
    )
    scopes: Words = Field(_POLICY.scopes, min_length=1, description="whose memories there are")
    default_scope: str = Field(_POLICY.default_scope, description="scope of a capture that names none")
    notes_folder: str = Field(_POLICY.notes_folder, description="folder of the vault for new memories")
    tag_vocabulary: Words = Field(_POLICY.tag_vocabulary, description="tags that a proposal may use by itself")
    settle_seconds: float = Field(2.0, ge=0.05, le=3600, description="how long a dropped file must be unchanged")
    rescan_seconds: float = Field(60.0, ge=0.5, le=86400, description="how often the drop folder is listed")
    drop_mode: Literal["move", "keep"] = Field(
        "move", description="what becomes of a dropped file once it is safe: moved into `_done`, or kept where it lies"
    )
    drop_ignore: Words = Field(
        (), description="globs of file and folder names to leave alone, besides the built-in list"
    )
    extraction_workers: int = Field(1, ge=1, le=16, description="child processes that read files")
    max_original_bytes: int = Field(_POLICY.max_original_bytes, ge=1, description="largest file that is taken in")
    max_text_bytes: int = Field(_POLICY.max_text_bytes, ge=1, description="largest text that is taken in")
    lease_seconds: float = Field(_POLICY.lease.total_seconds(), ge=1, description="when a step counts as lost")
    max_attempts: int = Field(
        _POLICY.max_attempts, ge=1, le=100, description="tries of a step before a person is asked"
    )
    retry_delays_seconds: Seconds = Field(
        tuple(delay.total_seconds() for delay in _POLICY.retry_delays),
        min_length=1,
        description="waits between the tries; the last one repeats",
    )
    pending_per_producer: int = Field(
        _POLICY.pending_per_producer, ge=1, description="proposals that one agent may have waiting"
    )
    session_idle_hours: float = Field(
        _POLICY.session_idle / timedelta(hours=1), gt=0, le=720, description="an owner session ends after this pause"
    )
    code_lifetime_minutes: float = Field(
        _POLICY.code_lifetime / timedelta(minutes=1), gt=0, le=1440, description="how long a one-time code works"
    )
    code_tries: int = Field(_POLICY.code_tries, ge=1, le=100, description="wrong codes a minute that one door answers")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The file comes in as arguments; the environment stands above it. No .env file is ever read."""
        return env_settings, init_settings

    @field_validator("scopes")
    @classmethod
    def _scope_names(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        wrong = [scope for scope in scopes if not _SCOPE.match(scope)]
        if wrong:
            raise ValueError(f"a scope is named by small letters, digits, _ and -, not {wrong[0][:40]!r}")
        return tuple(dict.fromkeys(scopes))

    @field_validator("drop_ignore")
    @classmethod
    def _of_names(cls, globs: tuple[str, ...]) -> tuple[str, ...]:
        wrong = [glob for glob in globs if "/" in glob or not glob.strip()]
        if wrong:
            raise ValueError(f"a glob is for a name, such as *.bak, not for a path like {wrong[0][:40]!r}")
        return globs

    @field_validator("notes_folder")
    @classmethod
    def _inside_the_vault(cls, folder: str) -> str:
        parts = PurePosixPath(folder).parts
        if not parts or folder.startswith("/") or any(part.startswith(".") for part in parts) or "\\" in folder:
            raise ValueError("it must be a folder inside the vault, such as Notes")
        return "/".join(parts)

    @field_validator("database_url")
    @classmethod
    def _known_engine(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(("postgresql://", "postgresql+psycopg://")):
            raise ValueError("it must start with postgresql:// (SQLite needs no setting)")
        return url

    @model_validator(mode="after")
    def _default_is_declared(self) -> Settings:
        if self.default_scope not in self.scopes:
            raise ValueError(f"default_scope is {self.default_scope[:40]!r}, which is not one of the scopes")
        return self

    def policy(self) -> Policy:
        """The limits that the product decides by."""
        return Policy(
            max_original_bytes=self.max_original_bytes,
            max_text_bytes=self.max_text_bytes,
            lease=timedelta(seconds=self.lease_seconds),
            max_attempts=self.max_attempts,
            retry_delays=tuple(timedelta(seconds=seconds) for seconds in self.retry_delays_seconds),
            pending_per_producer=self.pending_per_producer,
            scopes=self.scopes,
            default_scope=self.default_scope,
            notes_folder=self.notes_folder,
            tag_vocabulary=self.tag_vocabulary,
            session_idle=timedelta(hours=self.session_idle_hours),
            code_lifetime=timedelta(minutes=self.code_lifetime_minutes),
            code_tries=self.code_tries,
        )


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings of one home, and for each key where its value comes from: default, file, environment or argument."""

    home: Home
    values: Settings
    sources: Mapping[str, str]


def read_settings(home: Home, port: int | None = None) -> Configuration:
    """What holds for this home now; ``port``, if given, wins over all.

    Raises ``Invalid``, which names the key and, for a wrong name, the nearest one.
    """
    in_file = _read_file(home.settings)
    _refuse_unknown(in_file, home.settings.name)
    for key, value in in_file.items():
        if isinstance(value, bool):  # pydantic would take true for 1
            raise Invalid(f"{key} is {str(value).lower()}; {_wanted(key)}", hint=_LISTED)
    variables = {name: value for name, value in os.environ.items() if name.upper().startswith(_PREFIX)}
    _refuse_unknown_variables(variables)
    in_environment = {name.upper().removeprefix(_PREFIX).lower() for name, value in variables.items() if value}
    sources = {
        key: "environment" if key in in_environment else "file" if key in in_file else "default"
        for key in Settings.model_fields
    }
    try:
        values = Settings(**in_file)  # type: ignore[arg-type]  # pydantic checks them, and names the one that is wrong
    except ValidationError as error:
        raise Invalid(_first_problem(error, sources), hint=_LISTED) from error
    if port is not None:
        if not 0 <= port <= 65535:
            raise Invalid(f"--port is {port}; {_wanted('port')}", hint="narthexd --help")
        values, sources["port"] = values.model_copy(update={"port": port}), "argument"
    return Configuration(home, values, sources)


def settings_table(configuration: Configuration) -> Sequence[Setting]:
    """All settings in their order, for ``GET /v1/settings``; a secret shows only whether it is set."""
    return tuple(
        Setting(key, _shown(getattr(configuration.values, key), key), configuration.sources[key])
        for key in Settings.model_fields
    )


def settings_rows() -> Sequence[tuple[str, str, str, str]]:
    """Key, variable, default and meaning of every setting: the table in ``daemon/README.md`` is made from these."""
    return tuple(
        (key, _PREFIX + key.upper(), _shown(field.default, key), field.description or "")
        for key, field in Settings.model_fields.items()
    )


def _shown(value: object, key: str) -> str:
    if key == "database_url":
        return "not set" if value is None else "set"
    if isinstance(value, tuple):
        return ", ".join(f"{word:g}" if isinstance(word, float) else str(word) for word in value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _read_file(path: Path) -> dict[str, object]:
    try:
        text = path.read_bytes().decode("utf-8")
        return tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} is not valid TOML: {error}") from error


def _refuse_unknown(names: Iterable[str], file_name: str) -> None:
    for name in names:
        if name not in Settings.model_fields:
            raise Invalid(f"{file_name} has the key {name[:60]!r}, which no setting has", hint=_suggestion(name))


def _refuse_unknown_variables(names: Iterable[str]) -> None:
    for name in names:
        key = name.upper().removeprefix(_PREFIX).lower()
        if key in Settings.model_fields or name in _NOT_SETTINGS or name.startswith(_TEST_PREFIX):
            continue
        raise Invalid(
            f"the environment has {name[:60]!r}, which is no setting",
            hint=_suggestion(key, lambda key: _PREFIX + key.upper()),
        )


def _suggestion(key: str, spelled: Callable[[str], str] = str) -> str:
    near = difflib.get_close_matches(key, Settings.model_fields, n=1, cutoff=_NEAR)
    return f"Did you mean {spelled(near[0])}?" if near else _LISTED


def _first_problem(error: ValidationError, sources: Mapping[str, str]) -> str:
    first = error.errors(include_url=False)[0]
    said = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:
        return said
    key = str(first["loc"][0])
    name = _PREFIX + key.upper() if sources.get(key) == "environment" else key
    if first["type"] == "value_error":
        return f"{name}: {said}"
    value = "" if key in _SECRET else f" is {str(first['input'])[:60]!r}"
    return f"{name}{value}; {_wanted(key)}"


def _wanted(key: str) -> str:
    """What a value of this setting has to be, in words."""
    schema = Settings.model_json_schema()["properties"][key]
    if "enum" in schema:
        return f"it must be one of {', '.join(schema['enum'])}"
    if schema.get("type") == "array":
        return f"it must be a list such as {_shown(Settings.model_fields[key].default, key)}"
    kind = _KINDS.get(schema.get("type", ""), "a text")
    bounds = (f" {word} {schema[bound]:g}" for bound, word in _BOUNDS.items() if bound in schema)
    return f"it must be {kind}{''.join(bounds)}"
