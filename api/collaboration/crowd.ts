/** Connections of a room, of a person, and of this process. */
const MOST = { ofRoom: 200, ofPerson: 20, inAll: 10_000 } as const;

/** Counts the connections of this process and of each person in it: whoever comes is judged without a look at the others. */
export function openCrowd() {
  let size = 0;
  const ofPerson = new Map<string, number>();

  return {
    get size() {
      return size;
    },
    /** Why one more connection of a person to a room with so many is too many; undefined for none. */
    isFull(inRoom: number, userId: string): string | undefined {
      if (size >= MOST.inAll) return 'Too many connections here';
      if (inRoom >= MOST.ofRoom) return 'Too many connections to this document';
      return (ofPerson.get(userId) ?? 0) >= MOST.ofPerson ? 'Too many connections of one person' : undefined;
    },
    add(userId: string): void {
      size += 1;
      ofPerson.set(userId, (ofPerson.get(userId) ?? 0) + 1);
    },
    remove(userId: string): void {
      size -= 1;
      const left = ofPerson.get(userId)! - 1; // it was added
      if (left === 0) ofPerson.delete(userId);
      else ofPerson.set(userId, left);
    },
  };
}
