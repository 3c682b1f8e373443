"""An agent of pydantic-ai."""

import asyncio

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import (
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import FunctionModel

from plan import move
from talk import SERVER, tell


def server():
    if "url" in SERVER:
        return SERVER["url"]
    command, *rest = SERVER["command"]
    return StdioTransport(command=command, args=rest, env=SERVER["env"])


def model(messages, info):
    parts = [part for message in messages for part in message.parts]
    heard = [part.content for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart)]
    name, said = move([tool.name for tool in info.function_tools], heard)
    part = ToolCallPart(tool_name=name, args=said) if name else TextPart(said)
    return ModelResponse(parts=[part])


async def main():
    agent = Agent(FunctionModel(model), toolsets=[MCPToolset(server())])
    async with agent:
        tell("said", (await agent.run("Do what the note says.")).output)


asyncio.run(main())
