// Loads, judges and runs the nodes of a package as n8n does, with its own loader and its execution core. A line of JSON on
// standard input is a request, a line on standard output its answer.
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';

const require = createRequire(import.meta.url);
const { ExecuteContext, HookContext, LoadOptionsContext, PackageDirectoryLoader, RoutingNode, WebhookContext, WorkflowExecute, ExecutionLifecycleHooks } =
  require('n8n-core');
const { createRunExecutionData, NodeHelpers, Workflow } = require('n8n-workflow');

const folder = process.argv[2];
const loader = new PackageDirectoryLoader(folder);
await loader.loadAll();
const PREFIX = loader.packageName;

const start = {
  description: { displayName: 'Start', name: 'start', group: ['trigger'], version: 1, description: '', defaults: {}, inputs: [], outputs: ['main'], properties: [] },
  async execute() {
    return [this.getInputData()];
  },
};
const typeOf = (type) => (type === 'start' ? start : loader.getNode(type.slice(PREFIX.length + 1)).type);
const nodeTypes = {
  getByName: typeOf,
  getByNameAndVersion: (type) => NodeHelpers.getVersionedNodeType(typeOf(type)),
  getKnownTypes: () => ({}),
};

/** What the service of n8n does for its core: the credentials of a node, and what they add to a request. */
const credentialsHelper = (credentials) => ({
  isCredentialUsableByNode: () => true,
  getParentTypes: () => [],
  getCredentialsProperties: (type) => loader.getCredential(type).type.properties,
  getDecrypted: async () => credentials,
  preAuthentication: async () => undefined,
  runPreAuthentication: async () => undefined,
  updateCredentials: async () => {},
  authenticate: async (given, type, options, workflow, node) => {
    const { headers = {} } = loader.getCredential(type).type.authenticate.properties;
    const resolved = Object.entries(headers).map(([name, value]) => [
      name,
      workflow.expression.getSimpleParameterValue(node, value, 'internal', { $credentials: given }, undefined, ''),
    ]);
    return { ...options, headers: { ...options.headers, ...Object.fromEntries(resolved) } };
  },
});

/** A workflow with one node of the package, after a start where it has an input. */
async function opened({ node: name, parameters = {}, credentials, webhookBaseUrl = '', staticData = {}, executionId = randomUUID(), timezone = 'UTC', more = {} }) {
  const type = `${PREFIX}.${name}`;
  const { description } = typeOf(type);
  const filled = NodeHelpers.getNodeParameters(description.properties, parameters, true, false, null, description);
  const node = {
    id: 'node',
    name: 'Node',
    type,
    typeVersion: 1,
    position: [0, 0],
    webhookId: 'hook',
    parameters: filled,
    credentials: { rookeryApi: { id: '1', name: 'key' } },
  };
  const starting = { id: 'start', name: 'Start', type: 'start', typeVersion: 1, position: [0, 0], parameters: {} };
  const workflow = new Workflow({
    id: 'workflow',
    nodes: [starting, node],
    connections: { Start: { main: [[{ node: 'Node', type: 'main', index: 0 }]] } },
    active: true,
    nodeTypes,
    settings: { timezone },
    staticData: { 'node:Node': staticData },
  });
  const additionalData = {
    credentialsHelper: credentialsHelper(credentials),
    executionId,
    restApiUrl: '',
    instanceBaseUrl: '',
    formWaitingBaseUrl: 'http://n8n.example/form',
    webhookBaseUrl,
    webhookWaitingBaseUrl: 'http://n8n.example/webhook',
    webhookTestBaseUrl: '',
    currentNodeParameters: filled,
    variables: {},
    setExecutionStatus() {},
    logAiEvent() {},
    hooks: new ExecutionLifecycleHooks('manual', '1', { id: 'workflow', name: 'w', nodes: [starting, node], connections: {} }),
    ...more,
  };
  return { workflow, node, starting, additionalData };
}

