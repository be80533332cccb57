"""`serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from jurybox.cli.options import STRESS

if TYPE_CHECKING:
    from jurybox.web import Serving


@click.command()
@click.argument("run", metavar="RUN.db")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen. Beyond this machine: --token.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8642, show_default=True, help="0 takes any that is free."
)
@click.option(
    "--token",
    envvar="JURYBOX_TOKEN",
    metavar="SECRET",
    help="Ask visitors for this, 12 characters or more. Also JURYBOX_TOKEN, which others do not see in `ps`.",
)
@STRESS
@click.option("--open", "open_page", is_flag=True, help="Open the page in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON when the page can be opened.")
def serve(
    run: str, host: str, port: int, token: str | None, stress: str | None, open_page: bool, as_json: bool
) -> None:
    """Look at a run in the browser: read, filter, compare, annotate; it follows a run that is under way.

    Ends with Ctrl-C. Nothing is lost then: ratings are on the disk one by one.
    """
    from jurybox.web import serve as serve_run

    def ready(found: Serving) -> None:
        if as_json:
            from jurybox.cli.looking import print_json

            print_json({"run": found.run, "url": found.url, "token": found.token})
        else:
            click.echo(f"{found.run}: {found.url}\nCtrl-C ends it.", err=False)
        if found.token:
            click.echo("The page asks for the token.", err=True)
        if open_page:
            click.launch(found.url)

    serve_run(run, host=host, port=port, token=token, stress=stress, ready=ready)
