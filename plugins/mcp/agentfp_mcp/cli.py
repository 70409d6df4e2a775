"""``agentfp mcp-serve``: an agent's tools, or the agent itself, for MCP clients."""

from __future__ import annotations

import hmac
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentfp.commands import (
    AgentName,
    Code,
    CommandError,
    ConfigFile,
    DepsPath,
    Json,
    ModelName,
    Overlay,
    data,
    deps_of,
    find_agent,
    note,
    say,
)

if TYPE_CHECKING:
    from agentfp import Agent, Identity

app = typer.Typer(add_completion=False)


@app.command()
def mcp_serve(
    target: Annotated[str | None, typer.Argument(metavar="[AGENT]", help="An agent in code: app.agents:support.")] = None,
    config: ConfigFile = None,
    agent: AgentName = None,
    env: Overlay = None,
    model: ModelName = None,
    deps: DepsPath = None,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP; over stdin and stdout when left out.")] = False,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; any free one when 0.", min=0, max=65_535)] = 8_000,
    path: Annotated[str, typer.Option(help="The path of the address.")] = "/mcp",
    token_env: Annotated[
        str | None, typer.Option(help="A variable of the environment with the bearer token that clients must send.", metavar="NAME")
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Serve a host that others can reach without a token.")] = False,
    allowed_host: Annotated[
        list[str] | None, typer.Option(help="What clients may call this host, as NAME:PORT or NAME:*. Once for each.", metavar="HOST")
    ] = None,
    tool: Annotated[list[str] | None, typer.Option(help="Offer this tool. Once for each; all when left out.", metavar="NAME")] = None,
    as_agent: Annotated[bool, typer.Option("--as-agent", help="Offer one tool that asks the agent itself.")] = False,
    approvals: Annotated[str, typer.Option(help="refuse tools that ask for approval, or elicit: ask the client's person.")] = "refuse",
    only_list: Annotated[bool, typer.Option("--list", help="Show what would be offered, and end.")] = False,
    as_json: Json = False,
) -> None:
    """Serve an agent's tools, or the agent itself, to MCP clients.

    Over stdin and stdout unless --http is given; then stdout belongs to the protocol. Each call is a run under the agent's
    plugins. With --http --json, a line with address and tools is printed when it is ready.
    """
    import anyio

    if approvals not in ("refuse", "elicit"):
        raise CommandError(f"--approvals is refuse or elicit, got {approvals!r}")
    if as_json and not http and not only_list:
        raise CommandError("--json goes with --http or --list; on stdin and stdout, stdout belongs to the protocol")
    if as_agent and tool:
        raise CommandError("--tool chooses among the agent's tools; with --as-agent there is one, the agent")
    overrides: dict[str, Any] = {} if model is None else {"model": model}
    if not as_agent and target is None and model is None:
        from agentfp_mcp.offering import OneCall

        overrides["model"] = OneCall("", {})  # none is called, so none has to be installed
    found = find_agent(target, config=config, agent=agent, env=env, overrides=overrides)
    options: dict[str, Any] = {
        "tools": tool, "as_agent": as_agent, "approvals": approvals, "host": host, "port": port, "path": path, "public": public,
        "allowed_hosts": allowed_host or (), "transport": "http" if http else "stdio", "verify": _verifier(token_env),
    }  # fmt: skip
    try:
        if only_list:
            anyio.run(_list, found, options, deps, as_json)
        else:
            anyio.run(_serve, found, options, deps, as_json)
    except KeyboardInterrupt:
        if not http:  # a thread waits for the next line of stdin, and nothing wakes it
            sys.stderr.flush()
            os._exit(Code.INTERRUPTED)
        raise


def _verifier(variable: str | None) -> Any:
    if variable is None:
        return None
    token = os.environ.get(variable, "")
    if not token:
        raise CommandError(f"--token-env: the variable {variable!r} is not set")

    def verify(given: str) -> Identity | None:
        from agentfp import Identity

        return Identity(principal="mcp-client") if hmac.compare_digest(given.encode(), token.encode()) else None

    return verify


async def _serve(agent: Agent[Any, Any], options: dict[str, Any], deps: str | None, as_json: bool) -> None:
    from agentfp_mcp.serving import serve

    async with deps_of(deps) as made, serve(agent, deps=made, **options) as serving:
        if options["transport"] == "http":
            if as_json:
                data({"address": serving.address, "port": serving.port, "tools": list(serving.tool_names)}, lines=True)
            else:
                note(f"{len(serving.tool_names)} tools at {serving.address} (Ctrl-C ends it)")
        await serving.wait()


async def _list(agent: Agent[Any, Any], options: dict[str, Any], deps: str | None, as_json: bool) -> None:
    from agentfp_mcp.offering import choose

    async with deps_of(deps) as made:
        asked = options["approvals"] == "elicit"
        found = await choose(agent, allow=options["tools"], as_agent=options["as_agent"], approvals=asked, deps=made)
    if as_json:
        data([{"name": o.spec.name, "description": o.spec.description, "parameters": o.spec.parameters} for o in found.values()])
        return
    for offer in found.values():
        say(f"{offer.spec.name}  {offer.spec.description.split(chr(10))[0]}")
