import { describe, expect } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { NETWORK_APPS } from '../../../src/platform/config/network-apps.ts';
import type { Visit } from '../../support/wire/outside.ts';
import { effectsOf, SHOWN_IN } from '../../support/worlds/settings/settings-table.ts';
import { type Env, settingsWorld } from '../../support/worlds/settings/settings-world.ts';

// The app of the operator at each network: offered to every organization, and used for its login.

const world = settingsWorld([
  'api.instagram.com',
  'api.kick.com',
  'api.neynar.com',
  'api.pinterest.com',
  'api.telegram.org',
  'api.twitch.tv',
  'api.whop.com',
  'api.x.com',
  'discord.com',
  'dribbble.com',
  'graph.threads.net',
  'id.kick.com',
  'id.twitch.tv',
  'id.vk.com',
  'mewe.example',
  'oauth2.googleapis.com',
  'open.tiktokapis.com',
  'slack.com',
  'www.reddit.com',
]);
const { at, open } = world;
const effect = effectsOf('networks');
type Name = (typeof SHOWN_IN)['networks'][number];
const isShown = (name: string): name is Name => (SHOWN_IN.networks as readonly string[]).includes(name);

const GRANTED = { access_token: 'the-access-token', refresh_token: 'r', token_type: 'bearer', expires_in: 3_600 };
/** What a network answers to the requests of a login; the others are refused. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  'GET api.neynar.com/v2/farcaster/login/authorize/': { authorization_url: 'https://app.neynar.com/login' },
  'POST api.telegram.org/bot1:the-token/getUpdates': { ok: true, result: [] },
  'POST discord.com/api/oauth2/token': {
    ...GRANTED,
    scope: 'identify guilds bot',
    guild: { id: '7', name: 'Bakers', owner_id: '1' },
  },
  'POST mewe.example/api/dev/token': {},
  'POST api.x.com/oauth/request_token': 'oauth_token=t&oauth_token_secret=s&oauth_callback_confirmed=true',
};
const VALUES: Readonly<Record<string, string>> = {
  MEWE_HOST: 'https://mewe.example',
  TELEGRAM_TOKEN: '1:the-token',
};
/** Everything that a request says, credentials of the scheme Basic in the clear. */
const wordsOf = ({ path, query, headers, body }: Visit): string => {
  const [, basic] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? [];
  return [path, String(query), JSON.stringify(headers), body, basic ? decodeURIComponent(atob(basic)) : ''].join(' ');
};

describe('apps of the operator', () => {
  for (const { providers, settings } of NETWORK_APPS) {
    const fields = Object.entries(settings as Record<string, readonly [string, string]>).filter(
      ([name, [field]]) => isShown(name) && !field.startsWith('consumer'),
    );
    const [id] = providers as readonly string[];
    if (id === undefined || fields.length === 0) continue;
    const env: Env = Object.fromEntries(fields.map(([name]) => [name, VALUES[name] ?? `the-value-of-${name}`]));
    effect(
      fields.map(([name]) => name as Name),
      `${id} is offered to every organization, and its login uses the app`,
      async () => {
        for (const [where, json] of Object.entries(ANSWERS)) world.outside.on(where, () => ({ json }));
        await using off = await open();
        await using on = await open(env);
        const offered = async (app: typeof on) => {
          const { body } = await at(app).get('/integrations');
          return body.social.map(({ identifier }: { identifier: string }) => identifier).includes(id) as boolean;
        };
        expect([await offered(off), await offered(on)]).toEqual([false, true]);
        const before = world.outside.visits.length;
        const preview = '?allowPreview=true';
        const begun = await at(on).get(`/integrations/social/${id}${id === 'mewe' ? preview : ''}`);
        expect([begun.status, begun.body]).toEqual([200, expect.objectContaining({ url: expect.any(String) })]);
        const page = new URL(begun.body.url);
        await at(on).post(`/integrations/social-connect/${id}`, {
          code: 'the-code',
          state: begun.body.state ?? page.searchParams.get('state'),
          callback: { device_id: 'd', loginRequestToken: 'l', signer_uuid: 'u' },
        });
        const said = [decodeURIComponent(page.href), ...world.outside.visits.slice(before).map(wordsOf)].join('\n');
        expect(Object.values(env).filter((value) => !said.includes(value.replace('https://', '')))).toEqual([]);
      },
    );
  }

  effect(['X_API_KEY', 'X_API_SECRET'], 'x is offered, and its login is signed with the pair', async () => {
    for (const [where, json] of Object.entries(ANSWERS)) world.outside.on(where, () => ({ json }));
    await using app = await open({ X_API_KEY: 'the-consumer', X_API_SECRET: 'the-consumer-secret' });
    await at(app).get('/integrations/social/x');
    const asked = world.outside.to('api.x.com').at(-1)!;
    const signed = Object.fromEntries(
      [...asked.headers.authorization!.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!]),
    );
    expect(signed['oauth_consumer_key']).toBe('the-consumer');
    const { oauth_signature: signature, ...parameters } = signed;
    const encode = (text: string) =>
      encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
    const names = Object.entries(parameters)
      .map(([name, value]) => `${name}=${value}`)
      .toSorted();
    const base = ['POST', encode('https://api.x.com/oauth/request_token'), encode(names.join('&'))].join('&');
    const expected = createHmac('sha1', 'the-consumer-secret&').update(base).digest('base64');
    expect(decodeURIComponent(signature!)).toBe(expected);
  });
});
