/** The ids by which the service carries out a request once, however often it is sent. */
import { useRef } from 'react';

const UUID_BYTES = 16;

/** A random UUID (RFC 9562, version 4). Browsers give pages without TLS no function for it. */
export function newRequest(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(UUID_BYTES));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** The id of a request: the same one for what is asked for again, since its answer was lost. */
export function useRequests(): (asked: object) => string {
  const known = useRef(new Map<string, string>());
  return (asked) => {
    const key = JSON.stringify(asked);
    const request = known.current.get(key) ?? newRequest();
    known.current.set(key, request);
    return request;
  };
}
