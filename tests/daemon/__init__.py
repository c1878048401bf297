"""Tests of the process: settings, lock, watched folders, schedule."""
