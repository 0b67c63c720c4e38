import { refused } from '../kit/declare/fallback.ts';
import { storage } from './_contract.ts';
import { openDisk } from './_disk.ts';

/** Files of this machine, in the folder of the operator (`UPLOAD_FOLDER`), served below /uploads. */
export default storage({
  id: 'local',
  version: 'v1',
  status: 'active',
  title: 'Local disk',
  description: "Files on the server's own disk, served under /uploads.",
  setupNotes:
    'Nothing to set. Several machines need one shared folder, and networks must be able to reach this server.',
  authType: 'none',
  credentials: {},
  api: '',
  can: ['multipart'],
  connect({ folder }) {
    if (folder === undefined) throw refused('unsupported', 'No folder is kept for files on this machine');
    return openDisk(folder);
  },
});
