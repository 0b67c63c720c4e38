import { surfaceRoute } from '../mcp/handlers.ts';

export default [surfaceRoute('/media-mcp', 'media-mcp', 'Send messages to the MCP server for media')];
