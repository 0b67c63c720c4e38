/** A stream of numbers that its seed decides. Each purpose has its own, so that leaving one out moves no other. */
export class Random {
  #state: number;

  constructor(seed: number, purpose: string) {
    this.#state = seed >>> 0;
    for (const char of purpose) this.#state = (Math.imul(this.#state ^ char.charCodeAt(0), 2_654_435_761) + 1) >>> 0;
  }

  /** From 0 up to 1, which it never is. */
  next(): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
  /** A whole number below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }
  /** A whole number of both bounds and what lies between. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }
  chance(share: number): boolean {
    return this.next() < share;
  }
  pick<T>(of: readonly T[]): T {
    return of[this.below(of.length)]!;
  }
  write(bytes: Uint8Array): void {
    for (let n = 0; n < bytes.length; n++) bytes[n] = this.below(256);
  }
}
