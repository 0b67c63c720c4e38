// @hocuspocus/server with its database extension: documents in the same Postgres, stored every two seconds while they
// change.
import { Database } from '@hocuspocus/extension-database';
import { Server } from '@hocuspocus/server';
import postgres from 'postgres';
import { answering, settings } from './answering.mjs';

const { usage } = await import(settings.usage);
const sql = postgres(settings.databaseUrl, { max: 10, onnotice: () => {} });
await sql`create table if not exists hocuspocus_documents (name text primary key, data bytea not null)`;
const server = new Server({
  port: 0,
  address: '127.0.0.1',
  quiet: true,
  stopOnSignals: false,
  debounce: 2_000,
  maxDebounce: 2_000,
  timeout: 600_000, // clients that only read say nothing here
  extensions: [
    new Database({
      fetch: async ({ documentName }) => (await sql`select data from hocuspocus_documents where name = ${documentName}`)[0]?.data ?? null,
      store: async ({ documentName, state }) => {
        await sql`
          insert into hocuspocus_documents (name, data) values (${documentName}, ${state})
          on conflict (name) do update set data = excluded.data`;
      },
    }),
  ],
});
await server.listen();

answering({
  places: ({ documents, readers }) =>
    Array.from({ length: documents }, (_, document) =>
      Array.from({ length: readers }, () => ({ url: `ws://127.0.0.1:${server.httpServer.address().port}/`, name: `document-${document}` })),
    ),
  use: usage,
});
