/**
 * One call that tells the balances of up to a thousand addresses. The endpoint runs a program in `eth_call` as the code that would
 * make a contract, so nothing is deployed and no contract is trusted. Its source is test/nodes/evm/balances.yul.
 *
 * A thousand addresses cost some 5,600,000 gas: 2,600 for a balance (EIP-2929) and 200 for each of its 12 bytes in the answer. The answer
 * stays below 24,576 bytes (EIP-170), and the program with its addresses below 49,152 (EIP-3860).
 */
const PROGRAM =
  '0x60608038038091600039602081019060018253602181019060005b818110602a57509003601f190190f35b80519092601491600c919060601c316001600160601b' +
  '0381116053575b60a01b8152019201601a565b506001600160601b03604756';
const MARK_CHARS = '0x01'.length;
const UNITS_CHARS = 24;
/** More than there is of any coin; the answer for a balance that does not fit. */
const UNITS_MAX = (1n << 96n) - 1n;

/** The data of a call for some addresses (hex with 0x), and how its answer is read. */
export const balancesCall = (addresses: readonly string[]) => ({
  data: `${PROGRAM}${addresses.map((address) => address.slice(2)).join('')}`,
  /** Null if the answer is not this program's. */
  read(answer: unknown): bigint[] | null {
    if (typeof answer !== 'string' || !/^0x01(?:[0-9a-f]{24})*$/i.test(answer)) return null;
    if (answer.length !== MARK_CHARS + addresses.length * UNITS_CHARS) return null;
    const balances = addresses.map((_, i) => {
      const from = MARK_CHARS + i * UNITS_CHARS;
      return BigInt(`0x${answer.slice(from, from + UNITS_CHARS)}`);
    });
    return balances.includes(UNITS_MAX) ? null : balances;
  },
});
