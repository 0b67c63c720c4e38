import { email } from './_contract.ts';

/** Sends no mail; users are activated at once. */
export default email({
  id: 'empty',
  version: 'v1',
  status: 'active',
  title: 'No mail',
  description: 'No mail leaves; users are activated at once.',
  authType: 'none',
  credentials: {},
  api: '',
});
