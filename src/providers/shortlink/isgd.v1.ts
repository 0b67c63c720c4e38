import { isgd } from './_isgd.ts';

export default isgd({ id: 'isgd', title: 'is.gd', host: 'is.gd', description: 'Free short links without an account.' });
