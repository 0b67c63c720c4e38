import { z } from 'zod';
import { EVENT_TYPES } from '../../../src/delivery/webhooks/index.ts';
import { describeMcp } from '../../mcp/catalog.ts';
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

/** What the documents of this API are made of, beside its routes. */
export const described: Described = { shapes, events, mcp: { ...describeMcp() } };
