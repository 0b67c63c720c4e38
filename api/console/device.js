const form = element('request');
form.elements.code.value = new URLSearchParams(location.search).get('user_code') ?? '';

/** Shows the form to whoever is logged in. */
async function show() {
  const self = await whoAmI();
  form.hidden = !self;
  if (self) element('org').textContent = self.orgName;
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const act = event.submitter?.value ?? 'approve';
  const { status, body } = await ask('POST', `device/${act}`, { user_code: form.elements.code.value });
  if (status !== 200) return say(reasonOf(body));
  form.hidden = true;
  say(act === 'approve' ? 'The device is connected. You can close this page.' : 'The device was refused. You can close this page.');
});

await show();
