const [find, decide] = [element('find'), element('decide')];
let code; // that was looked up: what is decided is what was shown

/** Shows the form to whoever is logged in. */
async function show() {
  const self = await whoAmI();
  find.hidden = !self;
  if (self) element('org').textContent = self.orgName;
}

find.addEventListener('submit', async (event) => {
  event.preventDefault();
  code = find.elements.code.value;
  const { status, body } = await ask('POST', 'device/find', { user_code: code });
  if (status !== 200) return say(reasonOf(body));
  say('');
  element('code').textContent = code;
  element('asked').textContent = new Date(body.askedAt).toLocaleString();
  element('ip').textContent = body.ip;
  element('agent').textContent = body.userAgent || 'unnamed';
  [find.hidden, decide.hidden] = [true, false];
});

decide.addEventListener('submit', async (event) => {
  event.preventDefault();
  const act = event.submitter?.value ?? 'deny';
  const { status, body } = await ask('POST', `device/${act}`, { user_code: code });
  if (status !== 200) return say(reasonOf(body));
  decide.hidden = true;
  say(
    act === 'approve'
      ? 'The device is connected. You can close this page.'
      : 'The device was refused. You can close this page.',
  );
});

await show();
