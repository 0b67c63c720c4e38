// The definition for Zapier: eight actions and three triggers. Paths, summaries and samples are those of the OpenAPI
// document (`description.gen.json`); here stand the fields that people fill in.
import { readFileSync } from 'node:fs';

const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));
const { operations, events } = read('./description.gen.json');
const { version, dependencies } = read('./package.json');

const sentence = (summary) => `${summary}.`;

/** Calls an operation of the document; a `{name}` of its path is filled from `path`. */
async function ask(z, bundle, id, { path = {}, params, body, key } = {}) {
  const { method, path: template } = operations[id];
  const filled = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name]));
  const url = bundle.authData.url.replace(/\/+$/, '') + filled;
  const headers = key === undefined ? {} : { 'Idempotency-Key': key };
  const { data } = await z.request({ method, url, headers, ...(params && { params }), ...(body && { body }) });
  return data;
}
/**
 * The key of what a step creates, where its input tells one run from another: Zapier has no name for a run that its
 * replay shares. Other steps of the run have another input; of its date what was typed counts, as "tomorrow" is another
 * instant in a replay.
 */
function keyOf(z, { inputData, inputDataRaw }) {
  if (!inputData.run) return undefined;
  return z.hash('sha256', JSON.stringify({ ...inputData, date: inputDataRaw?.date }), 'hex', 'utf8');
}

const withKey = (request, _z, bundle) => {
  if (bundle.authData.apiKey) request.headers.Authorization = bundle.authData.apiKey;
  return request;
};
/** Refusals with the words of the service; a limit of calls is waited for by Zapier itself. */
const withoutRefusals = (response, z) => {
  response.skipThrowForStatus = true;
  if (response.status < 400) return response;
  const { message = `The service answered ${response.status}`, code = 'unknown' } = response.data ?? {};
  if (response.status === 429)
    throw new z.errors.ThrottledError(message, Number(response.getHeader('retry-after')) || 60);
  throw new z.errors.Error(message, code, response.status);
};

const channel = {
  key: 'channel',
  label: 'Channel',
  type: 'string',
  dynamic: 'channels.id.name',
  required: true,
};
const post = { key: 'post', label: 'Post', type: 'string', helpText: 'The ID of the post.', required: true };
const run = {
  key: 'run',
  label: 'Identity of the Run',
  type: 'string',
  helpText:
    'The same in a replay, another in each run, such as the ID of the trigger: no replay in 24 hours creates it twice.',
};
const POST_TYPES = { schedule: 'Schedule', now: 'Publish now', draft: 'Keep as a draft' };

/** Fetches each address into the media library first: networks take files from there. */
const filesOf = (z, bundle, keyAt) =>
  Promise.all(
    (bundle.inputData.media ?? []).filter(Boolean).map(async (url, n) => {
      const { id, path } = await ask(z, bundle, 'uploadFromUrl', { body: { url }, key: keyAt(n) });
      return { id, path };
    }),
  );

async function createPost(z, bundle) {
  const { channels, content, type, date, tags } = bundle.inputData;
  if (type === 'schedule' && !date) throw new z.errors.Error('A scheduled post needs a date', 'date_missing', 400);
  const key = keyOf(z, bundle);
  const image = await filesOf(z, bundle, (n) => (key ? `${key}-${n}` : undefined));
  const created = await ask(z, bundle, 'createPosts', {
    key,
    body: {
      type,
      ...(date && { date }),
      shortLink: false,
      tags: (tags ?? []).map((name) => ({ value: name, label: name })),
      posts: channels.map((id) => ({ integration: { id }, value: [{ content, image }], settings: {} })),
    },
  });
  return { id: created[0].postId, posts: created };
}

const action = (operation, key, noun, label, inputFields, perform, sample) => ({
  key,
  noun,
  display: { label, description: sentence(operations[operation].summary) },
  operation: { inputFields, perform, sample: sample ?? operations[operation].sample },
});

const CREATES = [
  action(
    'createPosts',
    'create_post',
    'Post',
    'Create Post',
    [
      { ...channel, key: 'channels', label: 'Channels', list: true },
      { key: 'content', label: 'Content', type: 'text', helpText: 'Plain text, or simple HTML.', required: true },
      {
        key: 'type',
        label: 'What Becomes of It',
        type: 'string',
        choices: POST_TYPES,
        default: 'schedule',
        required: true,
      },
      {
        key: 'date',
        label: 'Date',
        type: 'datetime',
        helpText: 'When it is published, for scheduled posts and drafts.',
      },
      {
        key: 'media',
        label: 'Media',
        type: 'string',
        list: true,
        helpText: 'Public addresses of pictures or a video.',
      },
      { key: 'tags', label: 'Tags', type: 'string', list: true },
      run,
    ],
    createPost,
    { id: operations.createPosts.sample[0].postId, posts: operations.createPosts.sample },
  ),
  action(
    'uploadFromUrl',
    'upload_file',
    'File',
    'Upload File',
    [
      {
        key: 'url',
        label: 'Address',
        type: 'string',
        helpText: 'A public address of a picture or a video.',
        required: true,
      },
      { key: 'name', label: 'Name', type: 'string' },
      run,
    ],
    (z, bundle) => {
      const { url, name } = bundle.inputData;
      return ask(z, bundle, 'uploadFromUrl', { body: { url, ...(name && { name }) }, key: keyOf(z, bundle) });
    },
  ),
  action(
    'editPost',
    'edit_post',
    'Post',
    'Edit Post',
    [post, { key: 'content', label: 'Content', type: 'text' }, { key: 'date', label: 'Date', type: 'datetime' }],
    (z, bundle) => {
      const { post: id, content, date } = bundle.inputData;
      const body = { ...(content && { content }), ...(date && { publishDate: date }) };
      return ask(z, bundle, 'editPost', { path: { id }, body });
    },
  ),
  action(
    'setPostStatus',
    'set_post_status',
    'Post',
    'Queue or Unqueue Post',
    [
      post,
      {
        key: 'status',
        label: 'Status',
        type: 'string',
        choices: { schedule: 'Queued', draft: 'Draft' },
        required: true,
      },
    ],
    (z, bundle) => {
      const { post: id, status } = bundle.inputData;
      return ask(z, bundle, 'setPostStatus', { path: { id }, body: { status } });
    },
  ),
  action('retryPost', 'retry_post', 'Post', 'Retry Post', [post], (z, bundle) =>
    ask(z, bundle, 'retryPost', { path: { id: bundle.inputData.post }, body: {} }),
  ),
  action('deletePost', 'delete_post', 'Post', 'Delete Post', [post], (z, bundle) =>
    ask(z, bundle, 'deletePost', { path: { id: bundle.inputData.post } }),
  ),
];

