import { surfaceRoute } from '../../mcp/routes.ts';

export default [surfaceRoute('/media-mcp', 'media-mcp', 'Send messages to the MCP server for media')];
