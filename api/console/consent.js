const WORDS = {
  'mcp:read': 'Read posts, campaigns, media, channels, webhooks and analytics of the organization',
  'mcp:posts:write': [
    'Create, change, schedule, publish and delete posts, campaigns and media',
    'Disconnect channels, with all posts that wait on them',
    'Make, change and delete webhooks: what the organization publishes is then sent to addresses that the app chooses',
    '(each as far as your role allows)',
  ].join('\n• '),
};
const query = new URLSearchParams(location.search);

/** Shows the request to whoever is logged in. */
async function show() {
  const { status, body } = await ask('GET', `oauth/authorize${location.search}`);
  if (status !== 200) return say(reasonOf(body));
  const self = await whoAmI();
  const { app, scopes } = body;
  const { protocol, host } = new URL(app.redirectUrl);
  element('app').textContent = app.name;
  element('description').textContent = app.description || 'Nothing.';
  element('client-host').textContent = app.clientHost ?? 'None: it registered itself, or an organization here made it.';
  element('scopes').textContent = scopes.map((scope) => `• ${WORDS[scope] ?? scope}`).join('\n');
  element('host').textContent = host ? `${protocol}//${host}` : protocol;
  element('org').textContent = self ? self.orgName : 'Log in to see.';
  element('request').hidden = false;
  for (const id of ['deny', 'approve']) element(id).disabled = !self;
}

for (const action of ['deny', 'approve'])
  element(action).addEventListener('click', async () => {
    for (const id of ['deny', 'approve']) element(id).disabled = true;
    const { status, body } = await ask('POST', 'oauth/authorize', { ...Object.fromEntries(query), action });
    if (status === 200) return location.assign(body.redirect);
    say(reasonOf(body));
    await show();
  });

await show();
