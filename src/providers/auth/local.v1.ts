import { auth } from './_contract.ts';

export default auth({
  id: 'local',
  version: 'v1',
  status: 'active',
  title: 'Email and password',
  description: 'Registration and login with an email address and a password that is kept here.',
  authType: 'password',
  credentials: {},
  api: '',
  by: 'password',
  connect: () => ({ by: 'password' }),
});
