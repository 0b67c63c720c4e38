import type { Command } from 'commander';
import type { Session } from '../session.ts';
import { addAnalytics } from './analytics.ts';
import { addBulk } from './bulk.ts';
import { addCalendar } from './calendar.ts';
import { addChannels } from './channels.ts';
import { addHelp } from './help.ts';
import { addLogin } from './login.ts';
import { addLogout } from './logout.ts';
import { addMcpConfig } from './mcp-config.ts';
import { addMedia } from './media.ts';
import { addPosts } from './posts.ts';
import { addProposals } from './proposals.ts';
import { addUpload } from './upload.ts';
import { addWebhooks } from './webhooks.ts';
import { addWhoami } from './whoami.ts';

export function addCommands(program: Command, session: Session): void {
  for (const add of [
    addLogin,
    addLogout,
    addWhoami,
    addChannels,
    addPosts,
    addProposals,
    addBulk,
    addCalendar,
    addUpload,
    addMedia,
    addAnalytics,
    addWebhooks,
    addMcpConfig,
    addHelp,
  ])
    add(program, session);
}
