/**
 * How many attempts each origin may have under way on this node. One that is down gets one at a time; all that are not known to be up share
 * half of the workers, so that however many hang, those that answer find room.
 *
 * | an origin is | attempts at once | leads to                                            |
 * |--------------|------------------|-----------------------------------------------------|
 * | new          | 1                | up (an answer), down (none)                         |
 * | up           | 2, 4, … 16       | up with twice as many (an answer), down (none)      |
 * | down         | 1                | up (an answer)                                      |
 */

/** Of one origin. */
const MOST = 16;
/** Origins that are remembered, beside those with attempts under way. */
const REMEMBERED = 10_000;

interface Origin {
  window: number;
  isUp: boolean;
  underWay: number;
}

export class Origins {
  readonly #workers: number;
  readonly #known = new Map<string, Origin>();
  #underWay = 0;
  /** Of those that are not known to be up. */
  #unproven = 0;

  /** @param workers Attempts that may be under way at once. */
  constructor(workers: number) {
    this.#workers = workers;
  }

  get underWay(): number {
    return this.#underWay;
  }

  /** What may be claimed now, in one go or in two. */
  claims(): readonly { readonly limit: number; readonly room: number; readonly rooms: ReadonlyMap<string, number> }[] {
    const free = this.#workers - this.#underWay;
    const unproven = Math.min(free, Math.ceil(this.#workers / 2) - this.#unproven);
    if (free === 0) return [];
    const [up, others] = [new Map<string, number>(), new Map<string, number>()];
    for (const [name, { isUp, window, underWay }] of this.#known) {
      const room = Math.max(0, window - underWay);
      // An origin that is not named has room for one.
      if (isUp) up.set(name, room);
      else if (room !== 1) others.set(name, room);
    }
    if (unproven === free) return [{ limit: free, room: 1, rooms: new Map([...up, ...others]) }];
    const proven = { limit: free - Math.max(0, unproven), room: 0, rooms: up };
    if (unproven <= 0) return [proven];
    const closed = [...up.keys()].map((name): [string, number] => [name, 0]);
    return [proven, { limit: unproven, room: 1, rooms: new Map([...closed, ...others]) }];
  }

  /** An attempt begins. */
  begin(name: string): void {
    const origin = this.#known.get(name) ?? { window: 1, isUp: false, underWay: 0 };
    // So that those that have been idle for longest come first.
    this.#known.delete(name);
    this.#known.set(name, origin);
    origin.underWay++;
    this.#underWay++;
    if (!origin.isUp) this.#unproven++;
    this.#forget();
  }

  /** @param answered The origin is there, whatever it said of this delivery. */
  end(name: string, answered: boolean): void {
    const origin = this.#known.get(name)!;
    if (!origin.isUp) this.#unproven -= origin.underWay;
    origin.underWay--;
    this.#underWay--;
    origin.isUp = answered;
    origin.window = answered ? Math.min(MOST, origin.window * 2) : 1;
    if (!origin.isUp) this.#unproven += origin.underWay;
  }

  #forget(): void {
    if (this.#known.size <= REMEMBERED) return;
    for (const [name, { underWay }] of this.#known) {
      if (underWay > 0) continue;
      this.#known.delete(name);
      if (this.#known.size <= REMEMBERED / 2) return;
    }
  }
}
