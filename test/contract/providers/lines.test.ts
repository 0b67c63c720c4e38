import { expect, test } from '@jest/globals';
import type { AiLine } from '../../../src/providers/ai/_contract.ts';
import { auth, type AuthLine } from '../../../src/providers/auth/_contract.ts';
import type { ContentPackLine } from '../../../src/providers/contentpack/_contract.ts';
import type { EmailLine } from '../../../src/providers/email/_contract.ts';
import { secret } from '../../../src/providers/kit/declare/fields.ts';
import type { Tool } from '../../../src/providers/kit/declare/line.ts';
import type { MediaLine } from '../../../src/providers/media/_contract.ts';
import { shortlink, type ShortlinkLine } from '../../../src/providers/shortlink/_contract.ts';
import type { SocialLine } from '../../../src/providers/social/_contract.ts';
import { storage, type StorageLine, type Store } from '../../../src/providers/storage/_contract.ts';
import type { VpnLine } from '../../../src/providers/vpn/_contract.ts';

// The assertions of this file are types: `npm run types` fails where a line with @ts-expect-error would compile.

const manifest = {
  id: 'demo',
  version: 'v1',
  title: 'Demo',
  description: 'A provider of this test.',
  authType: 'none',
  credentials: { key: secret('Key') },
  api: 'https://demo.example',
} as const;

test('the line of a domain has exactly its tools', () => {
  type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
  type Has<L, T extends Tool> = Same<Extract<keyof L, Tool>, T>;
  const lines: {
    ai: Has<AiLine, 'http' | 'webFetch'>;
    auth: Has<AuthLine, 'http' | 'fetch'>;
    contentpack: Has<ContentPackLine, 'http'>;
    email: Has<EmailLine, 'http' | 'fetch' | 'smtp'>;
    media: Has<MediaLine, 'http' | 'large' | 'stream'>;
    shortlink: Has<ShortlinkLine, 'http'>;
    social: Has<SocialLine, 'http' | 'pages' | 'sockets'>;
    storage: Has<StorageLine, 'http' | 'stream' | 's3' | 'folder'>;
    vpn: Has<VpnLine, 'http'>;
  } = {
    ai: true,
    auth: true,
    contentpack: true,
    email: true,
    media: true,
    shortlink: true,
    social: true,
    storage: true,
    vpn: true,
  };
  expect(Object.values(lines).every(Boolean)).toBe(true);
});

test('an adapter cannot name a tool of another domain', () => {
  const store = (tool: unknown) => ({ check: async () => String(tool) }) as Partial<Store> as Store;
  expect([
    // @ts-expect-error a short link needs no mail server
    shortlink({ ...manifest, shorten: async ({ smtp }, url) => ({ id: String(smtp), shortUrl: url }) }),
    // @ts-expect-error a login keeps no files on this machine
    auth({ ...manifest, by: 'password', connect: ({ folder }) => ({ by: folder ? 'password' : 'password' }) }),
    // @ts-expect-error a store sends no mail
    storage({ ...manifest, can: [], connect: ({ smtp }) => store(smtp) }),
    // @ts-expect-error `check` has the same line as the operations
    storage({ ...manifest, can: [], connect: () => store(''), check: async ({ sockets }) => String(sockets) }),
    storage({ ...manifest, can: [], connect: ({ folder }) => store(folder) }),
  ]).toHaveLength(5);
});

test('an adapter cannot name a field that it does not declare, or a fact of another domain', () => {
  expect([
    // @ts-expect-error the declared field is `key`
    shortlink({ ...manifest, shorten: async ({ values }, url) => ({ id: values.token, shortUrl: url }) }),
    shortlink({ ...manifest, shorten: async ({ values }, url) => ({ id: values.key, shortUrl: url }) }),
    // @ts-expect-error `protocol` is a fact of stores
    shortlink({ ...manifest, facts: { protocol: 's3' } }),
    shortlink({ ...manifest, facts: { defaultDomain: 'demo.example' } }),
  ]).toHaveLength(4);
});
