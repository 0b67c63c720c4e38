import { type ChatQuestion, startChatServer, textsOf } from '../../peers/chat-server.ts';
import { AGENTS, type AgentName } from '../../../../src/studio/content-pipeline/questions.ts';

export type { AgentName };

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
export type AgentReply = (question: AgentQuestion) => object | string | Promise<object | string>;

/** The agent that a question is for; undefined: it is no question of a content pipeline. */
export function agentQuestionOf(question: ChatQuestion): AgentQuestion | undefined {
  const [instruction, said] = textsOf(question);
  const agent = (Object.keys(AGENTS) as AgentName[]).find((name) => instruction!.startsWith(AGENTS[name].instruction));
  if (!agent) return undefined;
  const data = JSON.parse(said!.split('\n')[1]!);
  return { agent, instruction: instruction!, data, sent: JSON.stringify(question.body) };
}

/** What a good model answers: it plans, writes and finds nothing to flag. */
export const willing: Readonly<Record<AgentName, AgentReply>> = {
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
    replies: { ...willing } as Record<AgentName, AgentReply>,
    [Symbol.asyncDispose]: () => chat[Symbol.asyncDispose](),
  };
  chat.before = async (question) => {
    const asked = agentQuestionOf(question)!; // nobody else asks
    scripted.asked.push(asked);
    const answer = await scripted.replies[asked.agent](asked);
    chat.pieces = [typeof answer === 'string' ? answer : JSON.stringify(answer)]; // read at once by the server
  };
  return scripted;
}
