import { cleanContents, contentToText } from '../../platform/content/index.ts';
import { keepAnswer, type KeptAnswer } from '../../platform/db/index.ts';
import { AppError, fieldError, invalidField, newId, validationFailed } from '../../platform/kernel/index.ts';
import { planReply } from '../follow-ups/index.ts';
import { judgeComment } from '../posts/index.ts';
import { type CommentsDeps, unknownComment } from './deps.ts';
import { checkUsable, getComment } from './inbox.ts';
import { type CommentRow, findRow, insertReply } from './inbox-store.ts';

/**
 * Stores a reply of the channel to a comment, as a comment and as a follow-up of its post, which writes it once, in one
 * commit with the answer for whoever repeats the request: an answer that is lost makes no second reply.
 * @throws AppError 400 where the network has no replies or does not take the text, 409 where the channel cannot write
 */
export async function replyToComment(
  deps: Pick<CommentsDeps, 'sql' | 'channels'>,
  orgId: string,
  commentId: string,
  content: string,
  kept?: KeptAnswer<CommentRow>,
): Promise<CommentRow> {
  const { sql, channels } = deps;
  const comment = await getComment(deps, orgId, commentId);
  const { channelId, postId, externalId, saved } = comment;
  const channel = await channels.get(orgId, channelId);
  if (!channel.adapter?.comment?.replies)
    throw new AppError('invalid_request', `${channel.adapter?.title ?? 'The network'} takes no replies to comments`);
  if (externalId === null) throw new AppError('conflict', 'This reply is not published, and cannot be answered');
  checkUsable(channel);
  const [clean = ''] = cleanContents([{ field: 'content', content }]);
  const text = contentToText(clean);
  if (text === '') throw invalidField('content', 'must not be empty', 'required');
  const rules = channels.rules(channel.providerId, channel.providerVersion, channel.serverLimits);
  const faults = [...judgeComment(rules, clean, 'content')];
  if (faults.length > 0)
    throw validationFailed(faults.map(({ field, message, rule }) => fieldError(field, message, rule)));
  const id = newId();
  const rows: CommentRow[] = [];
  await sql.begin(async (tx) => {
    if (!(await insertReply(tx, { id, orgId, answers: commentId, content: text }))) throw unknownComment();
    await planReply(tx, {
      id,
      orgId,
      postId,
      channelId,
      reply: { content: clean, text, parent: { id: externalId, ...(saved != null && { saved }) } },
    });
    const row = await findRow(tx, orgId, id);
    if (!row) throw unknownComment(); // its post or channel was deleted meanwhile
    await keepAnswer(tx, kept, row);
    rows.push(row);
  });
  return rows[0]!;
}
