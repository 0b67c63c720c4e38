import { afterAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { eventually } from '../support/wire/eventually.ts';
import { startEmbedded } from '../support/processes/service.ts';
import { testDatabase } from '../support/wire/database.ts';

// The order of an end, seen from a request that was under way when it was asked for.

const database = await testDatabase();
afterAll(async () => database[Symbol.asyncDispose]());

test('a process that receives SIGTERM reports not ready before it stops answering [S24]', async () => {
  await using service = await startEmbedded({ database });
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  await once(socket, 'connect');
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => void (answer += text));
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n`;
  // the second is begun when the first is answered, and the server waits for its end
  socket.write(`${get('/health/live')}\r\n${get('/health/ready')}`);
  await eventually('the first is answered', () => answer.startsWith('HTTP/1.1 200 '));
  const ended = service.end(0);
  await eventually('it ends', () => service.lastWords().includes('SIGTERM: ending'));
  socket.write('\r\n');
  await once(socket, 'close');
  expect(answer).toMatch(/HTTP\/1\.1 503 /);
  expect(answer).toMatch(/"database":\{"ok":true\}/);
  expect(await ended).toMatchObject({ code: 0 });
}, 120_000);

test('the process is not ready during SHUTDOWN_DELAY_SECONDS, serves on, and tells each connection to close', async () => {
  await using service = await startEmbedded({ database, env: { SHUTDOWN_DELAY_SECONDS: '300' } });
  const agent = new Agent({ keepAlive: true });
  const ask = (path: string) =>
    new Promise<{ status: number; connection: string | undefined }>((done, fail) =>
      request(`${service.url}${path}`, { agent }, (response) => {
        response
          .resume()
          .on('end', () => done({ status: response.statusCode!, connection: response.headers.connection }));
      })
        .on('error', fail)
        .end(),
    );
  expect(await ask('/health/ready')).toEqual({ status: 200, connection: 'keep-alive' });
  void service.end(0); // SIGTERM, and later SIGKILL: 300 s are longer than it waits
  await eventually('it is not ready', async () => (await ask('/health/ready')).status === 503);
  expect(await ask('/health/live')).toEqual({ status: 200, connection: 'close' });
  expect(await ask('/openapi.json')).toEqual({ status: 200, connection: 'close' });
  agent.destroy();
  await service.kill(0);
}, 120_000);
