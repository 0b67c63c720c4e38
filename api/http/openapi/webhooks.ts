import type { z } from 'zod';
import { exampleOf } from './examples.ts';
import type { Json, Schemas } from './schemas.ts';

/** An event that webhooks are told of, and the body of its delivery. */
export interface WebhookEvent {
  event: string;
  description: string;
  body: z.ZodType;
}

const pascal = (event: string) =>
  event
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

const header = (name: string, description: string, example: string) => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string' },
  example,
});
const SIGNED = [
  header(
    'X-Service-Signature',
    'HMAC-SHA256 over the exact bytes of the body, by the key of the deployment.',
    'sha256=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  ),
  header('webhook-id', 'The same on every attempt: receivers find doubles by it.', 'msg_0198f2a4'),
  header('webhook-timestamp', 'When this attempt was made, in Unix seconds.', '1788256800'),
  header(
    'webhook-signature',
    'There when the webhook has a secret of its own: HMAC-SHA256 over id, timestamp and body with dots between them; two values for a day after a rotation.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
];

/** Describes the deliveries that a service of ours makes: `webhooks` of the document. */
export function describeWebhooks(events: readonly WebhookEvent[], schemas: Schemas): Json {
  const described = events.map(({ event, description, body }) => {
    const name = `${pascal(event)}Event`;
    const schema = schemas.schemaOf(body, 'output');
    schemas.add(name, schema);
    const isSigned = Object.hasOwn((schema['properties'] ?? {}) as Json, 'data');
    const operation = {
      operationId: `on${pascal(event)}`,
      summary: description.replace(/\.$/, ''),
      description: isSigned
        ? 'Signed, and attempted three times.'
        : 'Neither signed nor tried again; only for webhooks of all channels.',
      tags: ['Webhooks'],
      ...(isSigned && { parameters: SIGNED }),
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { $ref: `#/components/schemas/${name}` },
            example: exampleOf(schema, schemas.components(), { io: 'output' }),
          },
        },
      },
      responses: {
        '2XX': { description: 'The delivery has arrived.' },
        '4XX': { description: 'The delivery has failed.' },
      },
      security: [],
    };
    return [event, { post: operation }] as const;
  });
  return Object.fromEntries(described);
}
