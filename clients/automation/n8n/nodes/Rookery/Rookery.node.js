// Eight actions, as n8n reads them: what is asked stands in the description, and n8n asks it. Paths and summaries are
// those of the OpenAPI document (`description.gen.json`); here stand the fields that people fill in.
const { NodeConnectionTypes } = require('n8n-workflow');
const { operations } = require('../../description.gen.json');
const { getChannels } = require('../ask.js');

/**
 * The key of what is created: the same when n8n repeats a node that failed, another one for each node, turn of a loop,
 * item and, where an agent calls it as a tool, for other parameters.
 */
const ONCE =
  '={{ [$execution.id, $nodeId, $runIndex, $itemIndex, JSON.stringify($parameter).hash("sha256")].join("-").slice(-255) }}';

/** The request of an operation; `{name}` of its path is the field `parameter`. */
const request = (id, parameter, { body, headers } = {}) => ({
  request: {
    method: operations[id].method,
    ...(headers && { headers }),
    url: `=${operations[id].path.replace(/\{\w+\}/g, `{{encodeURIComponent($parameter["${parameter}"])}}`)}`,
    ...(body && { body }),
  },
});
const option = (name, value, operation, routing) => ({
  name,
  value,
  action: name,
  description: operations[operation].summary,
  routing,
});
const send = (property, value) => ({ send: { type: 'body', property, ...(value && { value }) } });
const shown = (resource, operation, more = {}) => ({
  displayOptions: { show: { resource: [resource], operation, ...more } },
});
/** A time without a zone is one of the workflow. */
const instant = '={{ DateTime.fromISO($value, { zone: $now.zoneName }).toUTC().toISO() }}';
/** The service tells a free time in UTC without a zone: with one it is the same instant in every workflow. */
const inUtc = { postReceive: [{ type: 'setKeyValue', properties: { date: '={{ $responseItem.date }}Z' } }] };

const actions = (displayName, value, options) => ({
  displayName,
  name: 'operation',
  type: 'options',
  noDataExpression: true,
  displayOptions: { show: { resource: [value] } },
  options,
  default: options[0].value,
});

const CHANNELS = { loadOptionsMethod: 'getChannels' };
const CHOOSE =
  'Choose from the list, or specify an ID using an <a href="https://docs.n8n.io/code/expressions/">expression</a>';

const CREATE = [
  {
    displayName: 'Channel Names or IDs',
    name: 'channelIds',
    type: 'multiOptions',
    required: true,
    default: [],
    description: CHOOSE.replace('an ID', 'IDs'),
    typeOptions: CHANNELS,
    ...shown('post', ['create']),
    routing: send(
      'posts',
      '={{ $value.map((id) => ({ integration: { id }, value: [{ content: $parameter.content, image: $parameter.files.file ?? [] }], settings: {} })) }}',
    ),
  },
  {
    displayName: 'Content',
    name: 'content',
    type: 'string',
    typeOptions: { rows: 4 },
    required: true,
    default: '',
    description: 'Plain text, or simple HTML',
    ...shown('post', ['create']),
  },
  {
    displayName: 'What Becomes of It',
    name: 'type',
    type: 'options',
    options: [
      { name: 'Keep as a Draft', value: 'draft' },
      { name: 'Publish Now', value: 'now' },
      { name: 'Schedule', value: 'schedule' },
    ],
    default: 'schedule',
    ...shown('post', ['create']),
    routing: send('type'),
  },
  {
    displayName: 'Date',
    name: 'date',
    type: 'dateTime',
    required: true,
    default: '',
    description: 'When it is published',
    ...shown('post', ['create'], { type: ['schedule', 'draft'] }),
    routing: send('date', instant),
  },
  {
    displayName: 'Files',
    name: 'files',
    type: 'fixedCollection',
    typeOptions: { multipleValues: true },
    placeholder: 'Add File',
    default: {},
    description: 'Files of the library, as Upload File answers them',
    options: [
      {
        displayName: 'File',
        name: 'file',
        values: [
          { displayName: 'ID', name: 'id', type: 'string', required: true, default: '' },
          { displayName: 'Path', name: 'path', type: 'string', required: true, default: '' },
        ],
      },
    ],
    ...shown('post', ['create']),
  },
  {
    displayName: 'Tags',
    name: 'tags',
    type: 'string',
    default: '',
    description: 'Names, separated by commas',
    ...shown('post', ['create']),
    routing: send(
      'tags',
      '={{ $value.split(",").map((name) => name.trim()).filter(Boolean).map((name) => ({ value: name, label: name })) }}',
    ),
  },
];

