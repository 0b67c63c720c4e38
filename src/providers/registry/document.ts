import { z } from 'zod';
import { DOMAINS } from '../kit/declare/adapter.ts';
import { adapters } from './registry.gen.ts';
import type { AnyAdapter } from './domains.ts';
import type { Limits, SocialAdapter } from '../social/_contract.ts';
import { declaredStatus } from './rules.ts';

/** By `domain/id`: the peers that an adapter was tested against, and the tests. */
export const Proofs = z.record(
  z.string(),
  z.array(z.strictObject({ by: z.string().min(1), in: z.string().min(1) })).min(1),
);

/**
 * By `domain/id`: the maker's document that a fixture was written from, and how it was read. `description`: in a
 * machine-readable form; `clients`: through other clients, where the document was not at hand; `unread`: from general
 * knowledge.
 */
export const Documents = z.record(
  z.string(),
  z.strictObject({
    document: z.url().nullable(),
    basis: z.enum(['description', 'document', 'clients', 'unread']),
    asOf: z.iso.date(),
  }),
);
const BASIS = {
  description: 'its description for machines',
  document: 'its document',
  clients: 'programs of others',
  unread: 'general knowledge of its document',
} as const;
interface Known {
  proofs: z.output<typeof Proofs>;
  documents: z.output<typeof Documents>;
}

const INTRO = `# Providers

Every provider that is registered, in every version. Beside its own tests each is held to the contract of its domain: the requests and the refusals that its documents name, on a wire that takes nothing else. **Proven by** names what it was tried against beyond that: a real server, or an implementation of the protocol by others. Where nothing is named, only **Written from** speaks for it: how its maker's document was read, and when. None was tried with a live key (\`verified\` is false for all).

Fields in **bold** are secret; one with a question mark may be left out.
`;

const cell = (text: string): string => text.replaceAll('|', '\\|').replace(/\s+/g, ' ');

function fieldsOf({ credentials, setup }: AnyAdapter): string {
  const fields = Object.entries({ ...credentials, ...setup?.fields });
  return (
    fields.map(([name, { secret, required }]) => `${secret ? `**${name}**` : name}${required ? '' : '?'}`).join(', ') ||
    'none'
  );
}

function settingsOf({ setup }: AnyAdapter): string {
  const names = { instance: 'instance', org: 'organization' };
  return setup ? setup.owners.map((owner) => names[owner]).join(', ') : '';
}

function documentOf({ documents }: Known, name: string): string {
  const known = documents[name];
  if (!known) return '';
  const words = `${BASIS[known.basis]}, ${known.asOf}`;
  return known.document ? `[${words}](${known.document})` : words;
}

function row(adapter: AnyAdapter, known: Known): string {
  const { id, version, title, website, capabilities, setupNotes, check, domain } = adapter;
  const status = declaredStatus(adapter);
  return `| ${[
    `\`${id}@${version}\`${status === 'active' ? '' : ` (${status})`}`,
    website ? `[${title}](${website})` : title,
    fieldsOf(adapter),
    [...capabilities, ...(check ? ['check'] : [])].join(', '),
    settingsOf(adapter),
    documentOf(known, `${domain}/${id}`),
    (known.proofs[`${domain}/${id}`] ?? []).map(({ by }) => by).join(', '),
    setupNotes ?? '',
  ]
    .map(cell)
    .join(' | ')} |`;
}

const HEAD = `| Identity | Name | Fields | Operations | Settings of | Written from | Proven by | Notes |
|---|---|---|---|---|---|---|---|`;

const MATRIX = `### What each network takes and tells

**Once**: how a lost answer is looked up ([terms](../src/providers/social/README.md)), of a post, a comment and a repost. **Plugs** are declared; what runs them is to come.

| Network | Takes | Once | Threads | Comments | Reposts | Deletes | Reads | Counts | Mentions | Questions | Plugs |
|---|---|---|---|---|---|---|---|---|---|---|---|`;
const KINDS = ['image', 'video', 'audio'] as const;

function kindsOf({ mediaTypes, needsMedia, media }: Limits): string {
  const files = KINDS.filter((kind) => mediaTypes.some((type) => type.startsWith(`${kind}/`)));
  const documents = mediaTypes.includes('application/pdf') ? ['document'] : [];
  return [...(needsMedia ? [] : ['text']), ...(media > 0 ? files : []), ...documents].join(', ');
}
const named = (words: Readonly<Record<string, unknown>>): string =>
  Object.keys(words)
    .filter((word) => words[word])
    .join(', ');

const isSocial = (adapter: AnyAdapter): adapter is SocialAdapter => adapter.domain === 'social';
function socialRow(adapter: SocialAdapter): string {
  const { id, limits, once, threads, comment, repost, remove, comments, hide, metrics, channelMetrics } = adapter;
  return `| ${[
    id,
    kindsOf(limits),
    once,
    threads,
    comment ? `${comment.once}${comment.replies ? ', answers' : ''}` : '',
    repost?.once ?? '',
    remove ? 'yes' : '',
    named({ comments, 'hides them': hide }),
    named({ posts: metrics, channel: channelMetrics }),
    named({ search: adapter.mentions, text: adapter.mention }),
    Object.keys(adapter.tools ?? {}).join(', '),
    (adapter.plugs ?? []).map(({ identifier }) => identifier.replace(`${id}-`, '')).join(', '),
  ]
    .map(cell)
    .join(' | ')} |`;
}

/** Writes the text of `docs/providers.gen.md`. */
export function providersReference(known: Known): string {
  const sections = DOMAINS.flatMap((domain) => {
    const own = adapters.filter((adapter) => adapter.domain === domain).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    if (own.length === 0) return [];
    const rows = own.map((adapter) => row(adapter, known));
    const matrix = domain === 'social' ? [`${MATRIX}\n${own.filter(isSocial).map(socialRow).join('\n')}\n`] : [];
    return [`## ${domain}: ${own.length}\n\n${HEAD}\n${rows.join('\n')}\n`, ...matrix];
  });
  return [INTRO, ...sections].join('\n');
}
