"""The plugin that the guide and `check_plugin` take as their example."""

from __future__ import annotations

from agentfp import Run, tool
from agentfp.plugin import CallView, Deny, Plugin, hookimpl


class OfficeHours(Plugin):
    """Tools that change something run in office hours only."""

    name = "office_hours"

    class Settings(Plugin.Settings):
        opens: int = 9
        closes: int = 17

    @hookimpl(phase="authorize")
    def before_tool(self, call: CallView, run: Run) -> Deny | None:
        if call.mutating and not self.settings.opens <= run.clock.now().hour < self.settings.closes:
            return Deny("changes are made in office hours only", tell_model="Not possible at this hour.")
        return None


@tool(mutating=True)
def shut_port(port: int) -> str:
    """Shut a port."""
    return f"port {port} is shut"


@tool
async def port_status(switch: str) -> str:
    """Ports of a switch."""
    return f"ports of {switch}: 1 up, 3 down"
