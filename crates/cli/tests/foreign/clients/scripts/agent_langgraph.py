"""An agent of LangGraph, by the adapters of LangChain."""

import asyncio

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langgraph.prebuilt import create_react_agent

from plan import move
from talk import SERVER, tell


def connection():
    if "url" in SERVER:
        return {"transport": "streamable_http", "url": SERVER["url"]}
    command, *rest = SERVER["command"]
    return {"transport": "stdio", "command": command, "args": rest, "env": SERVER["env"]}


def text(content):
    """A content is a text, or a list of blocks of which the first has one."""
    return content if isinstance(content, str) else content[0]["text"]


class Scripted(BaseChatModel):
    names: list[str] = []

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **more):
        return Scripted(names=[tool.name for tool in tools])

    def _generate(self, messages, *rest, **more):
        heard = [text(said.content) for said in messages if isinstance(said, ToolMessage)]
        name, said = move(self.names, heard)
        if name:
            call = {"name": name, "args": said, "id": f"call-{len(heard)}"}
            message = AIMessage(content="", tool_calls=[call])
        else:
            message = AIMessage(content=said)
        return ChatResult(generations=[ChatGeneration(message=message)])


async def main():
    client = MultiServerMCPClient({"haft": connection()})
    # In a session of their own for each call, nothing that one of them loads would be there for the next.
    async with client.session("haft") as session:
        agent = create_react_agent(Scripted(), await load_mcp_tools(session))
        ended = await agent.ainvoke({"messages": [("user", "Do what the note says.")]})
    tell("said", ended["messages"][-1].content)


asyncio.run(main())
