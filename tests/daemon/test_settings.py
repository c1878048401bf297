"""Settings: the environment over the file over the default; a name that nobody knows is refused."""

from __future__ import annotations

import os
from dataclasses import fields
from datetime import timedelta

import pytest

from daemon.settings import Settings, read_settings, settings_rows, settings_table
from pipelines.model.errors import Invalid
from pipelines.model.policy import Policy
from pipelines.model.values import Home


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the person who runs the tests has set is not ours."""
    for name in [name for name in os.environ if name.startswith("NARTHEX_")]:
        monkeypatch.delenv(name)


def test_without_a_file_the_defaults_hold(home: Home) -> None:
    configuration = read_settings(home)
    assert configuration.values.policy() == Policy()
    assert (configuration.values.port, configuration.values.settle_seconds) == (6278, 2.0)
    assert set(configuration.sources.values()) == {"default"}


def test_a_variable_wins_over_the_file_and_the_argument_over_all(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.settings.write_text('port = 7001\nscopes = ["personal", "work"]\nmax_attempts = 5\n', "utf-8")
    monkeypatch.setenv("NARTHEX_PORT", "7002")
    monkeypatch.setenv("NARTHEX_TAG_VOCABULARY", "idea, paper,  ")
    monkeypatch.setenv("NARTHEX_LOG_LEVEL", "")  # set and empty is not set
    configuration = read_settings(home)
    assert configuration.values.port == 7002
    assert configuration.values.policy().scopes == ("personal", "work")
    assert configuration.values.policy().tag_vocabulary == ("idea", "paper")
    found = {key: source for key, source in configuration.sources.items() if source != "default"}
    expected = {"port": "environment", "scopes": "file", "max_attempts": "file", "tag_vocabulary": "environment"}
    assert found == expected
    assert read_settings(home, port=7003).values.port == 7003
    assert read_settings(home, port=7003).sources["port"] == "argument"


@pytest.mark.parametrize(
    ("text", "named", "hint"),
    [
        ("prot = 7000", "prot", "port"),
        ("setle_seconds = 1", "setle_seconds", "settle_seconds"),
        ("port = 70000", "port", ""),
        ("port = true", "port", ""),
        ('drop_mode = "copy"', "drop_mode", ""),
        ('drop_ignore = ["a/*.bak"]', "drop_ignore", ""),
        ("settle_seconds = -1", "settle_seconds", ""),
        ('scopes = ["Personal Things"]', "scopes", ""),
        ('scopes = ["work"]', "default_scope", ""),
        ('notes_folder = "../elsewhere"', "notes_folder", ""),
        ('notes_folder = "/etc"', "notes_folder", ""),
        ('database_url = "mysql://somewhere"', "database_url", ""),
        ('log_level = "loud"', "log_level", ""),
        ("port = ", "narthex.toml", ""),
        ("[drop]\nport = 1", "drop", ""),
    ],
)
def test_what_is_wrong_in_the_file_is_named(home: Home, text: str, named: str, hint: str) -> None:
    home.settings.write_text(text + "\n", "utf-8")
    with pytest.raises(Invalid) as caught:
        read_settings(home)
    assert named in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("PORT", "abc", "NARTHEX_PORT is 'abc'; it must be a whole number from 0 to 65535"),
        ("PORT", "70000", "NARTHEX_PORT is '70000'; it must be a whole number from 0 to 65535"),
        ("SESSION_IDLE_HOURS", "0", "NARTHEX_SESSION_IDLE_HOURS is '0'; it must be a number above 0 to 720"),
        ("LOG_LEVEL", "loud", "NARTHEX_LOG_LEVEL is 'loud'; it must be one of debug, info, warning, error"),
        ("RETRY_DELAYS_SECONDS", "a", "NARTHEX_RETRY_DELAYS_SECONDS is 'a'; it must be a list such as 5, 60, 600"),
        ("SCOPES", "A B", "NARTHEX_SCOPES: a scope is named by small letters, digits, _ and -, not 'A B'"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_allowed(
    home: Home, monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(f"NARTHEX_{name}", value)
    with pytest.raises(Invalid) as caught:
        read_settings(home)
    assert caught.value.message == message
    assert "daemon/README.md" in caught.value.hint


def test_a_file_that_is_not_utf8_is_named(home: Home) -> None:
    home.settings.write_bytes(b'notes_folder = "\xff"\n')
    with pytest.raises(Invalid, match=r"narthex\.toml"):
        read_settings(home)


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("NARTHEX_PROT", "7000", "NARTHEX_PORT"),
        ("NARTHEX_SCOPE", "work", "NARTHEX_SCOPES"),
        ("NARTHEX_ZZZ", "1", "narthex config show"),
    ],
)
def test_an_unknown_variable_is_refused_with_the_nearest_one(
    home: Home, monkeypatch: pytest.MonkeyPatch, name: str, value: str, hint: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(Invalid) as caught:
        read_settings(home)
    assert name in caught.value.message
    assert hint in caught.value.hint


def test_a_wrong_variable_is_named_and_its_value_is_not(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NARTHEX_DATABASE_URL", "mysql://me:secret@host/x")
    with pytest.raises(Invalid) as caught:
        read_settings(home)
    assert "NARTHEX_DATABASE_URL" in caught.value.message
    assert "secret" not in caught.value.message + caught.value.hint


def test_variables_that_are_no_settings_are_left_alone(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NARTHEX_HOME", "NARTHEX_TOKEN", "NARTHEX_TEST_REQUIRE"):
        monkeypatch.setenv(name, "anything")
    read_settings(home)


def test_the_table_shows_every_setting_and_no_secret(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NARTHEX_DATABASE_URL", "postgresql://me:secret@host/x")
    table = settings_table(read_settings(home))
    assert [setting.key for setting in table] == list(Settings.model_fields)
    shown = {setting.key: (setting.value, setting.source) for setting in table}
    assert shown["database_url"] == ("set", "environment")
    assert shown["scopes"] == ("personal", "default")
    assert "secret" not in str(table)


def test_every_limit_of_the_policy_comes_from_a_setting(home: Home) -> None:  # L-057: declared means written
    home.settings.write_text(
        "max_original_bytes = 11\nmax_text_bytes = 12\nlease_seconds = 13\nmax_attempts = 14\n"
        "pending_per_producer = 15\n"
        'retry_delays_seconds = [16]\nscopes = ["a"]\ndefault_scope = "a"\nnotes_folder = "B/C"\n'
        'tag_vocabulary = ["d"]\n'
        "session_idle_hours = 17\ncode_lifetime_minutes = 18\ncode_tries = 19\n",
        "utf-8",
    )
    policy = read_settings(home).values.policy()
    assert all(getattr(policy, field.name) != getattr(Policy(), field.name) for field in fields(Policy))
    assert policy.lease == timedelta(seconds=13)


def test_every_setting_is_explained() -> None:
    for key, variable, default, meaning in settings_rows():
        assert variable == f"NARTHEX_{key.upper()}"
        assert default
        assert meaning
