import { z } from 'zod';
import type { Clock } from '../kit/declare/adapter.ts';
import { refused, unlessMade } from '../kit/declare/fallback.ts';
import { type Draft, NostrEvent, signEvent } from '../kit/protocols/nostr.ts';
import type { Handle, Operations, Published, SocialLine } from './_contract.ts';
import { type credentials, keyOf, MAX_RELAYS, Relay, relaysAround, relaysOf, relaysWith } from './_nostr-identity.ts';
import { contentOf, keptOf, publishedAs, tagsOf } from './_nostr-notes.ts';
import { ask } from './_nostr-queries.ts';
import { sendToAll } from './_nostr-relays.ts';

export const Settings = z.looseObject({ relays: z.array(Relay).min(1).max(MAX_RELAYS).optional() });
type Line = Pick<SocialLine, 'sockets' | 'clock' | 'timeoutMs'> & { values: { password: string; relays: string } };
const seconds = (clock: Clock) => Math.floor(clock.now().getTime() / 1000);

/**
 * Signs an event and sends it; saved before, so that every attempt sends the same one. One that surely no relay has is
 * signed anew by the next attempt, with its time.
 */
async function sendOnce(
  { values, saved, save, ...line }: Line & Pick<Handle, 'saved' | 'save'>,
  relays: readonly string[],
  draft: Omit<Draft, 'created_at'>,
): Promise<Published> {
  const key = keyOf(values.password);
  const earlier = NostrEvent.safeParse(saved).data;
  const event = earlier ?? signEvent({ created_at: seconds(line.clock), ...draft }, key);
  const send = () => sendToAll(line, relays, event, key);
  if (!earlier) await save(event);
  const verdicts = await (earlier ? send() : unlessMade(send, () => save({})));
  return publishedAs(
    event,
    verdicts.filter(({ word }) => word === 'stored').map((verdict) => verdict.relay),
  );
}

async function findSent(line: Line & Pick<Handle, 'saved'>, relays: readonly string[]): Promise<Published | undefined> {
  const event = NostrEvent.safeParse(line.saved).data;
  if (!event) return undefined;
  const found = await ask(line, relays, { ids: [event.id] });
  return found?.event.id === event.id ? publishedAs(event, found.relays) : undefined;
}

/** Notes, answers and reposts. */
export const nostrNotes = {
  publish: ({ post, settings, thread, ...call }) =>
    sendOnce(call, settings.relays ?? relaysOf(call.values.relays), {
      kind: 1,
      content: contentOf(post),
      tags: tagsOf(post, thread),
    }),
  find: ({ settings, ...call }) => findSent(call, settings.relays ?? relaysOf(call.values.relays)),
  async remove({ values, published, ...line }) {
    const tags = [
      ['e', published.id],
      ['k', '1'],
    ];
    const key = keyOf(values.password);
    const request = signEvent({ created_at: seconds(line.clock), kind: 5, content: '', tags }, key);
    const having = relaysWith(published, values);
    // one that did not answer the note may have it all the same
    const relays = [...new Set([...having, ...relaysOf(values.relays)])];
    await sendToAll(line, relays, request, key, having);
  },
  comment: {
    once: 'own-id',
    replies: true,
    send: ({ post, published, parent, ...call }) =>
      sendOnce(call, relaysAround(published, call.values), {
        kind: 1,
        content: contentOf(post),
        tags: tagsOf(post, [published, ...(parent ? [parent] : [])]),
      }),
    find: ({ published, ...call }) => findSent(call, relaysAround(published, call.values)),
  },
  repost: {
    once: 'own-id',
    async send({ repost: { published }, ...call }) {
      const relays = relaysAround(published, call.values);
      const { event, relays: having } = keptOf(published) ?? (await ask(call, relays, { ids: [published.id] })) ?? {};
      if (!event) throw refused('rejected', `No relay has the note ${published.id}`);
      const tags = [
        ['e', event.id, having?.[0] ?? ''],
        ['p', event.pubkey],
      ];
      return sendOnce(call, relays, { kind: 6, content: JSON.stringify(event), tags }); // NIP-18
    },
    find: ({ repost: { published }, ...call }) => findSent(call, relaysAround(published, call.values)),
  },
} satisfies Operations<typeof Settings, typeof credentials>;
