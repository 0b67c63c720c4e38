const { operations } = require('../description.gen.json');

/** Calls an operation of the document as a node; `isFull`: a refusal is an answer, too. */
async function ask(context, id, { path = {}, body, isFull = false } = {}) {
  const { url } = await context.getCredentials('rookeryApi');
  const { method, path: template } = operations[id];
  const filled = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name]));
  return context.helpers.httpRequestWithAuthentication.call(context, 'rookeryApi', {
    method,
    url: url.replace(/\/+$/, '') + filled,
    json: true,
    ...(body && { body }),
    ...(isFull && { returnFullResponse: true, ignoreHttpStatusErrors: true }),
  });
}

/** Channels to choose from, as `this` node sees them. */
async function getChannels() {
  const channels = await ask(this, 'listChannels');
  return channels
    .map(({ id, name, identifier }) => ({ name: `${name} (${identifier})`, value: id }))
    .sort((a, b) => a.name.localeCompare(b.name));
}
module.exports = { ask, getChannels };
