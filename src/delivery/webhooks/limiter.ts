/** Deliveries under way in this process: so many in all, and so many of one org, that a few silent receivers hold up nobody else. */
export interface Gate {
  /** Resolves when there is room; leave with what it answers. */
  enter(owner: string): Promise<() => void>;
  /** Whether somebody waits who could have the room of this owner. */
  crowded(owner: string): boolean;
}

export function openGate({ inAll, ofOne }: { inAll: number; ofOne: number }): Gate {
  const inside = new Map<string, number>();
  const waiting: { owner: string; let: () => void }[] = [];
  let all = 0;
  const room = (owner: string) => all < inAll && (inside.get(owner) ?? 0) < ofOne;

  function admit(owner: string): void {
    all += 1;
    inside.set(owner, (inside.get(owner) ?? 0) + 1);
  }
  function leave(owner: string): void {
    all -= 1;
    const left = inside.get(owner)! - 1;
    if (left === 0) inside.delete(owner);
    else inside.set(owner, left);
    const next = waiting.findIndex((one) => room(one.owner));
    if (next !== -1) waiting.splice(next, 1)[0]!.let();
  }

  return {
    async enter(owner) {
      if (room(owner)) admit(owner);
      else
        await new Promise<void>((resolve) =>
          waiting.push({
            owner,
            let: () => {
              admit(owner);
              resolve();
            },
          }),
        );
      let left = false;
      return () => {
        if (!left) leave(owner);
        left = true;
      };
    },
    crowded: (owner) => (all >= inAll ? waiting.length > 0 : waiting.some((one) => one.owner === owner)),
  };
}
