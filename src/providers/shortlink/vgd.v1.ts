import { isgd } from './_isgd.ts';

export default isgd({
  id: 'vgd',
  title: 'v.gd',
  host: 'v.gd',
  description: 'Free short links without an account, which show where they lead before they do.',
});
