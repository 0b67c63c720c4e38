import type { PostsDeps } from '../deps.ts';
import type { Connected } from '../channels-port.ts';
import type { Failure } from './answers.ts';
import { tracked } from './in-hand.ts';
import type { MadeOutcome, Making, WithoutSlot } from './without-slot.ts';

/** Calls a channel to make something public. `make`: undefined where the network cannot. */
export const sendWithoutSlot = (
  { sender, inHand }: PostsDeps,
  caller: WithoutSlot,
  make: (connected: Connected) => Making | undefined,
): Promise<MadeOutcome> => tracked(inHand, sender.sendWithoutSlot(caller, make));

/** Asks the network of a channel; answers why it did not say, or undefined. Throws what `ask` throws of its own. */
export const askWithoutSlot = (
  { sender }: PostsDeps,
  caller: WithoutSlot,
  ask: (connected: Connected) => Promise<void>,
): Promise<Failure | undefined> => sender.askWithoutSlot(caller, ask);

/**
 * Reads from the network of a channel behind posts and what follows them, and within its pace; answers why it did not,
 * or undefined.
 */
export const readWithoutSlot = (
  { sender }: PostsDeps,
  caller: WithoutSlot,
  read: (connected: Connected) => Promise<void>,
): ReturnType<typeof sender.readWithoutSlot> => sender.readWithoutSlot(caller, read);
