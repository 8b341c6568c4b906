/**
 * Who runs a server, as far as its address tells: two servers of one operator are one opinion.
 *
 * Source of what a domain is: the Public Suffix List, private section included, so that the customers of a dynamic DNS
 * service count one by one.
 */
import { getDomain } from 'tldts';
import type { Endpoint } from './endpoint.ts';

/** Domains of built-in servers whose names say that one operator has several; where in doubt, they count as one. */
const OPERATORS: Readonly<Record<string, string>> = {
  'greyh.at': 'grey',
  'grey.pw': 'grey',
};

/** The operator of a server: by name where it is known, else the registrable domain, else the address itself. */
export function operatorOf({ host }: Pick<Endpoint, 'host'>): string {
  const domain = getDomain(host, { allowPrivateDomains: true }) ?? host.toLowerCase();
  return OPERATORS[domain] ?? domain;
}
