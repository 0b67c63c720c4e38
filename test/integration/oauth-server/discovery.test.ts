import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

const serverOf = (backendUrl: string, frontendUrl: string) => ({
  issuer: backendUrl,
  authorization_endpoint: `${frontendUrl}/oauth/authorize`,
  token_endpoint: `${backendUrl}/oauth/token`,
  registration_endpoint: `${backendUrl}/oauth/register`,
  revocation_endpoint: `${backendUrl}/oauth/revoke`,
  response_types_supported: ['code'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic', 'none'],
  scopes_supported: ['mcp:read', 'mcp:posts:write'],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: true,
});
const opened = (env: Record<string, string>): Promise<TestApp> => testApp({ sql: db.sql, env });

describe.each([
  ['https://api.example.com', 'https://app.example.com'],
  ['https://app.example.com/api', 'https://app.example.com'],
  ['https://example.com/social', 'https://example.com'],
])('published at %s', (backendUrl, frontendUrl) => {
  const own = new URL(backendUrl).pathname.replace(/\/$/, '');
  let app: TestApp;
  beforeAll(async () => {
    app = await opened({ NEXT_PUBLIC_BACKEND_URL: `${backendUrl}/`, FRONTEND_URL: `${frontendUrl}/` });
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test('server metadata is served under both path rules to every origin, whether or not a proxy strips /api [OA34, OA35, S20, MC7]', async () => {
    for (const path of [
      '/.well-known/oauth-authorization-server',
      '/api/.well-known/oauth-authorization-server',
      '/.well-known/oauth-authorization-server/api',
      `/.well-known/oauth-authorization-server${own}`,
    ]) {
      const answer = await app.client().get(path, { origin: 'https://inspector.example' });
      expect([path, answer.status, answer.body]).toEqual([path, 200, serverOf(backendUrl, frontendUrl)]);
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    }
  });

  test('misleading well-known paths answer 404', async () => {
    for (const path of [
      '/.well-known/openid-configuration',
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-protected-resource/mcp/some-key',
      '/.well-known/oauth-protected-resource/sse',
      '/.well-known/oauth-protected-resource/other/mcp',
      '/.well-known/oauth-authorization-server/other',
      '/.well-known/oauth-authorization-server/mcp',
    ])
      expect([path, (await app.client().get(path)).status]).toEqual([path, 404]);
  });
});

test('NEXT_PUBLIC_OVERRIDE_BACKEND_URL moves the token endpoint and nothing else [OA36]', async () => {
  await using app = await opened({
    NEXT_PUBLIC_BACKEND_URL: 'https://api.example.com',
    FRONTEND_URL: 'https://app.example.com',
    NEXT_PUBLIC_OVERRIDE_BACKEND_URL: 'https://direct.example.com/api/',
  });
  expect((await app.client().get('/.well-known/oauth-authorization-server')).body).toEqual({
    ...serverOf('https://api.example.com', 'https://app.example.com'),
    token_endpoint: 'https://direct.example.com/api/oauth/token',
  });
});

test('advertised endpoints exist, and public ones answer every origin without credentials [S20]', async () => {
  await using app = await opened({});
  const { body } = await app.client().get('/.well-known/oauth-authorization-server');
  const served = {
    authorization_endpoint: 'GET',
    token_endpoint: 'POST',
    registration_endpoint: 'POST',
    revocation_endpoint: 'POST',
  } as const;
  for (const [name, method] of Object.entries(served)) {
    const { pathname } = new URL(body[name]);
    const answer = await app
      .client()
      .send(method, pathname, method === 'POST' ? {} : undefined, { origin: 'https://inspector.example' });
    expect([name, answer.status, typeof answer.body.error]).toEqual([name, 400, 'string']);
    expect([name, answer.headers.get('access-control-allow-origin')]).toEqual([name, method === 'POST' ? '*' : null]);
  }
});
