// Starts a workflow when something has happened: it subscribes by a webhook of the service, and ends it.
const { NodeConnectionTypes } = require('n8n-workflow');
const { events } = require('../../description.gen.json');
const { ask, getChannels } = require('../ask.js');
const { isSigned } = require('./signature.js');

const isSame = (some, others) => [...some].sort().join() === [...others].sort().join();

class RookeryTrigger {
  description = {
    displayName: 'Rookery Trigger',
    name: 'rookeryTrigger',
    icon: { light: 'file:../../icons/rookery.svg', dark: 'file:../../icons/rookery.dark.svg' },
    group: ['trigger'],
    version: 1,
    subtitle: '={{$parameter["events"].join(", ")}}',
    description: 'Starts the workflow when a post is published or fails, or a channel needs a new login',
    defaults: { name: 'Rookery Trigger' },
    inputs: [],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'rookeryApi', required: true }],
    webhooks: [{ name: 'default', httpMethod: 'POST', responseMode: 'onReceived', path: 'webhook' }],
    properties: [
      {
        displayName: 'Events',
        name: 'events',
        type: 'multiOptions',
        required: true,
        default: [],
        options: Object.entries(events).map(([value, { summary }]) => ({ name: summary, value })),
      },
      {
        displayName: 'Channel Names or IDs',
        name: 'channelIds',
        type: 'multiOptions',
        default: [],
        description:
          'Leave it empty for all channels. Choose from the list, or specify IDs using an <a href="https://docs.n8n.io/code/expressions/">expression</a>.',
        typeOptions: { loadOptionsMethod: 'getChannels' },
      },
    ],
  };

  methods = { loadOptions: { getChannels } };

  webhookMethods = {
    default: {
      async checkExists() {
        const kept = this.getWorkflowStaticData('node');
        if (kept.webhookId === undefined) return false;
        const { statusCode, body } = await ask(this, 'getWebhook', { path: { id: kept.webhookId }, isFull: true });
        if (statusCode !== 200) return false; // what is refused is told when it is created
        const url = this.getNodeWebhookUrl('default');
        // a key that may not change the webhook is told the origin of its address alone
        const isOwn = body.url === url || body.url === `${new URL(url).origin}/…`;
        const channels = body.integrations.map(({ id }) => id);
        return (
          isOwn &&
          isSame(body.events, this.getNodeParameter('events')) &&
          isSame(channels, this.getNodeParameter('channelIds', []))
        );
      },
      async create() {
        const kept = this.getWorkflowStaticData('node');
        // one that is there and differs
        if (kept.webhookId !== undefined)
          await ask(this, 'deleteWebhook', { path: { id: kept.webhookId }, isFull: true });
        const { id, secret } = await ask(this, 'createWebhook', {
          body: {
            name: 'n8n',
            url: this.getNodeWebhookUrl('default'),
            integrations: this.getNodeParameter('channelIds', []).map((channel) => ({ id: channel })),
            events: this.getNodeParameter('events'),
            secret: true,
          },
        });
        Object.assign(kept, { webhookId: id, secret });
        return true;
      },
      async delete() {
        const kept = this.getWorkflowStaticData('node');
        if (kept.webhookId === undefined) return true;
        const { statusCode } = await ask(this, 'deleteWebhook', { path: { id: kept.webhookId }, isFull: true });
        if (statusCode !== 200 && statusCode !== 404) return false;
        delete kept.webhookId;
        delete kept.secret;
        return true;
      },
    },
  };

  async webhook() {
    const { rawBody } = this.getRequestObject();
    const headers = this.getHeaderData();
    const { secret } = this.getWorkflowStaticData('node');
    if (!rawBody || !secret || !isSigned(rawBody, headers, secret)) {
      this.getResponseObject().status(401).json({ message: 'The signature is wrong' });
      return { noWebhookResponse: true };
    }
    const { event, timestamp, data } = this.getBodyData();
    // the same at each attempt
    return { workflowData: [this.helpers.returnJsonArray([{ id: headers['webhook-id'], event, timestamp, ...data }])] };
  }
}
module.exports = { RookeryTrigger };
