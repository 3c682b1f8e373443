//! Elicitation fixture: a hotel behind an MCP server that asks how many rooms, in the old or the
//! new protocol.

use haft_testkit::Folder;

/// A server small enough for a shell. It gives back what it was told.
const SERVER: &str = r#"#!/bin/sh
form='{"mode":"form","message":"How many rooms?","requestedSchema":{"type":"object","required":["count"],"properties":{"count":{"type":"integer","minimum":1},"breakfast":{"type":"boolean","default":false}}}}'
say() { printf '%s\n' "$1"; }
end() {
  case "$2" in
    *'"action":"accept"'*) say '{"jsonrpc":"2.0","id":'"$1"',"result":{"resultType":"complete","content":[],"structuredContent":{"told":'"$2"'}}}' ;;
    *) say '{"jsonrpc":"2.0","id":'"$1"',"result":{"resultType":"complete","isError":true,"content":[{"type":"text","text":"no room was booked"}]}}' ;;
  esac
}
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case "$1 $line" in
    *'"id":"q1"'*) told=${line#*\"result\":}; end "$call" "${told%\}}" ;;
    'modern '*'"server/discover"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"hotel","version":"1"}}}}' ;;
    'legacy '*'"initialize"'*) able=$line; say '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"hotel","version":"1"}}}' ;;
    *'"tools/list"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":{"resultType":"complete","tools":[{"name":"book","description":"Books.","inputSchema":{"type":"object"}}]}}' ;;
    'modern '*'"inputResponses":'*) told=${line#*\"inputResponses\":\{\"q\":}; end "$id" "${told%%\},\"requestState\"*}" ;;
    'modern '*'"tools/call"'*'"elicitation":{"form"'* | 'modern '*'"elicitation":{"form"'*'"tools/call"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":{"resultType":"input_required","requestState":"s","inputRequests":{"q":{"method":"elicitation/create","params":'"$form"'}}}}' ;;
    'legacy '*'"tools/call"'*)
      call=$id
      case "$able" in
        *'"elicitation":{"form"'*) say '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":'"$form"'}' ;;
        *) end "$id" nobody ;;
      esac ;;
    *'"tools/call"'*) end "$id" nobody ;;
    *'"notifications/'*) ;;
    *) say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"no"}}' ;;
  esac
done
"#;

/// The workspace, with more of its settings.
pub(crate) fn hotel(era: &str, settings: &str) -> Folder {
    let contract = "---\nname: Book\nid: book\ndescription: Books a room.\nversion: 1.0.0\nmutates: []\n\
        risk_level: 0\napproval: auto\ninputs: { type: object }\noutputs: { type: object }\n---\n";
    let driver = format!(
        "---\nname: Hotel\nid: hotel\ndescription: A hotel.\nversion: 1.0.0\nkind: mcp\n\
         server: {{ kind: binary, path: /bin/sh, args: [./server.sh, {era}] }}\ntransport: stdio\n\
         implements:\n  - {{ tool: book, version: ^1, metadata: {{ mcp: {{ tool_name: book }} }} }}\n---\n"
    );
    Folder::new()
        .file("haft.toml", settings)
        .file("server.sh", SERVER)
        .file(".tools/book/TOOL.md", contract)
        .file(".drivers/hotel/DRIVER.md", driver)
}
