/**
 * One call that tells of hundreds of addresses whether they are in use. The endpoint runs a program in `eth_call` as the code that
 * would make a contract, so nothing is deployed and no contract is trusted. Its source is test/nodes/evm/used.yul.
 */
import { randomBytes } from 'node:crypto';

const PROGRAM =
  '0x60948038038091606039601460605160001a0260610190806060019081926370a0823160e01b600052805b848210603b5750509003605f190190f3' +
  '5b9092835160601c803f15159060045260615b83811082151660675750816001916014935301930190602a565b905060206024806000845160601c5a' +
  'fa15608f5760203d10608f57601460245115159101604d565b600080fd';
const TOKENS_MAX = 255;
const ADDRESS_BYTES = 20;

/**
 * The data of a call for some addresses (hex with 0x), and how its answer is read. An address is in use if it holds a coin or one
 * of these tokens (contracts, hex with 0x), or has sent a transaction.
 */
export function usedCall(contracts: readonly string[], addresses: readonly string[]) {
  const tokens = contracts.slice(0, TOKENS_MAX);
  // Both are known beforehand: a contract has code, and nobody has paid to a random address.
  const probes = [`0x${randomBytes(ADDRESS_BYTES).toString('hex')}`, ...tokens.slice(0, 1)];
  const digits = [...tokens, ...probes, ...addresses].map((address) => address.slice(2)).join('');
  return {
    data: `${PROGRAM}${tokens.length.toString(16).padStart(2, '0')}${digits}`,
    /** Null if the answer is not this program's. */
    read(answer: unknown): boolean[] | null {
      if (typeof answer !== 'string' || !/^0x(?:0[01])*$/.test(answer)) return null;
      const bits = [...Buffer.from(answer.slice(2), 'hex')].map((byte) => byte === 1);
      const [unused, token = true] = bits.splice(0, probes.length);
      return unused === false && token && bits.length === addresses.length ? bits : null;
    },
  };
}
