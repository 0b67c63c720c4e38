import { z } from 'zod';
import type { Http } from '../kit/wire/http.ts';
import type { AsTold, Mention } from './_contract.ts';
import { allPages } from './_lists.ts';
import { Done } from './_slack-messages.ts';

const Person = z.object({
  id: z.string(),
  name: z.string(),
  deleted: z.boolean().optional(),
  is_bot: z.boolean().optional(),
  real_name: z.string().nullish(),
  profile: z.object({ display_name: z.string().nullish(), image_192: z.string().nullish() }),
});
const Found = Done.extend({ user: Person.optional() });
const People = z.object({
  ok: z.literal(true),
  members: z.array(Person),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});
type Shown = z.output<typeof Person>;
const MOST_FOUND = 10;
const PEOPLE_PAGES = 5;
const ANSWER_BYTES = 8 * 1024 * 1024;
const nameOf = ({ name, real_name, profile }: Shown) => profile.display_name || real_name || name;

export const personOf = async (http: Http, user: string): Promise<Shown | undefined> =>
  (await http.get('/users.info', Found, { query: { user } })).user;

/** Names of people by id; somebody who is gone has none. */
export async function namesOf(http: Http, ids: readonly string[]): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const id of new Set(ids)) {
    const one = await personOf(http, id);
    if (one) names.set(id, nameOf(one));
  }
  return names;
}

/** The people whom a text mentions, by id. */
export const mentionedIn = (text: string): string[] => [...text.matchAll(/<@(\w+)/g)].map(([, id]) => id!);

const ENTITIES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>' };
/**
 * Writes mrkdwn as it is shown: the names of what stands in angle brackets, and the three entities as signs
 * (docs.slack.dev/messaging/formatting-message-text).
 */
export const readableText = (text: string, names: ReadonlyMap<string, string>): string =>
  text
    .replace(/<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>/g, (_, mark: string, id: string, label = '') => {
      if (mark === '@') return `@${names.get(id) ?? (label || id)}`;
      if (mark === '#') return `#${label || id}`;
      if (mark === '!') return label || `@${id}`;
      return label === '' || id.includes(label) ? id.replace(/^(?:mailto|tel):/, '') : `${label} (${id})`;
    })
    .replace(/&(?:amp|lt|gt);/g, (entity) => ENTITIES[entity]!);

/** Slack has no search for people: it lists them. Looks at the first 5,000 of the workspace. */
export async function peopleLike(http: Http, query: string): Promise<AsTold<Mention>[]> {
  const isMeant = (one: Shown) =>
    !one.deleted && !one.is_bot && nameOf(one).toLowerCase().includes(query.toLowerCase());
  let found = 0;
  const people = await allPages(PEOPLE_PAGES, async (cursor) => {
    const { members, response_metadata: more } = await http.get('/users.list', People, {
      query: { limit: '1000', cursor },
      answerBytes: ANSWER_BYTES,
    });
    const items = members.filter(isMeant);
    found += items.length;
    return { items, next: found < MOST_FOUND ? more?.next_cursor : undefined };
  });
  return people.slice(0, MOST_FOUND).map((one) => ({ id: one.id, label: nameOf(one), image: one.profile.image_192 }));
}
