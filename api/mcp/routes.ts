import { z } from 'zod';
import type { Surface } from '../../src/oauth-server/index.ts';
import { routesOf } from '../http/route.ts';
import { answerSurface } from './answer.ts';
import { ROOMS } from './caller.ts';
import { bucketsOfMessages, Messages } from './message.ts';

const route = routesOf(...ROOMS);

const DESCRIPTION =
  'Streamable HTTP without sessions, answered as JSON (Model Context Protocol, revisions 2024-10-07 to 2026-07-28). ' +
  'An `:id` is an API key, which then needs no header, or the organization of the credential.';

/** A surface of MCP by Streamable HTTP: POST alone; any other method is 405 (S196). */
export const surfaceRoute = <const Path extends `/${string}`>(path: Path, surface: Surface, summary: string) =>
  route({
    method: 'post',
    path,
    summary,
    description: DESCRIPTION,
    auth: ['api-key', 'oauth'],
    surface,
    planLimit: 'mcp',
    limit: '600/hour',
    buckets: (body) => bucketsOfMessages(surface, body),
    body: Messages,
    output: 'text',
    answer: z.string(),
    handle: (call) => answerSurface(surface, call),
    present: (text) => text,
  });
