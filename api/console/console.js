// Shared by the pages. Texts from outside are only ever set as text, never as markup.
const element = (id) => document.getElementById(id);
const root = new URL(document.documentElement.dataset.root, location.href);
let shownOrg; // decisions are for the organization that the page shows, whatever another tab changes to

/** Asks the service; the cookie says who, the header that it was this page. */
async function ask(method, path, body) {
  const csrf = /(?:^|; )(?:__(?:Host|Secure)-)?csrf_token=([0-9a-f]{64})/i.exec(document.cookie)?.[1];
  const response = await fetch(new URL(path, root), {
    method,
    credentials: 'same-origin',
    headers: {
      accept: 'application/json',
      ...(body && { 'content-type': 'application/json' }),
      ...(csrf && { 'x-csrf-token': csrf }),
      ...(shownOrg && { showorg: shownOrg }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json().catch(() => ({})) };
}

function say(text) {
  element('message').textContent = text;
  element('message').hidden = text === '';
}
const reasonOf = ({ error_description: description, message }) =>
  description ?? message ?? 'Something went wrong. Try again.';

/** Shows who is logged in; without a session the form for it is shown. */
async function whoAmI() {
  const { status, body } = await ask('GET', 'user/self');
  element('login').hidden = status === 200;
  shownOrg = body.orgId;
  return status === 200 ? body : undefined;
}

element('login').addEventListener('submit', async (event) => {
  event.preventDefault();
  const { email, password } = Object.fromEntries(new FormData(event.target));
  const { status, body } = await ask('POST', 'auth/login', { provider: 'LOCAL', email, password });
  say(status === 200 ? '' : reasonOf(body));
  if (status === 200) await show();
});
