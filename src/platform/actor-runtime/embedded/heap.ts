/**
 * A binary heap: the item with the smallest `at` first. What was dropped stays inside until it is on top or the heap is
 * packed.
 */
export class Heap<T extends { at: number; dropped: boolean }> {
  #items: T[] = [];
  #dropped = 0;

  get length(): number {
    return this.#items.length - this.#dropped;
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (items[parent]!.at <= item.at) break;
      items[at] = items[parent]!;
      at = parent;
    }
    items[at] = item;
  }

  clear(): void {
    this.#items = [];
    this.#dropped = 0;
  }

  /** The item must be inside. */
  drop(item: T): void {
    item.dropped = true;
    this.#dropped += 1;
    if (this.#dropped < 1024 || this.#dropped * 2 < this.#items.length) return;
    const kept = this.#items.filter(({ dropped }) => !dropped);
    this.#items = [];
    this.#dropped = 0;
    for (const one of kept) this.push(one);
  }

  peek(): T | undefined {
    while (this.#items[0]?.dropped) {
      this.#take();
      this.#dropped -= 1;
    }
    return this.#items[0];
  }

  shift(): T | undefined {
    return this.peek() && this.#take();
  }

  #take(): T {
    const items = this.#items;
    const first = items[0]!;
    const last = items.pop()!;
    if (items.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && items[child + 1]!.at < items[child]!.at) child += 1;
      if (items[child]!.at >= last.at) break;
      items[at] = items[child]!;
      at = child;
    }
    items[at] = last;
    return first;
  }
}
