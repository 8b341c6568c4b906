/** Parses a long list in JSON one element at a time: `JSON.parse` would block the event loop with 20 MB. */
import type { Pause } from './slices.ts';

const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const SHORT_VALUE_BYTES_MAX = 100;
/** Bytes outside of strings between two looks at the clock. */
const BYTES_PER_LOOK = 4_096;

/** The elements of a list; null if `body` is no list, or JSON that this cannot divide. */
export async function parsedList(body: Buffer, pause: Pause): Promise<unknown[] | null> {
  const list = await elementsFrom(body, afterSpace(body, 0), pause);
  return list && isBlank(body, list.end) ? list.elements : null;
}

/**
 * The elements of the list in the result of a JSON-RPC answer; null if the result is no list, if an error precedes it,
 * or if this cannot divide the JSON.
 */
export async function parsedResult(body: Buffer, pause: Pause): Promise<unknown[] | null> {
  let at = afterSpace(body, 0);
  if (body[at] !== OPEN_OBJECT) return null;
  for (;;) {
    const name = afterSpace(body, at + 1);
    const nameEnd = body[name] === QUOTE ? endOfString(body, name) : -1;
    if (nameEnd < 0) return null;
    const colon = afterSpace(body, nameEnd + 1);
    const value = afterSpace(body, colon + 1);
    const key = body.toString('utf8', name + 1, nameEnd);
    if (body[colon] !== COLON || key === 'error') return null;
    if (key === 'result') return (await elementsFrom(body, value, pause))?.elements ?? null;
    // a version and a number precede the result
    const comma = body.indexOf(COMMA, value);
    if (comma < 0 || comma - value > SHORT_VALUE_BYTES_MAX) return null;
    at = comma;
  }
}

/** The elements of the list that begins at `from`, and where it ends. */
async function elementsFrom(
  body: Buffer,
  from: number,
  pause: Pause,
): Promise<{ elements: unknown[]; end: number } | null> {
  let at = from;
  if (body[at] !== OPEN_LIST) return null;
  const elements: unknown[] = [];
  let start = ++at;
  let looked = at;
  for (let depth = 1; at < body.length; at++) {
    const byte = body[at];
    if (byte === QUOTE) {
      at = endOfString(body, at);
      if (at < 0) return null;
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth++;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--;
    if (depth === 0 || (depth === 1 && byte === COMMA)) {
      const text = body.toString('utf8', start, at);
      const isEmptyList = depth === 0 && elements.length === 0 && text.trim() === '';
      if (!isEmptyList) {
        const element = parsed(text);
        if (element === undefined) return null;
        elements.push(element);
      }
      start = at + 1;
      if (depth === 0) return byte === CLOSE_LIST ? { elements, end: start } : null;
    }
    if (at - looked < BYTES_PER_LOOK) continue;
    looked = at;
    const wait = pause();
    if (wait) await wait;
  }
  return null;
}

function afterSpace(body: Buffer, from: number): number {
  let at = from;
  while (at < body.length && isSpace(body[at])) at++;
  return at;
}

/** The end of the string that begins at a quote, or -1. */
function endOfString(body: Buffer, from: number): number {
  for (let end = body.indexOf(QUOTE, from + 1); end >= 0; end = body.indexOf(QUOTE, end + 1)) {
    let escapes = 0;
    while (body[end - 1 - escapes] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return -1;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isBlank = (body: Buffer, from: number): boolean => body.toString('utf8', from).trim() === '';

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
