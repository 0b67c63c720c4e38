/** What the names of accounts begin with whose network hangs. */
export const HANGING = 'hanging';