const DO = {
  load: async () => ({
    nodes: loader.types.nodes.map(({ name }) => name),
    credentials: loader.types.credentials.map(({ name }) => name),
  }),
  /** Runs a workflow to its end. */
  async execute({ items = [{ json: {} }], ...given }) {
    const { workflow, starting, additionalData } = await opened(given);
    const running = new WorkflowExecute(additionalData, 'manual', undefined);
    const { data } = await running.run({
      workflow,
      startNode: starting,
      triggerToStartFrom: { name: 'Start', data: { data: { main: [items] } } },
    });
    const { error, runData } = data.resultData;
    if (error) throw Object.assign(new Error(error.message), { description: error.description, httpCode: error.httpCode });
    return runData['Node'][0].data.main[0].map(({ json }) => json);
  },
  /** The choices of a field. */
  async options({ field, ...given }) {
    const { workflow, node, additionalData } = await opened(given);
    const type = typeOf(node.type);
    const { typeOptions } = type.description.properties.find(({ name }) => name === field);
    return type.methods.loadOptions[typeOptions.loadOptionsMethod].call(
      new LoadOptionsContext(workflow, node, additionalData, `parameters.${field}`),
    );
  },
  /** The test of the credentials. */
  async test(given) {
    const { workflow, node, additionalData } = await opened({ ...given, node: 'rookery' });
    const { test } = loader.getCredential('rookeryApi').type;
    const asking = {
      description: {
        ...typeOf(node.type).description,
        requestDefaults: undefined,
        properties: [{ displayName: '', type: 'string', name: '', default: '', routing: test }],
      },
    };
    return routed(asking, { workflow, node, additionalData });
  },
  /** Subscribes, asks or ends; answers what the node says, and what it keeps. */
  async hook({ method, ...given }) {
    const { workflow, node, additionalData } = await opened(given);
    const context = new HookContext(workflow, node, additionalData, 'trigger', 'activate', { node: node.name, webhookDescription: {} });
    const done = await typeOf(node.type).webhookMethods.default[method].call(context);
    return { done, kept: workflow.getStaticData('node', node), url: context.getNodeWebhookUrl('default') };
  },
  /** A delivery comes in. */
  async webhook({ headers, body, ...given }) {
    let answered = 0;
    const httpResponse = { status: (code) => ((answered = code), httpResponse), json: () => httpResponse };
    const httpRequest = { headers, body: JSON.parse(body), rawBody: Buffer.from(body), params: {}, query: {} };
    const { workflow, node, additionalData } = await opened({ ...given, more: { httpRequest, httpResponse } });
    const context = new WebhookContext(workflow, node, additionalData, 'webhook', { node: node.name, webhookDescription: { name: 'default' } }, [], null);
    const { workflowData } = await typeOf(node.type).webhook.call(context);
    return { answered, items: workflowData?.[0].map(({ json }) => json) ?? null };
  },
  /**
   * The rules of n8n for nodes of others. They are for sources in TypeScript that are built into `dist/`; ours stand where
   * they are loaded from, so the rules see a copy in that form.
   */
  async lint() {
    const { ESLint } = await import('eslint');
    const { default: plugin } = await import('@n8n/eslint-plugin-community-nodes');
    const { default: parser } = await import('@typescript-eslint/parser');
    const copy = await mkdtemp(join(tmpdir(), 'n8n-nodes-'));
    try {
      await cp(folder, copy, { recursive: true, filter: (path) => !path.includes('node_modules') });
      const files = (await readdir(copy, { recursive: true })).filter((file) => file.endsWith('.js'));
      for (const file of files) {
        const type = file.startsWith('credentials') ? 'ICredentialType' : 'INodeType';
        const text = await readFile(join(copy, file), 'utf8');
        await rm(join(copy, file));
        const typed = text.replace(/^class (\w+) \{/m, `export class $1 implements ${type} {`);
        await writeFile(join(copy, file.replace(/js$/, 'ts')), typed);
      }
      const manifest = JSON.parse(await readFile(join(copy, 'package.json'), 'utf8'));
      for (const list of ['nodes', 'credentials']) manifest.n8n[list] = manifest.n8n[list].map((file) => `dist/${file}`);
      await writeFile(join(copy, 'package.json'), JSON.stringify(manifest, null, 2));
      const eslint = new ESLint({
        cwd: copy,
        overrideConfigFile: true,
        overrideConfig: [{ files: ['**/*.ts', 'package.json'], languageOptions: { parser }, ...plugin.configs.recommended }],
      });
      const judged = await eslint.lintFiles(['package.json', '**/*.ts']);
      return judged.flatMap(({ filePath, messages }) =>
        messages.map(({ ruleId, message, line }) => `${relative(copy, filePath)}:${line} ${ruleId}: ${message}`),
      );
    } finally {
      await rm(copy, { recursive: true });
    }
  },
};

async function routed(type, { workflow, node, additionalData }) {
  const run = createRunExecutionData({});
  const input = { main: [[{ json: {} }]] };
  const data = { data: input, node, source: null };
  const context = new ExecuteContext(workflow, node, additionalData, 'internal', run, 0, input.main[0], input, data, []);
  const [items] = await new RoutingNode(context, type).runNode();
  return items.map(({ json }) => json);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { act, ...given } = JSON.parse(line);
  const answer = await DO[act](given).then(
    (results) => ({ results }),
    (error) => ({ error: error.message, description: error.description ?? null, httpCode: error.httpCode ?? null, stack: error.stack }),
  );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
