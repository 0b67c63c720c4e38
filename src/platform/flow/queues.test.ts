import { expect, test } from '@jest/globals';
import { fc } from '../../../test/support/properties.ts';
import { FairQueue, Fifo } from './queues.ts';

test('a Fifo returns its items in order, however pushes and shifts mix', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer(), { nil: undefined }), { maxLength: 5_000 }), (moves) => {
      const queue = new Fifo<number>();
      const model: number[] = [];
      for (const move of moves) {
        if (move === undefined) expect(queue.shift()).toBe(model.shift());
        else {
          queue.push(move);
          model.push(move);
        }
        expect(queue.length).toBe(model.length);
      }
    }),
  );
});

test('a FairQueue loses nothing, keeps the order within an owner, and never serves one twice while another waits', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'b', 'c', undefined), { maxLength: 60 }), (owners) => {
      const queue = new FairQueue<{ owner: string | undefined; n: number }>();
      owners.forEach((owner, n) => queue.push(owner, { owner, n }));
      const dealt = Array.from({ length: owners.length }, () => queue.shift()!);
      expect(queue.shift()).toBeUndefined();
      expect(dealt.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(owners.map((_, n) => n));
      for (const [at, { owner, n }] of dealt.entries()) {
        const rest = dealt.slice(at + 1);
        for (const later of rest) if (later.owner === owner) expect(later.n).toBeGreaterThan(n);
        if (dealt[at + 1]?.owner === owner) expect(rest.every((other) => other.owner === owner)).toBe(true);
      }
    }),
  );
});
