import { type ChatQuestion, startChatServer } from '../peers/chat-server.ts';
import { AGENTS, type AgentName } from '../../../src/studio/content-pipeline/questions.ts';

/** A question of the content pipeline as its provider sees it. */
export interface AgentQuestion {
  agent: AgentName;
  instruction: string;
  /** What stands between the fences. */
  data: any; // oxlint-disable-line typescript/no-explicit-any -- judged by each test
  /** Everything that was sent. */
  sent: string;
}
/** What a model does: it answers an object, or a text that is none, or waits for the promise before that. */
type Reply = (question: AgentQuestion) => object | string | Promise<object | string>;

const textOf = (content: unknown): string =>
  typeof content === 'string' ? content : (content as { text?: string }[]).map(({ text = '' }) => text).join('');

function questionOf({ body }: ChatQuestion): AgentQuestion {
  const [instruction, said] = [textOf(body.messages[0]!.content), textOf(body.messages[1]!.content)];
  const agent = (Object.keys(AGENTS) as AgentName[]).find((name) => instruction.startsWith(AGENTS[name].instruction))!;
  return { agent, instruction, data: JSON.parse(said.split('\n')[1]!), sent: JSON.stringify(body) };
}

/** What a good model answers: it plans, writes and finds nothing to flag. */
export const willing: Readonly<Record<AgentName, Reply>> = {
  read: ({ data }) => ({ facts: [{ fact: 'Bees live on the roof', quote: (data.page as string).slice(0, 40) }] }),
  outline: ({ data }) => ({
    posts: Array.from({ length: data.count }, (_, n) => ({ message: `Message ${n + 1}`, facts: [0] })),
  }),
  write: ({ data }) => ({
    texts: (data.posts as { message: string }[]).map(({ message }) => `${message} for ${data.network}`),
  }),
  shorten: () => ({ text: 'Short' }),
  review: () => ({ flags: [] }),
};

/** A server of language models whose answers to each agent a test writes. */
export async function startScriptedAgents() {
  const chat = await startChatServer();
  const scripted = {
    url: chat.url,
    asked: [] as AgentQuestion[],
    replies: { ...willing } as Record<AgentName, Reply>,
    [Symbol.asyncDispose]: () => chat[Symbol.asyncDispose](),
  };
  chat.before = async (question) => {
    const asked = questionOf(question);
    scripted.asked.push(asked);
    const answer = await scripted.replies[asked.agent](asked);
    chat.pieces = [typeof answer === 'string' ? answer : JSON.stringify(answer)]; // read at once by the server
  };
  return scripted;
}
