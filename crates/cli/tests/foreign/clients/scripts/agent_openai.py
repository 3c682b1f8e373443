"""An agent of the OpenAI Agents SDK."""

import asyncio
import json

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from plan import move
from talk import SERVER, tell

set_tracing_disabled(True)


def server():
    if "url" in SERVER:
        return MCPServerStreamableHttp({"url": SERVER["url"]})
    command, *rest = SERVER["command"]
    return MCPServerStdio({"command": command, "args": rest, "env": SERVER["env"]})


def text(output):
    """An output is a text, or an item that has one."""
    item = output[0] if isinstance(output, list) else output
    return item["text"] if isinstance(item, dict) else item


class Scripted(Model):
    async def get_response(self, *, input, tools, **more):
        items = input if isinstance(input, list) else []
        kinds = [item for item in items if item.get("type") == "function_call_output"]
        heard = [text(item["output"]) for item in kinds]
        name, said = move([tool.name for tool in tools], heard)
        if name:
            output = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"call-{len(heard)}",
                name=name,
                arguments=json.dumps(said),
            )
        else:
            part = ResponseOutputText(type="output_text", text=said, annotations=[])
            output = ResponseOutputMessage(
                id="last", type="message", role="assistant", status="completed", content=[part]
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *rest, **more):
        raise NotImplementedError


async def main():
    async with server() as reached:
        agent = Agent(name="Clerk", model=Scripted(), mcp_servers=[reached])
        tell("said", (await Runner.run(agent, "Do what the note says.")).final_output)


asyncio.run(main())
