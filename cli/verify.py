"""`graphfix verify`: a script of the user's, or the fixtures."""

from __future__ import annotations

from graphfix.cli.options import Options


def run(options: Options) -> int:
    """Hand over to the half that is asked for, and give its exit code."""
    if options.words:
        from graphfix.cli import verify_script
        from graphfix.cli.effective_options import settled

        return verify_script.run(settled(options))
    from graphfix.cli import verify_fixtures

    return verify_fixtures.run(options)
