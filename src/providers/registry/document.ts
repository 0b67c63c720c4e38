import { z } from 'zod';
import { DOMAINS } from '../kit/declare/adapter.ts';
import { adapters } from './registry.gen.ts';
import type { AnyAdapter } from './domains.ts';
import type { Limits, SocialAdapter } from '../social/_contract.ts';
import { declaredStatus } from './rules.ts';

/**
 * One thing that an adapter was tried against, and the test. `S`: a server; `D`: an official document; `O`: a client by
 * others.
 */
export interface Proof {
  /** `domain/id`. */
  name: string;
  kind: 'S' | 'D' | 'O';
  by: string;
  in: string;
}

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
const KINDS_OF_PROOF = ['S', 'D', 'O'] as const;
interface Known {
  proofs: readonly Proof[];
  documents: z.output<typeof Documents>;
}

const INTRO = `# Providers

Every provider that is registered, in every version. Beside its own tests each is held to the contract of its domain: the requests and the refusals that its documents name, on a wire that takes nothing else. **Proof** is what it was tried against beyond that:

| Proof | |
|---|---|
| **S** | a real server, or one by others that stands in for it |
| **D** | an official document, which the requests of its fixture are held against as far as it describes them |
| **O** | a client by others: for the same act both send the same, field by field, or the one takes what the other made |
| **F** | nothing else: **Written from** alone speaks for it, how its maker's document was read, and when |

None was tried with a live key (\`verified\` is false for all).

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

/** Each kind of proof once, with what it is by. */
function proofOf({ proofs, documents }: Known, name: string): string {
  const own = proofs.filter((proof) => proof.name === name);
  const shown = KINDS_OF_PROOF.flatMap((kind) => {
    const by = new Set(own.filter((proof) => proof.kind === kind).map((proof) => proof.by));
    return by.size > 0 ? [`**${kind}** ${[...by].join(', ')}`] : [];
  });
  return shown.join('; ') || (documents[name] ? '**F**' : '');
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
    proofOf(known, `${domain}/${id}`),
    setupNotes ?? '',
  ]
    .map(cell)
    .join(' | ')} |`;
}

const HEAD = `| Identity | Name | Fields | Operations | Settings of | Written from | Proof | Notes |
|---|---|---|---|---|---|---|---|`;

const MATRIX = `### What each network takes and tells

**Once**: how a lost answer is looked up ([terms](../src/providers/social/README.md)), of a post, a comment and a repost. **Plugs** act after a post is out, each as often as it declares. **Proof** as above.

| Network | Takes | Once | Threads | Comments | Reposts | Deletes | Reads | Counts | Mentions | Tools | Plugs | Proof |
|---|---|---|---|---|---|---|---|---|---|---|---|---|`;
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
function socialRow(adapter: SocialAdapter, known: Known): string {
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
    proofOf(known, `social/${id}`),
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
    const matrix =
      domain === 'social'
        ? [
            `${MATRIX}\n${own
              .filter(isSocial)
              .map((adapter) => socialRow(adapter, known))
              .join('\n')}\n`,
          ]
        : [];
    return [`## ${domain}: ${own.length}\n\n${HEAD}\n${rows.join('\n')}\n`, ...matrix];
  });
  return [INTRO, ...sections].join('\n');
}
