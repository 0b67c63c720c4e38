import { z } from 'zod';
import type { Field } from '../kit/declare/fields.ts';
import { multiLine, trimmedLine } from '../kit/declare/setting-texts.ts';
import type { Http } from '../kit/wire/http.ts';
import { type Made, madeOf, uploadNext, urlsOf } from './_articles.ts';
import type { Operations, Post, Published } from './_contract.ts';
import { fitted } from './_files.ts';

export const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif'];
/** A campaign that was started, whatever became of it since. */
const STARTED = ['running', 'paused', 'cancelled', 'finished', 'scheduled'];

const Id = z.union([z.string().regex(/^\d{1,18}$/), z.int().positive()]).transform(Number);
export const Settings = z.looseObject({
  subject: trimmedLine(500),
  preview: multiLine(500).optional(),
  list: Id,
  template: z.union([z.literal('').transform(() => undefined), Id]).optional(),
});

const Campaign = z.object({
  data: z.object({
    id: z.number(),
    status: z.string(),
    views: z.number().nullish(),
    clicks: z.number().nullish(),
  }),
});
/** Older servers answer `uri`, without the host. */
const Stored = z
  .object({ data: z.object({ id: z.number(), url: z.string().optional(), uri: z.string().optional() }) })
  .transform(({ data: { id, url, uri } }) => ({ id, url: url ?? uri ?? '' }));

/** The server answers a bad request, with words in its language, where it has no campaign of this id. */
const Absent = z.strictObject({ status: z.literal(400), message: z.string() });
const at = (id: string) => `/campaigns/${encodeURIComponent(id)}`;
/** Reads a campaign; undefined for one that is not there. */
export const campaignOf = (http: Http, id: string) => http.find(at(id), Campaign, { absent: Absent });

const published = (server: string, id: string): Published => ({ id, url: `${server}/admin/campaigns/${id}` });

/** Braces in a text are no template of the server. */
const literal = (written: string): string => written.replaceAll('{{', '{{ "{{" }}');
const escapeHtml = (plain: string): string => plain.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** The draft of a post: its text, and the pictures below it. */
function campaign(post: Post, settings: z.output<typeof Settings>, made: Made) {
  const { subject, preview, list, template } = settings;
  const pictures = urlsOf(made).map((url, n) => {
    const alt = escapeHtml(post.media[n]?.alt ?? '');
    return `<p><img src="${escapeHtml(url)}" alt="${alt}" style="max-width:100%"></p>`;
  });
  const body = [
    ...(preview ? [`<div style="display:none;max-height:0;overflow:hidden">${escapeHtml(preview)}</div>`] : []),
    ...(post.text === '' ? [] : [`<p>${post.text.replaceAll('\n', '<br>\n')}</p>`]),
    ...pictures,
  ];
  return {
    name: subject,
    subject: literal(subject),
    lists: [list],
    type: 'regular',
    content_type: 'html',
    messenger: 'email',
    body: literal(body.join('\n')),
    altbody: literal(post.plain),
    ...(template !== undefined && { template_id: template }),
  };
}

/** Campaigns: a draft is made, then started. */
export const campaigns = {
  async prepare({ http, values: { url }, settings, ...call }) {
    const made = await uploadNext(call, async (file) => {
      const picture = await fitted(file, { types: IMAGE_TYPES });
      const stored = await http.post('/media', Stored, { multipart: { file: picture } });
      return { ...stored, url: new URL(stored.url, url).href };
    });
    if (!made) return { againMs: 0 };
    if (made.draft === undefined) {
      const json = campaign(call.post, settings, made);
      const { data } = await http.post('/campaigns', Campaign, { json });
      await call.save({ ...made, draft: String(data.id) });
    }
    return 'ready';
  },
  async publish({ http, values: { url }, saved }) {
    const id = madeOf(saved).draft!; // `prepare`
    await http.put(`/campaigns/${id}/status`, Campaign, { json: { status: 'running' }, creates: true });
    return published(url, id);
  },
  async find({ http, values: { url }, saved }) {
    const id = madeOf(saved).draft;
    const found = id === undefined ? undefined : await campaignOf(http, id);
    return found && STARTED.includes(found.data.status) ? published(url, String(found.data.id)) : undefined;
  },
  async remove({ http, published: { id } }) {
    if (await campaignOf(http, id)) await http.delete(at(id));
  },
} satisfies Operations<typeof Settings, Record<'url' | 'username' | 'password', Field>>;
