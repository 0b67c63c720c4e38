import type { Command } from 'commander';
import { dataOf, type Schemas } from '../../../typescript/src/index.ts';
import { UsageError } from '../exit.ts';
import { uploadFile } from '../files.ts';
import type { Session } from '../session.ts';

export function addUpload(program: Command, session: Session): void {
  program
    .command('upload')
    .description('Put files, or what lies at an address, into the library.')
    .argument('<files...>', 'files or addresses')
    .option('--name <name>', 'name in the library; for one file')
    .action(async (files: string[], { name }: { name?: string }) => {
      if (name !== undefined && files.length > 1) throw new UsageError('--name is for one file');
      const rookery = await session.client();
      const uploaded: Schemas['PublicFile'][] = [];
      for (const file of files) {
        const body = { url: file, ...(name !== undefined && { name }) };
        uploaded.push(
          /^https?:\/\//.test(file)
            ? await dataOf(rookery.api.POST('/public/v1/upload-from-url', { body }))
            : await uploadFile(rookery, file, session.signal, { name }),
        );
      }
      session.output.rows(uploaded, [
        ['ID', ({ id }) => id],
        ['NAME', ({ originalName }) => originalName],
        ['ADDRESS', ({ path }) => path],
      ]);
    });
}