const OF_ONE_POST = [
  {
    displayName: 'Post ID',
    name: 'postId',
    type: 'string',
    required: true,
    default: '',
    ...shown('post', ['delete', 'edit', 'get', 'retry', 'setStatus']),
  },
  {
    displayName: 'Changes',
    name: 'changes',
    type: 'collection',
    placeholder: 'Add Change',
    default: {},
    ...shown('post', ['edit']),
    options: [
      {
        displayName: 'Content',
        name: 'content',
        type: 'string',
        typeOptions: { rows: 4 },
        default: '',
        routing: send('content'),
      },
      { displayName: 'Date', name: 'date', type: 'dateTime', default: '', routing: send('publishDate', instant) },
    ],
  },
  {
    displayName: 'Status',
    name: 'status',
    type: 'options',
    options: [
      { name: 'Draft', value: 'draft' },
      { name: 'Queued', value: 'schedule' },
    ],
    default: 'schedule',
    ...shown('post', ['setStatus']),
    routing: send('status'),
  },
  {
    displayName: 'Even if the Outcome Is Unknown',
    name: 'confirm',
    type: 'boolean',
    default: false,
    description: 'Whether to publish it again although it may be out already',
    ...shown('post', ['retry']),
    routing: send('confirm'),
  },
];

const OTHERS = [
  {
    displayName: 'Channel Name or ID',
    name: 'channelId',
    type: 'options',
    required: true,
    default: '',
    description: CHOOSE,
    typeOptions: CHANNELS,
    ...shown('channel', ['findSlot']),
  },
  {
    displayName: 'Address',
    name: 'url',
    type: 'string',
    required: true,
    default: '',
    description: 'A public address of a picture or a video',
    ...shown('file', ['upload']),
    routing: send('url'),
  },
  {
    displayName: 'Name',
    name: 'name',
    type: 'string',
    default: '',
    ...shown('file', ['upload']),
    routing: send('name', '={{ $value || undefined }}'),
  },
];

class Rookery {
  methods = { loadOptions: { getChannels } };

  description = {
    displayName: 'Rookery',
    name: 'rookery',
    icon: { light: 'file:../../icons/rookery.svg', dark: 'file:../../icons/rookery.dark.svg' },
    group: ['output'],
    version: 1,
    subtitle: '={{$parameter["operation"] + ": " + $parameter["resource"]}}',
    description: 'Publish to social networks',
    defaults: { name: 'Rookery' },
    usableAsTool: true,
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'rookeryApi', required: true }],
    requestDefaults: {
      baseURL: '={{$credentials.url.replace(/\\/+$/, "")}}',
      headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
    },
    properties: [
      {
        displayName: 'Resource',
        name: 'resource',
        type: 'options',
        noDataExpression: true,
        options: [
          { name: 'Channel', value: 'channel' },
          { name: 'File', value: 'file' },
          { name: 'Post', value: 'post' },
        ],
        default: 'post',
      },
      actions('Operation', 'post', [
        option(
          'Create a Post',
          'create',
          'createPosts',
          request('createPosts', '', { body: { shortLink: false }, headers: { 'Idempotency-Key': ONCE } }),
        ),
        option('Delete a Post', 'delete', 'deletePost', request('deletePost', 'postId')),
        option('Edit a Post', 'edit', 'editPost', request('editPost', 'postId')),
        option('Get a Post', 'get', 'getPost', request('getPost', 'postId')),
        option('Queue or Unqueue a Post', 'setStatus', 'setPostStatus', request('setPostStatus', 'postId')),
        option('Retry a Post', 'retry', 'retryPost', request('retryPost', 'postId')),
      ]),
      actions('Operation', 'channel', [
        option('Find a Free Time', 'findSlot', 'findChannelSlot', {
          ...request('findChannelSlot', 'channelId'),
          output: inUtc,
        }),
      ]),
      actions('Operation', 'file', [
        option(
          'Upload a File',
          'upload',
          'uploadFromUrl',
          request('uploadFromUrl', '', { headers: { 'Idempotency-Key': ONCE } }),
        ),
      ]),
      ...CREATE,
      ...OF_ONE_POST,
      ...OTHERS,
    ],
  };
}
module.exports = { Rookery };
