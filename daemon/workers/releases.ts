/** Asks for the notices of releases. `app/operator/releases.ts` says when, and judges the answer. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { App } from '../app/app.ts';
import { FEED_BYTES_MAX, FeedRefused, type Releases } from '../app/operator/releases.ts';
import { tunnelTo } from '../kit/socks.ts';
import { inWords } from './notify/send.ts';
import type { Timetable } from './timetable.ts';

/** It only looks whether a day is over. */
const LOOK_MS = 10 * 60_000;
/** Of a whole answer, however slowly it comes. */
const ANSWER_MS_MAX = 30_000;

export class ReleaseNotices {
  readonly #app: App;
  readonly #releases: Releases;
  readonly #answerMs: number;
  readonly #abort = new AbortController();
  #asking: Promise<void> | null = null;

  constructor(app: App, releases: Releases, answerMs = ANSWER_MS_MAX) {
    this.#app = app;
    this.#releases = releases;
    this.#answerMs = answerMs;
  }

  start(timetable: Timetable): void {
    timetable.every('releases', LOOK_MS, () => this.look());
  }

  /** Asks if a day is over since the last question, and tells what is known. */
  look(): Promise<void> {
    this.#asking ??= this.#look().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  /** Once more where it looks already: what the operator said meanwhile counts. */
  async lookAgain(): Promise<void> {
    await this.#asking;
    await this.look();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#asking?.catch(() => {});
  }

  async #look(): Promise<void> {
    if (this.#abort.signal.aborted) return;
    const { feed } = this.#releases.state();
    if (feed !== null && (await this.#releases.mayAsk())) await this.#ask(feed);
    await this.#releases.tell();
  }

  async #ask(feed: string): Promise<void> {
    const signal = AbortSignal.any([this.#abort.signal, AbortSignal.timeout(this.#answerMs)]);
    try {
      await this.#releases.take(await textAt(new URL(feed), proxyOf(this.#app), this.#answerMs, signal));
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      // an answer that was ended by the time limit looks like one that was cut
      const why = error instanceof FeedRefused || !signal.aborted ? error : signal.reason;
      const problem = why instanceof FeedRefused ? why.message : inWords(why, this.#answerMs);
      this.#app.log.warn({ problem }, 'the notices of releases were not taken');
      await this.#releases.failed(problem);
    }
  }
}

/** Its own, else that of a source for which every connection goes through one; null: none. */
function proxyOf({ config }: App): string | null {
  if (config.releases.socksProxy !== null) return config.releases.socksProxy;
  const all = [config.electrum, config.monero].find(({ socksProxy, proxyFor }) => socksProxy && proxyFor === 'all');
  return all?.socksProxy ?? null;
}

/** The text at an address. Redirects are not followed, and compressed answers not asked for. */
async function textAt(url: URL, proxy: string | null, timeoutMs: number, signal: AbortSignal): Promise<string> {
  const secure = url.protocol === 'https:';
  const tunnel = proxy === null ? null : await tunnelTo(url, proxy, timeoutMs, signal);
  try {
    const answer = await answerOf(url, secure, tunnel, signal);
    if (answer.statusCode !== 200) throw new FeedRefused(`the feed's server answers with status ${answer.statusCode}`);
    return await bodyOf(answer);
  } finally {
    tunnel?.destroy();
  }
}

function answerOf(url: URL, secure: boolean, tunnel: Socket | null, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const own = tunnel ? { createConnection: () => tunnel } : { agent: false as const };
  // without an agent another port would stand in the name of the host
  const headers = { Host: url.host, Accept: 'application/json', 'User-Agent': 'Countinghouse' };
  const request = (secure ? httpsRequest : httpRequest)(url, { headers, signal, ...own });
  request.on('response', resolve);
  request.on('error', (error) => reject(signal.aborted ? signal.reason : error));
  request.end();
  return promise;
}

async function bodyOf(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    bytes += piece.length;
    // leaving the loop ends the connection
    if (bytes > FEED_BYTES_MAX) throw new FeedRefused(`the answer is longer than ${FEED_BYTES_MAX} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
