import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { testDatabase } from '../wire/database.ts';
import { freePorts } from '../wire/ports.ts';
import { mailServer } from './mail-server.ts';
import { goSource, peerEnv } from './peer-install.ts';
import { type Found, npmPeer, type Peer, startProcess } from './peers.ts';

const run = promisify(execFile);
const LOGIN = { username: 'ann', password: 'the-token' };

/** A real listmonk, built once with the machine's Go, on a database of its own; `env.mailbox` gets its mails. */
export async function listmonkPeer(): Promise<Found> {
  const program = await goSource('github.com/knadh/listmonk', 'v1.1.0', './cmd');
  const email = await npmPeer('email');
  if ('missing' in email) return email;
  return {
    async start() {
      await using started = new AsyncDisposableStack();
      const mailbox = started.use(await email.start());
      const peer = started.use(await start(program, await mailServer(mailbox).listen()));
      const both = started.move();
      const stop = () => both.disposeAsync();
      return { ...peer, env: { ...peer.env, mailbox }, stop, [Symbol.asyncDispose]: stop };
    },
  };
}

async function start(program: string, smtp: number): Promise<Peer> {
  const source = dirname(program);
  // its pages, which are built with other tools, and of which none is asked for
  await mkdir(`${source}/frontend/dist/frontend`, { recursive: true });
  for (const page of ['favicon.png', 'frontend/index.html']) await writeFile(`${source}/frontend/dist/${page}`, '');

  await using begun = new AsyncDisposableStack();
  const folder = await mkdtemp(`${tmpdir()}/rookery-listmonk-`);
  begun.defer(() => rm(folder, { recursive: true, force: true }));
  await mkdir(`${folder}/uploads`);
  const database = begun.use(await testDatabase());
  await database.sql.unsafe('drop schema public cascade; create schema public');
  const { hostname, port: dbPort, username, password, pathname } = new URL(database.url);
  const [port] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const config = {
    app: { address: `127.0.0.1:${port}`, admin_username: LOGIN.username, admin_password: LOGIN.password },
    db: {
      host: hostname,
      port: Number(dbPort),
      user: decodeURIComponent(username),
      password: decodeURIComponent(password) || 'any', // it cannot read an empty one
      database: pathname.slice(1),
      ssl_mode: 'disable',
      max_open: 5,
      max_idle: 5,
      max_lifetime: '300s',
    },
  };
  const toml = Object.entries(config).map(
    ([part, values]) =>
      `[${part}]\n${Object.entries(values)
        .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
        .join('\n')}\n`,
  );
  await writeFile(`${folder}/config.toml`, toml.join('\n'));

  const options = ['--config', `${folder}/config.toml`];
  await run(program, [...options, '--install', '--yes'], { cwd: source, env: peerEnv() });
  const server = {
    enabled: true,
    host: '127.0.0.1',
    port: smtp,
    auth_protocol: 'none',
    hello_hostname: '',
    max_conns: 1,
  };
  const times = { idle_timeout: '15s', wait_timeout: '5s', max_msg_retries: 0, tls_enabled: false, email_headers: [] };
  const settings = {
    'app.root_url': url,
    'app.from_email': 'Bakery <bakery@example.test>',
    'app.check_updates': false, // asks a server of its makers
    'app.notify_emails': [],
    'upload.filesystem.upload_path': `${folder}/uploads`,
    smtp: [{ ...server, ...times }],
  };
  for (const [key, value] of Object.entries(settings))
    await database.sql`update settings set value = ${JSON.stringify(value)}::text::jsonb where key = ${key}`;

  const peer = begun.use(
    await startProcess('listmonk', program, options, {
      cwd: source,
      probe: async () => {
        await fetch(`${url}/api/health`);
        return { url, ...LOGIN };
      },
    }),
  );
  const all = begun.move();
  const stop = () => all.disposeAsync();
  return { ...peer, stop, [Symbol.asyncDispose]: stop };
}
