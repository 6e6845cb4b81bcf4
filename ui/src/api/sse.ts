/** Server-sent events out of a byte stream, by the rules of the HTML standard that our server uses. */

export interface SentEvent {
  event: string;
  data: string;
}

/** Gets text in pieces of any size, gives whole events. A comment line counts as a sign of life only. */
export class SseParser {
  #rest = '';
  #event = '';
  #data: string[] = [];

  push(text: string): SentEvent[] {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    const events: SentEvent[] = [];
    for (const line of lines) this.#line(line.endsWith('\r') ? line.slice(0, -1) : line, events);
    return events;
  }

  #line(line: string, events: SentEvent[]): void {
    if (line === '') {
      if (this.#data.length > 0) events.push({ event: this.#event || 'message', data: this.#data.join('\n') });
      this.#event = '';
      this.#data = [];
      return;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#event = value;
    else if (field === 'data') this.#data.push(value);
  }
}
