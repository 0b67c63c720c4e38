import { z } from 'zod';
import { namesTag } from '../../http/etag.ts';
import { routesOf } from '../../http/route.ts';
import { throttleBy } from '../../http/throttle.ts';

const route = routesOf('cache', 'calendar', 'clock', 'config');

const HOUR = 3_600_000;
const CALLS_PER_HOUR = 60;

export default [
  route({
    method: 'get',
    path: '/public/v1/channels/:id/calendar.ics',
    summary: 'Get the calendar feed of a channel',
    description:
      'As iCalendar (RFC 5545): queued and published posts from 30 days back to 90 days ahead, each date of a series ' +
      'for itself, at most 2,000. The token of its address stands for the person who made it, with the rights that ' +
      'they have now; it is good for 60 calls an hour.',
    auth: ['none'],
    limit: '6000/hour', // one address of a calendar service reads the feeds of many
    limitBy: 'ip',
    query: z.object({ token: z.string().max(255).optional() }),
    output: 'text',
    mediaType: 'text/calendar',
    answer: z.string(),
    async handle({ rooms, params, query, request, reply }) {
      const feed = await rooms.calendar.openFeed(params.id, query.token);
      await throttleBy(rooms, feed.bucket, CALLS_PER_HOUR, HOUR);
      const tag = await rooms.calendar.tagOfFeed(feed);
      reply.header('ETag', tag);
      reply.header('Cache-Control', 'private, no-cache'); // kept by its reader alone, and asked for by its tag
      const known = request.headers['if-none-match'];
      if (known !== undefined && namesTag(known, tag)) {
        reply.status(304);
        return '';
      }
      const calendar = await rooms.calendar.readFeed(feed);
      reply.header('Content-Type', 'text/calendar; charset=utf-8');
      return calendar;
    },
    present: (calendar) => calendar,
  }),
];
