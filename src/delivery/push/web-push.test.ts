import { expect, test } from '@jest/globals';
import { subscribedBrowser, vapidSettings } from '../../../test/support/wire/push-service.ts';
import { systemClock } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import { openWebPush } from './web-push.ts';

test('one signature serves the pushes to one push service while it is good', async () => {
  let ms = Date.now();
  const sent: string[] = [];
  const outbound = {
    fetch: async (_: string, { headers }: { headers: Record<string, string> }) => {
      sent.push(headers['authorization']!);
      return { status: 201 };
    },
  } as unknown as Outbound;
  const settings = vapidSettings();
  const send = openWebPush(
    { outbound, clock: { ...systemClock, now: () => new Date(ms) } },
    {
      publicKey: settings.VAPID_PUBLIC_KEY,
      privateKey: settings.VAPID_PRIVATE_KEY,
      subject: settings.VAPID_SUBJECT,
    },
  );
  const to = (host: string) =>
    send({
      id: '1',
      tokenId: '1',
      token: subscribedBrowser(`https://${host}/send/1`).token,
      via: 'web-push',
      platform: 'web',
      category: 'replies',
      title: 'Hi',
      content: 'Somebody replied.',
      link: null,
      attempts: 1,
    });
  for (const host of ['a.example.com', 'a.example.com', 'b.example.com', 'a.example.com'])
    expect(await to(host)).toEqual({ outcome: 'sent' });
  expect(new Set(sent).size).toBe(2);
  expect(sent[3]).toBe(sent[0]);
  ms += 6 * 3_600_000;
  expect(await to('a.example.com')).toEqual({ outcome: 'sent' });
  expect(sent[4]).not.toBe(sent[0]);
});