/** The status of a refusal; undefined for any other failure, whose message is no JSON. */
function statusOf({ message }) {
  try {
    return JSON.parse(message).status;
  } catch {
    return undefined;
  }
}
/** What a search does not find is an empty list. */
const foundOr404 = (asked) =>
  asked.then(
    (one) => [one],
    (error) => {
      if (statusOf(error) === 404) return [];
      throw error;
    },
  );
const SEARCHES = [
  action('getPost', 'find_post', 'Post', 'Find Post', [post], (z, bundle) =>
    foundOr404(ask(z, bundle, 'getPost', { path: { id: bundle.inputData.post } })),
  ),
  action(
    'findChannelSlot',
    'find_free_time',
    'Free Time',
    'Find Free Posting Time',
    [channel],
    async (z, bundle) => {
      const id = bundle.inputData.channel;
      const slots = await foundOr404(ask(z, bundle, 'findChannelSlot', { path: { id } }));
      return slots.map(({ date }) => ({ id: `${id} ${date}`, date: `${date}Z` })); // told in UTC, without a zone
    },
    { id: `channel ${operations.findChannelSlot.sample.date}`, ...operations.findChannelSlot.sample },
  ),
];

/** A trigger that subscribes as a webhook for one event, of one channel or of all. */
function trigger(event, key, noun, label) {
  const sample = (({ timestamp, data }) => ({ id: 'msg_1', timestamp, ...data }))(events[event].sample);
  return {
    key,
    noun,
    display: {
      label,
      description: `Triggers when ${events[event].summary[0].toLowerCase()}${events[event].summary.slice(1)}.`,
    },
    operation: {
      type: 'hook',
      inputFields: [{ ...channel, required: false, helpText: 'Leave it empty for all channels.' }],
      performSubscribe: (z, bundle) =>
        ask(z, bundle, 'createWebhook', {
          body: {
            name: `Zapier: ${label}`,
            url: bundle.targetUrl,
            integrations: bundle.inputData.channel ? [{ id: bundle.inputData.channel }] : [],
            events: [event],
          },
        }),
      performUnsubscribe: (z, bundle) => ask(z, bundle, 'deleteWebhook', { path: { id: bundle.subscribeData.id } }),
      perform(_z, bundle) {
        const { timestamp, data } = bundle.cleanedRequest;
        const headers = Object.entries(bundle.rawRequest?.headers ?? {});
        // the same at each attempt
        const [, id] = headers.find(([name]) => /^(http-)?webhook-id$/i.test(name)) ?? [];
        return [{ id: id ?? `${event} ${timestamp}`, timestamp, ...data }];
      },
      performList: () => [sample],
      sample,
    },
  };
}
const TRIGGERS = [
  trigger('post.published', 'post_published', 'Post', 'Post Published'),
  trigger('post.failed', 'post_failed', 'Post', 'Post Failed'),
  trigger('channel.refresh_needed', 'channel_refresh_needed', 'Channel', 'Channel Needs a New Login'),
  {
    key: 'channels',
    noun: 'Channel',
    display: { label: 'List Channels', description: sentence(operations.listChannels.summary), hidden: true },
    operation: { perform: (z, bundle) => ask(z, bundle, 'listChannels'), sample: operations.listChannels.sample[0] },
  },
];

const byKey = (list) => Object.fromEntries(list.map((one) => [one.key, one]));
export default {
  version,
  platformVersion: dependencies['zapier-platform-core'],
  authentication: {
    type: 'custom',
    fields: [
      {
        key: 'url',
        label: 'Address of the Service',
        type: 'string',
        helpText: 'As in `https://app.example.com/api`.',
        required: true,
      },
      {
        key: 'apiKey',
        label: 'API Key',
        type: 'password',
        helpText: 'Make one in the settings of your account.',
        required: true,
      },
    ],
    test: (z, bundle) => ask(z, bundle, 'getMe'),
    connectionLabel: '{{orgName}}',
  },
  beforeRequest: [withKey],
  afterResponse: [withoutRefusals],
  triggers: byKey(TRIGGERS),
  searches: byKey(SEARCHES),
  creates: byKey(CREATES),
};
