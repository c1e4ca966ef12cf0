/**
 * Feeds pieces `[at_ms, data]` to `feed` at a speed that may change meanwhile. `onend` follows the last piece. A
 * piece with a third entry is one after which the other side waits for the reader: `onwait` says so, and nothing
 * follows until `reply` has.
 */
export class Player {
  constructor(pieces, feed, onend, onwait) {
    Object.assign(this, { pieces, feed, onend, onwait, next: 0, at: 0, speed: 1, timer: 0, waits: undefined });
  }

  get playing() {
    return this.timer !== 0;
  }

  get over() {
    return this.next >= this.pieces.length;
  }

  play() {
    if (this.playing || this.over || this.waits) return;
    this.since = performance.now();
    this.timer = setTimeout(() => this.tick());
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** Feeds one piece, whatever the time. */
  step() {
    if (this.over || this.waits) return;
    const [at, data, waits] = this.pieces[this.next++];
    this.at = Math.max(this.at, at);
    this.feed(data, this.at);
    if (waits) {
      this.waits = waits;
      this.resumes = this.playing;
      this.pause();
      this.onwait();
    } else if (this.over) {
      this.pause();
      this.onend();
    }
  }

  /** The reader did what the scene waits for: what is posted then takes the place of the rest. */
  reply(pieces) {
    this.pieces = [...this.pieces.slice(0, this.next), ...pieces];
    this.waits = undefined;
    if (this.resumes) this.play();
  }

  tick() {
    const now = performance.now(), until = this.speed === Infinity ? Infinity : this.at + (now - this.since) * this.speed;
    this.since = now;
    while (!this.over && !this.waits && this.pieces[this.next][0] <= until) this.step();
    if (this.over || this.waits) return;
    this.at = until;
    this.timer = setTimeout(() => this.tick(), (this.pieces[this.next][0] - until) / this.speed);
  }
}
