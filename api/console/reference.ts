import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Json } from '../http/openapi/index.ts';
import {
  block,
  contentOf,
  escaped,
  limitsOf,
  paragraphs,
  prose,
  schemaTable,
  table,
  typeOf,
} from './reference-parts.ts';

// The reference of the public API as one page without a script: it is read offline, and asks nobody for anything.

const style = readFileSync(new URL('reference.css', import.meta.url), 'utf8');
/** Runs nothing, loads nothing, and has this style alone. */
export const REFERENCE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

interface Operation {
  method: string;
  path: string;
  at: Json;
}

function operationHtml({ method, path, at }: Operation): string {
  const parameters = (at['parameters'] ?? []) as Json[];
  const responses = Object.entries(at['responses'] as Record<string, Json>);
  const successes = responses.filter(([status]) => status.startsWith('2'));
  const refusals = responses.filter(([status]) => !status.startsWith('2'));
  const samples = (at['x-codeSamples'] ?? []) as { label: string; source: string }[];
  const caption = `${method.toUpperCase()} ${escaped(path)}`;
  const security = (at['security'] as Json[]).flatMap((one) => Object.keys(one));
  return [
    `<section aria-labelledby="${escaped(at['operationId'])}">`,
    `<h3 id="${escaped(at['operationId'])}">${escaped(at['summary'])}<br><code>${caption}</code></h3>`,
    at['deprecated'] ? '<p><strong>This operation is to be removed.</strong></p>' : '',
    paragraphs(at['description']),
    `<p>Credential: ${security.length === 0 ? 'none' : security.join(' or ')}.${
      at['x-permission'] ? ` Permission: <code>${escaped(at['x-permission'])}</code>.` : ''
    }</p>`,
    table(
      `Parameters of ${caption}`,
      ['Name', 'Place', 'Type', 'Meaning'],
      parameters.map(({ name, in: place, schema, description, required }) => [
        `<code>${escaped(name)}</code>`,
        `${escaped(place)}${required ? ', needed' : ''}`,
        typeOf(schema as Json),
        [description && prose(description), limitsOf(schema as Json)].filter(Boolean).join('; '),
      ]),
    ),
    at['requestBody']
      ? `<h4>Body</h4>\n${contentOf(`Body of ${caption}`, (at['requestBody'] as Json)['content'] as Json)}`
      : '',
    ...successes.map(
      ([status, { description, content }]) =>
        `<h4>Answer ${status} ${escaped(description)}</h4>\n${contentOf(`Answer of ${caption}`, (content ?? {}) as Json)}`,
    ),
    refusals.length > 0
      ? `<p>Also: ${refusals.map(([status]) => `<a href="#answer-${status}">${status}</a>`).join(', ')}.</p>`
      : '',
    ...samples.map(({ label, source }) => `<h4>By ${escaped(label)}</h4>\n${block(source)}`),
    '</section>',
  ].join('\n');
}

/** The refusals and 304, each once: operations refer to them by their statuses. */
function answersHtml(document: Json): string {
  const { responses } = document['components'] as { responses: Record<string, Json> };
  return [
    '<h2 id="answers">Other answers</h2>',
    '<h3 id="answer-304">304 Not Modified</h3><p>The list is the one that the client has; there is no body.</p>',
    ...Object.entries(responses)
      .filter(([name]) => name.startsWith('Error'))
      .map(([name, { description, content }]) => {
        const status = name.slice('Error'.length) || 'default';
        const { example } = (content as Record<string, Json>)['application/json']!;
        return `<h3 id="answer-${status}">${status} ${escaped(description)}</h3>\n${block(example)}`;
      }),
  ].join('\n');
}

const webhooksHtml = (document: Json) =>
  [
    '<h2 id="events">Events for webhooks</h2>',
    ...Object.entries(document['webhooks'] as Record<string, { post: Json }>).map(([event, { post }]) => {
      const { content } = post['requestBody'] as { content: Record<string, Json> };
      return `<h3 id="event-${escaped(event)}"><code>${escaped(event)}</code></h3>
<p>${escaped(post['summary'])}. ${escaped(post['description'])}</p>
${block(content['application/json']!['example'])}`;
    }),
  ].join('\n');

const schemasHtml = (document: Json) =>
  [
    '<h2 id="schemas">Schemas</h2>',
    ...Object.entries((document['components'] as Json)['schemas'] as Record<string, Json>).map(
      ([name, schema]) => `<h3 id="schema-${escaped(name)}">${escaped(name)}</h3>
${paragraphs(schema['description'])}
${schemaTable(`Fields of ${escaped(name)}`, schema) || `<p>${typeOf(schema)}</p>`}`,
    ),
  ].join('\n');

/** The page of a document. `root` leads from it to the root of the service. */
export function referencePage(document: Json, root: string): string {
  const { title, version, description } = document['info'] as Record<string, string>;
  const operations = Object.entries(document['paths'] as Record<string, Record<string, Json>>).flatMap(
    ([path, methods]) => Object.entries(methods).map(([method, at]): Operation => ({ method, path, at })),
  );
  const chapters = (document['tags'] as { name: string; description: string }[]).map((tag) => ({
    ...tag,
    id: `tag-${tag.name.toLowerCase()}`,
    of: operations.filter(({ at }) => (at['tags'] as string[]).includes(tag.name)),
  }));
  const entries = chapters.map(
    ({ name, id, of }) =>
      `<li><a href="#${id}">${escaped(name)}</a><ul>${of
        .map(({ at }) => `<li><a href="#${escaped(at['operationId'])}">${escaped(at['summary'])}</a></li>`)
        .join('')}</ul></li>`,
  );
  const chapterHtml = chapters.map(
    ({ name, id, description: about, of }) =>
      `<h2 id="${id}">${escaped(name)}</h2>\n${paragraphs(about)}\n${of.map(operationHtml).join('\n')}`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<header>
<h1>${escaped(title)} ${escaped(version)}</h1>
${paragraphs(description)}
<p>The same for programs: <a href="${root}public/v1/openapi.json">OpenAPI 3.1</a>.</p>
</header>
<nav aria-label="Operations">
<ul>${entries.join('\n')}
<li><a href="#events">Events for webhooks</a></li>
<li><a href="#answers">Other answers</a></li>
<li><a href="#schemas">Schemas</a></li></ul>
</nav>
<main>
${[...chapterHtml, webhooksHtml(document), answersHtml(document), schemasHtml(document)].join('\n')}
</main>
</body>
</html>
`;
}
