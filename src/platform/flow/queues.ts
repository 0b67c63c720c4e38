/** First in, first out, without moving what waits. */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head]!;
    this.#items[this.#head] = undefined as T;
    this.#head += 1;
    if (this.#head === this.#items.length) {
      this.#items.length = 0;
      this.#head = 0;
    } else if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}

/** Deals round robin over owners; first in, first out within one. Whoever has no owner shares one lane. */
export class FairQueue<T> {
  #lanes = new Map<string, Fifo<T>>();
  #turns = new Fifo<string>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(owner: string | undefined, item: T): void {
    const name = owner ?? '';
    let lane = this.#lanes.get(name);
    if (!lane) {
      this.#lanes.set(name, (lane = new Fifo()));
      this.#turns.push(name);
    }
    lane.push(item);
    this.#length += 1;
  }

  shift(): T | undefined {
    const name = this.#turns.shift();
    if (name === undefined) return undefined;
    const lane = this.#lanes.get(name)!;
    const item = lane.shift();
    if (lane.length > 0) this.#turns.push(name);
    else this.#lanes.delete(name);
    this.#length -= 1;
    return item;
  }
}
