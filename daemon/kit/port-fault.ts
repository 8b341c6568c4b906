/** Why a port cannot be listened on, for a message. */

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses it',
  EACCES: 'this user may not listen on it',
  EADDRNOTAVAIL: 'the address is none of this machine',
};

/** Continues "The port cannot be used: ". */
export const portFault = ({ code, message }: NodeJS.ErrnoException): string =>
  code === undefined ? message : `${WHY[code] ?? 'the system refused it'} (${code})`;
