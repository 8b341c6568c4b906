/** Valid configurations that will probably not do what the operator wants. */
import ipaddr from 'ipaddr.js';
import { type Message, message } from '../domain/messages.ts';
import type { Config } from './config.ts';

const isOwn = (host: string): boolean =>
  host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback');

/** One sentence per warning: the consequence, and the key to change. */
export function configurationWarnings({ publicUrl, trustedProxies }: Config): Message[] {
  if (publicUrl === null || trustedProxies.length > 0) return [];
  const host = new URL(publicUrl).hostname.replace(/^\[|\]$/g, '');
  if (isOwn(host)) return [];
  return [message('doctor.proxies', { url: publicUrl })];
}
