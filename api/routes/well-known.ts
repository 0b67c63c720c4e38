import { z } from 'zod';
import { notFound } from '../../src/kernel/index.ts';
import { route } from '../http/route.ts';

export default [
  route({
    method: 'get',
    path: '/.well-known/apps-challenge',
    summary: 'The challenge by which an app store knows the owner of this address.',
    auth: ['none'],
    output: 'text',
    answer: z.string(),
    async handle({ ctx: { config } }) {
      if (!config.http.appsChallenge) throw notFound();
      return config.http.appsChallenge;
    },
    present: (challenge) => challenge,
  }),
];
