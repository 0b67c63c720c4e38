import { surfaceRoute } from './handlers.ts';

export default [
  surfaceRoute('/mcp', 'mcp', 'Send messages to the MCP server for publishing'),
  surfaceRoute('/mcp/:id', 'mcp', 'Send messages to the MCP server by a named path'),
];
