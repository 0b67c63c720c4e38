import { z } from 'zod';
import { EVENT_TYPES } from '../../../src/delivery/webhooks/index.ts';
import { SURFACES } from '../../../src/oauth-server/index.ts';
import { schemasOf } from '../../mcp/catalog.ts';
import { tools } from '../../mcp/tools.ts';
import type { Described, Shapes, WebhookEvent } from '../../http/openapi/index.ts';
import { shapeModules } from '../shapes.gen.ts';
import { webhookBodies } from '../webhooks/events.shape.ts';

/** Every schema of a `shape.ts`, by the name of its export. */
const shapes: Shapes = Object.fromEntries(
  shapeModules.flatMap((module) =>
    Object.entries(module).filter((entry): entry is [string, z.ZodType] => entry[1] instanceof z.ZodType),
  ),
);

const PING = { event: 'ping', description: 'Somebody tests a webhook.' };
const events: WebhookEvent[] = [...EVENT_TYPES, PING].flatMap(({ event, description }) => {
  const body = webhookBodies[event];
  return body ? [{ event, description, body }] : [];
});

/** The surfaces of MCP with their tools, for programs that read the document (`x-mcp`). */
const mcp = {
  surfaces: SURFACES.map((name) => ({ name, path: `/${name}` })),
  tools: tools.map((tool) => {
    const { name, alias, title, description, surfaces, scope, permission } = tool;
    return { name, alias, title, description, surfaces, scope, permission, ...schemasOf(tool) };
  }),
};

/** What the documents of this API are made of, beside its routes. */
export const described: Described = { shapes, events, mcp };
