import type { openApi } from '../api/http/openapi/index.ts';

/** What the definitions take from the document, by the ids of operations and the names of events. */
const OPERATIONS = [
  'getMe',
  'listChannels',
  'createPosts',
  'uploadFromUrl',
  'editPost',
  'setPostStatus',
  'retryPost',
  'deletePost',
  'getPost',
  'findChannelSlot',
  'createWebhook',
  'getWebhook',
  'deleteWebhook',
];
const EVENTS = ['post.published', 'post.failed', 'channel.refresh_needed'];

interface Described {
  operationId?: string;
  summary?: string;
  responses?: Record<string, { content?: Record<string, { example?: unknown }> }>;
  requestBody?: { content?: Record<string, { example?: unknown }> };
}
type Verbs = Record<string, Described>;

/**
 * Method, path and summary of each, with an example of the answer unless it is not wanted; throws for one that is not in
 * the document.
 */
export function automationDescription(
  document: ReturnType<typeof openApi>,
  { samples = true }: { samples?: boolean } = {},
): string {
  const { paths, webhooks } = document as unknown as { paths: Record<string, Verbs>; webhooks: Record<string, Verbs> };
  const all = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const exampleOf = (content: Record<string, { example?: unknown }> | undefined) =>
    content?.['application/json']?.example;
  const operations = OPERATIONS.map((id) => {
    const found = all.find(({ operation, path }) => operation.operationId === id && path.startsWith('/public/v1/'));
    if (!found) throw new Error(`The document has no operation ${id}`);
    const { method, path, operation } = found;
    const [, answer] = Object.entries(operation.responses ?? {}).find(([status]) => status.startsWith('2')) ?? [];
    const sample = samples ? { sample: exampleOf(answer?.content) } : {};
    return [id, { method, path, summary: operation.summary, ...sample }];
  });
  const events = EVENTS.map((event) => {
    const told = webhooks[event]?.['post'];
    if (!told) throw new Error(`The document has no event ${event}`);
    const sample = samples ? { sample: exampleOf(told.requestBody?.content) } : {};
    return [event, { summary: told.summary, ...sample }];
  });
  const described = { operations: Object.fromEntries(operations), events: Object.fromEntries(events) };
  return `${JSON.stringify(described, null, 1)}\n`;
}
