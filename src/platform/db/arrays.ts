// The driver asks each new connection for the array types of the server, and a connection that is cut in that moment
// takes the process with it. So the array types that we use are told beforehand, and nothing is asked.

interface Element {
  oid: number;
  write(value: unknown): string;
  read(text: string): unknown;
}

const asText = { write: String, read: (text: string): unknown => text };
const asNumber = { write: String, read: Number };
const asDate = {
  write: (value: unknown) => (value instanceof Date ? value.toISOString() : String(value)),
  read: (text: string): unknown => new Date(text),
};
const asJson = { write: (value: unknown) => JSON.stringify(value), read: (text: string): unknown => JSON.parse(text) };

const ELEMENTS: Readonly<Record<string, Element>> = {
  bools: { oid: 1000, write: (value) => (value ? 't' : 'f'), read: (text) => text === 't' },
  byteas: {
    oid: 1001,
    write: (value) => `\\x${Buffer.from(value as Uint8Array).toString('hex')}`,
    read: (text) => Buffer.from(text.slice(2), 'hex'),
  },
  int2s: { oid: 1005, ...asNumber },
  int4s: { oid: 1007, ...asNumber },
  int8s: { oid: 1016, ...asText }, // as the driver reads a single one
  float4s: { oid: 1021, ...asNumber },
  float8s: { oid: 1022, ...asNumber },
  texts: { oid: 1009, ...asText },
  varchars: { oid: 1015, ...asText },
  uuids: { oid: 2951, ...asText },
  timestamps: { oid: 1115, ...asDate },
  timestamptzs: { oid: 1185, ...asDate },
  jsons: { oid: 199, ...asJson },
  jsonbs: { oid: 3807, ...asJson },
};

const write = (values: readonly unknown[], { write: one }: Element): string =>
  `{${values.map((value) => (value === null || value === undefined ? 'NULL' : `"${one(value).replace(/["\\]/g, '\\$&')}"`)).join(',')}}`;

/** An item in quotes, with its escapes, or a bare one up to the next comma. */
const ITEM = /"((?:[^"\\]|\\.)*)"|([^,{}]+)/gs;
const read = (text: string, { read: one }: Element): unknown[] =>
  [...text.matchAll(ITEM)].map(([, quoted, bare]) =>
    quoted !== undefined ? one(quoted.replace(/\\(.)/gs, '$1')) : bare === 'NULL' ? null : one(bare!),
  );

/** Array types of one dimension, in the form of the driver's option `types`. */
export const ARRAY_TYPES = Object.fromEntries(
  Object.entries(ELEMENTS).map(([name, element]) => [
    name,
    {
      to: element.oid,
      from: [element.oid],
      serialize: (values: unknown) => write(values as readonly unknown[], element),
      parse: (text: string) => read(text, element),
    },
  ]),
);
