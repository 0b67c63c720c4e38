import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ContextOptions } from '../../../../src/context.ts';
import type { Database } from '../../../../src/platform/db/index.ts';
import { type Clock, systemClock } from '../../../../src/platform/kernel/index.ts';
import { socketConnector } from '../../../../src/platform/outbound/pools.ts';
import { testApp } from '../app.ts';
import { makeCertificate } from '../../wire/certificate.ts';
import type { Sent } from '../../peers/mail-events.ts';
import { mailEventsOf } from '../quiet-log.ts';

type Says = (path: string) => { status: number; body: string } | 'hang up';

/** A server with certificates for these names, to which every name leads; it keeps what it was asked. */
export async function startElsewhere(names: readonly string[], says: Says) {
  const { key, cert } = makeCertificate(names);
  const asked: string[] = [];
  const server: Server = createServer({ key, cert }, (request, response) => {
    asked.push(`${request.method} https://${request.headers.host}${request.url}`);
    const said = own.says(request.url!);
    if (said === 'hang up') request.socket.destroy();
    else response.writeHead(said.status, { location: 'https://elsewhere.example/' }).end(said.body);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  server.keepAliveTimeout = 0; // whoever asks closes the connection, so that none is closed under a request
  const { port } = server.address() as AddressInfo;
  const beneath = socketConnector([cert]);
  const network: NonNullable<ContextOptions['network']> = {
    resolver: async () => ['127.0.0.1'],
    connector: (options, callback) => beneath({ ...options, port: String(port) }, callback),
  };
  const own = {
    asked,
    network,
    says,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return own;
}
export type Elsewhere = Awaited<ReturnType<typeof startElsewhere>>;

/** The app with mail by this provider, and a log of mails to be told of. `clock`: by which an event is fresh. */
export async function toldApp(
  sql: Database,
  provider: string,
  env: Record<string, string>,
  { network }: Pick<Elsewhere, 'network'>,
  clock: Clock = systemClock,
) {
  const app = await testApp({ sql, env: { EMAIL_PROVIDER: provider, ...env }, clock, network });
  return {
    ...app,
    /** Forgets what was moved until now. */
    forget: () => void app.log.all.splice(0),
    /** What was moved, in order. */
    moved: () =>
      mailEventsOf(app.log).flatMap(({ emailId, status }) => (status === undefined ? [] : [{ emailId, status }])),
    send: ({ headers, body }: Sent, more: Record<string, string> = {}) =>
      app.client().send('POST', '/webhooks/email', body, { ...headers, ...more }),
    /** A mail in the log: one that was sent, or one that waits. */
    async mail(status: string = 'sent') {
      const [id, messageId] = [randomUUID(), `m${randomUUID().replaceAll('-', '')}`];
      const waits = status === 'queued';
      await sql`
        insert into emails (id, to_address, template, provider_id, provider_version, status, content, next_attempt_at,
          provider_message_id, sent_at)
        values (${id}, 'ann@example.com', 'activation', ${provider}, 'v1', ${status}, ${waits ? 'v2:x' : null},
          ${waits ? new Date() : null},
          ${waits ? null : messageId}, ${waits ? null : new Date()})`;
      return { id, messageId };
    },
    async rowOf({ id }: { id: string }) {
      const [row] = await sql`
          select status, last_error, provider_message_id, content, next_attempt_at, sent_at
          from emails
          where id = ${id}`;
      return row!;
    },
    statusOf: async ({ id }: { id: string }): Promise<string> =>
      (await sql<{ status: string }[]>`select status from emails where id = ${id}`)[0]!.status,
  };
}
export type ToldApp = Awaited<ReturnType<typeof toldApp>>;
