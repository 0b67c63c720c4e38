import type { Json } from '../http/openapi/index.ts';

// What the reference page is made of: texts, types, tables.

export const escaped = (text: unknown) =>
  String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
/** A sentence of a description: its code in backticks. */
export const prose = (text: unknown) => escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
export const paragraphs = (text: unknown) =>
  typeof text === 'string'
    ? text
        .split('\n\n')
        .map((part) => `<p>${prose(part)}</p>`)
        .join('\n')
    : '';
export const block = (value: unknown) =>
  `<pre><code>${escaped(typeof value === 'string' ? value : JSON.stringify(value, null, 2))}</code></pre>`;

/** A schema in a few words, with links to those that have names. */
export function typeOf(schema: Json): string {
  if (typeof schema['$ref'] === 'string') {
    const name = schema['$ref'].split('/').at(-1)!;
    return `<a href="#schema-${escaped(name)}">${escaped(name)}</a>`;
  }
  if ('const' in schema) return `<code>${escaped(JSON.stringify(schema['const']))}</code>`;
  if (Array.isArray(schema['enum']))
    return schema['enum'].map((value) => `<code>${escaped(JSON.stringify(value))}</code>`).join(' or ');
  const choices = (schema['anyOf'] ?? schema['oneOf']) as Json[] | undefined;
  if (choices) return choices.map(typeOf).join(' or ');
  if (schema['type'] === 'array') return `list of ${typeOf((schema['items'] ?? {}) as Json)}`;
  const types = ([schema['type'] ?? 'any value'].flat() as string[]).join(' or ');
  return escaped(typeof schema['format'] === 'string' ? `${types} (${schema['format']})` : types);
}

const LIMITS: readonly [key: string, words: string][] = [
  ['minLength', 'at least %s characters'],
  ['maxLength', 'at most %s characters'],
  ['minimum', 'at least %s'],
  ['maximum', 'at most %s'],
  ['minItems', 'at least %s entries'],
  ['maxItems', 'at most %s entries'],
  ['default', '%s unless given'],
];
const MOST_SHOWN = 1e9; // no limit that a person would reach
export const limitsOf = (schema: Json) =>
  LIMITS.filter(([key]) => key in schema && !(typeof schema[key] === 'number' && Math.abs(schema[key]) > MOST_SHOWN))
    .map(([key, words]) => words.replace('%s', escaped(JSON.stringify(schema[key]))))
    .join(', ');

export function table(caption: string, columns: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const head = columns.map((column) => `<th scope="col">${column}</th>`).join('');
  const body = rows.map(
    ([first, ...rest]) => `<tr><th scope="row">${first!}</th>${rest.map((cell) => `<td>${cell}</td>`).join('')}</tr>`,
  );
  return `<table><caption>${caption}</caption><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table>`;
}

/** The fields of an object, those inside of it by their paths. */
function fieldsOf(schema: Json, prefix = ''): string[][] {
  const required = new Set((schema['required'] ?? []) as string[]);
  return Object.entries((schema['properties'] ?? {}) as Record<string, Json>).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const inside = field['type'] === 'array' ? ((field['items'] ?? {}) as Json) : field;
    const words = [field['description'] && prose(field['description']), limitsOf(field)].filter(Boolean).join('; ');
    return [
      [`<code>${escaped(path)}</code>`, typeOf(field), required.has(name) ? 'always' : 'may be absent', words],
      ...fieldsOf(inside, field['type'] === 'array' ? `${path}[].` : `${path}.`),
    ];
  });
}
const FIELD_COLUMNS = ['Field', 'Type', 'Presence', 'Meaning'];
export const schemaTable = (caption: string, schema: Json) =>
  table(caption, FIELD_COLUMNS, fieldsOf(schema['type'] === 'array' ? ((schema['items'] ?? {}) as Json) : schema));

export function contentOf(caption: string, content: Json): string {
  return Object.entries(content as Record<string, Json>)
    .map(([type, { schema, example }]) => {
      const shape = schema as Json;
      return [
        `<p>${escaped(type)}: ${typeOf(shape)}</p>`,
        schemaTable(caption, shape),
        example === undefined ? '' : block(example),
      ].join('\n');
    })
    .join('\n');
}
