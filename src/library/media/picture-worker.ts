// A process of its own that reads and draws pictures which strangers sent: started by `pictures.ts` with limits, told
// one job at a time over its channel, and ended when the channel is.
import { setPriority } from 'node:os';
import { type Done, type Job, work } from './picture-work.ts';

/** `up`: it has started, and takes its first job. `undefined`: this cannot be done with this picture. */
export type PictureJob = 'up' | { done: Done };

const tell = (told: PictureJob) => process.send!(told);
setPriority(10); // whoever waits for a password or a page comes first
process.on('disconnect', () => process.exit());
process.on('message', (job: Job) => {
  void work(job).then(
    (done) => tell({ done: done && { width: done.width, height: done.height } }),
    () => tell({ done: undefined }),
  );
});
tell('up');
