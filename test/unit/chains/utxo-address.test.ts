/** Addresses of BTC, LTC and BCH: BIP-84, BIP-173, BIP-350 and CashAddr vectors, and who refuses whose. */
import { createHash } from 'node:crypto';
import {
  CashAddressType,
  cashAddressChecksumToUint5Array,
  cashAddressPolynomialModulo,
  encodeBech32,
  decodeCashAddress as libauthDecode,
  encodeCashAddress as libauthEncode,
  maskCashAddressPrefix,
} from '@bitauth/libauth';
import { base58, bech32m } from '@scure/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressOf, addressOfKey, isValidAddress, scriptOf } from '../../../daemon/chains/utxo/address.ts';
import { decodeCashAddress, encodeCashAddress } from '../../../daemon/chains/utxo/cashaddr.ts';
import { UTXO_PARAMS, type UtxoChain } from '../../../daemon/chains/utxo/params.ts';
import { NETWORKS, type Network } from '../../../daemon/domain/assets.ts';
import { destination } from '../../../daemon/wallet/signer/destination.ts';

const hex = (bytes: Uint8Array | null): string | null => (bytes ? Buffer.from(bytes).toString('hex') : null);
const bytes = (text: string): Buffer => Buffer.from(text, 'hex');

/** The generator point, whose hash160 is 751e76e8…; BIP-173 uses the same key. */
const GENERATOR = bytes('0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798');
const GENERATOR_HASH = '751e76e8199196d454941c45d1b3a323f1433bd6';

/** BIP-340's public keys that are no points: not on the curve, and the field's size itself. */
const OFF_CURVE = [
  'eefdea4cdb677750a420fee807eacf21eb9898ae79b9768766e4faa04a2d4a34',
  'fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc30',
  'fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f',
];

const sha256 = (data: Uint8Array): Buffer => createHash('sha256').update(data).digest();
const sha256d = (data: Uint8Array): Buffer => sha256(sha256(data));

const networkOf = (address: string): Network => (address.toLowerCase().startsWith('tb') ? 'testnet' : 'mainnet');

const LARGER_VECTORS: [number, string, string][] = [
  [0, 'bitcoincash:qr6m7j9njldwwzlg9v7v53unlr4jkmx6eylep8ekg2', 'F5BF48B397DAE70BE82B3CCA4793F8EB2B6CDAC9'],
  [1, 'bchtest:pr6m7j9njldwwzlg9v7v53unlr4jkmx6eyvwc0uz5t', 'F5BF48B397DAE70BE82B3CCA4793F8EB2B6CDAC9'],
  [1, 'pref:pr6m7j9njldwwzlg9v7v53unlr4jkmx6ey65nvtks5', 'F5BF48B397DAE70BE82B3CCA4793F8EB2B6CDAC9'],
  [
    0,
    'bitcoincash:q9adhakpwzztepkpwp5z0dq62m6u5v5xtyj7j3h2ws4mr9g0',
    '7ADBF6C17084BC86C1706827B41A56F5CA32865925E946EA',
  ],
  [
    1,
    'bchtest:pgagf7w02x4wnz3mkwnchut2vxphjzccwxgjvvjmlsxqwkcvs7md7wt',
    '3A84F9CF51AAE98A3BB3A78BF16A6183790B18719126325BFC0C075B',
  ],
  [
    0,
    'bitcoincash:qvch8mmxy0rtfrlarg7ucrxxfzds5pamg73h7370aa87d80gyhqxq5nlegake',
    '3173EF6623C6B48FFD1A3DCC0CC6489B0A07BB47A37F47CFEF4FE69DE825C060',
  ],
  [
    1,
    'bchtest:pvch8mmxy0rtfrlarg7ucrxxfzds5pamg73h7370aa87d80gyhqxq7fqng6m6',
    '3173EF6623C6B48FFD1A3DCC0CC6489B0A07BB47A37F47CFEF4FE69DE825C060',
  ],
  [
    1,
    'pref:pnq8zwpj8cq05n7pytfmskuk9r4gzzel8qtsvwz79zdskftrzxtar994cgutavfklv0vx5z0w3',
    'C07138323E00FA4FC122D3B85B9628EA810B3F381706385E289B0B25631197D194B5C238BEB136FB',
  ],
  [
    0,
    'bitcoincash:qh3krj5607v3qlqh5c3wq3lrw3wnuxw0sp8dv0zugrrt5a3kj6ucysfz8kxwv2k53krr7n933jfsunqex2w82sl',
    'E361CA9A7F99107C17A622E047E3745D3E19CF804ED63C5C40C6BA763696B98241223D8CE62AD48D863F4CB18C930E4C',
  ],
  [
    1,
    'bchtest:pmvl5lzvdm6km38lgga64ek5jhdl7e3aqd9895wu04fvhlnare5937w4ywkq57juxsrhvw8ym5d8qx7sz7zz0zvcypqs6kgdsg2g',
    'D9FA7C4C6EF56DC4FF423BAAE6D495DBFF663D034A72D1DC7D52CBFE7D1E6858F9D523AC0A7A5C34077638E4DD1A701BD017842789982041',
  ],
  [
    0,
    'bitcoincash:qlg0x333p4238k0qrc5ej7rzfw5g8e4a4r6vvzyrcy8j3s5k0en7calvclhw46hudk5flttj6ydvjc0pv3nchp52amk97tqa5zygg96mtky5sv5w',
    'D0F346310D5513D9E01E299978624BA883E6BDA8F4C60883C10F28C2967E67EC77ECC7EEEAEAFC6DA89FAD72D11AC961E164678B868AEEEC5F2C1DA08884175B',
  ],
  [
    15,
    'prefix:0a9l93rdpjunztm99mne67xhtejj5a2eanlj83mg0a7njunwf0ka0raa6ct6f6w42aw23a067gmaa45xwxc5q85tz8p3rhderusc62vpf9plewfm',
    '4BF2C46D0CB9312F652EE79D78D75E652A7559ECFF23C7687F7D39726E4BEDD78FBDD617A4E9D5575CA8F5FAF237DED68671B1401E8B11C311DDB91F218D2981',
  ],
];

describe('our own addresses', () => {
  it.each<[UtxoChain, Network, string, string]>([
    ['BTC', 'mainnet', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', `0014${GENERATOR_HASH}`],
    ['BTC', 'testnet', 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx', `0014${GENERATOR_HASH}`],
    ['BTC', 'regtest', 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080', `0014${GENERATOR_HASH}`],
    ['BTC', 'sandbox', 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080', `0014${GENERATOR_HASH}`],
    ['BCH', 'mainnet', 'bitcoincash:qp63uahgrxged4z5jswyt5dn5v3lzsem6cy4spdc2h', `76a914${GENERATOR_HASH}88ac`],
  ])('%s on %s: %s', (chain, network, address, script) => {
    const target = addressOfKey(GENERATOR, chain, network);
    expect([target.address, hex(target.script)]).toEqual([address, script]);
  });

  it('are decoded to the script they are watched by, on their own chain and network alone', () => {
    const chains: UtxoChain[] = ['BTC', 'LTC', 'BCH'];
    for (const chain of chains) {
      for (const network of NETWORKS) {
        const { address, script } = addressOfKey(GENERATOR, chain, network);
        const accepting = chains.flatMap((c) =>
          NETWORKS.filter((n) => isValidAddress(address, c, n)).map((n) => `${c} ${n}`),
        );
        const isRegtest = network === 'regtest' || network === 'sandbox';
        expect(accepting).toEqual(isRegtest ? [`${chain} regtest`, `${chain} sandbox`] : [`${chain} ${network}`]);
        expect(scriptOf(address, chain, network)).toEqual(script);
      }
    }
  });

  it('come from compressed keys only', () => {
    expect(() => addressOfKey(Buffer.alloc(65, 4), 'BTC', 'mainnet')).toThrow('compressed');
  });
});

describe('SegWit addresses', () => {
  it.each([
    // BIP-173 and BIP-350, the valid ones that are standard destinations.
    ['BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4', '0014751e76e8199196d454941c45d1b3a323f1433bd6'],
    [
      'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7',
      '00201863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262',
    ],
    [
      'tb1qqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesrxh6hy',
      '0020000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433',
    ],
    [
      'tb1pqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesf3hn0c',
      '5120000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433',
    ],
    [
      'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
      '512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
    ],
  ])('%s', (address, script) => {
    expect(hex(scriptOf(address, 'BTC', networkOf(address)))).toBe(script);
  });

  it.each([
    // BIP-350's invalid ones.
    ['human-readable part', 'tc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq5zuyut'],
    ['bech32 for version 1', 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd'],
    ['bech32 for version 2', 'tb1z0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqglt7rf'],
    ['bech32 for version 16', 'BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL'],
    ['bech32m for P2WPKH', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh'],
    ['bech32m for P2WSH', 'tb1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47'],
    ['character in the checksum', 'bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4'],
    ['witness version 17', 'BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R'],
    ['1-byte program', 'bc1pw5dgrnzv'],
    ['41-byte program', 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav'],
    ['16 bytes for version 0', 'BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P'],
    ['mixed case', 'tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq47Zagq'],
    ['more than 4 bits of padding', 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf'],
    ['padding that is not zero', 'tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vpggkg4j'],
    ['no data', 'bc1gmk9yu'],
    // BIP-173's invalid ones.
    ['human-readable part (173)', 'tc1qw508d6qejxtdg4y5r3zarvary0c5xw7kg3g4ty'],
    ['checksum', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5'],
    ['witness version (173)', 'BC13W508D6QEJXTDG4Y5R3ZARVARY0C5XW7KN40WF2'],
    ['1-byte program (173)', 'bc1rw5uspcuh'],
    ['41-byte program (173)', 'bc10w508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kw5rljs90'],
    ['mixed case (173)', 'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sL5k7'],
    ['more than 4 bits of padding (173)', 'bc1zw508d6qejxtdg4y5r3zarvaryvqyzf3du'],
    ['padding that is not zero (173)', 'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3pjxtptv'],
    // Valid encodings that nobody can own yet, which a payment would be lost on.
    ['version 1 of 40 bytes', 'bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y'],
    ['version 16', 'BC1SW50QGDZ25J'],
    ['version 2', 'bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs'],
    ['pay to anchor', 'bc1pfeessrawgf'],
    ...OFF_CURVE.map((x) => ['P2TR of no point', bech32m.encode('bc', [1, ...bech32m.toWords(bytes(x))])]),
  ])('refused: %s', (_, address) => {
    expect(NETWORKS.filter((network) => isValidAddress(address, 'BTC', network))).toEqual([]);
  });

  it('take both cases, but no mixture and no foreign checksum', () => {
    const address = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
    const variants = [
      address,
      address.toUpperCase(),
      `BC1${address.slice(3)}`,
      ` ${address}`,
      `${address}\n`,
      `bitcoin:${address}`,
    ];
    expect(variants.map((text) => isValidAddress(text, 'BTC', 'mainnet'))).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });

  it.each(['0014', '0020', '5120'])('have none for a script that only begins as theirs do (%s)', (start) => {
    const scripts = [0, 1, 19, 33, 100, 10_000].map((length) => Buffer.concat([bytes(start), Buffer.alloc(length, 2)]));
    for (const chain of ['BTC', 'LTC', 'BCH'] as const) {
      expect(scripts.map((script) => addressOf(script, chain, 'mainnet'))).toEqual(scripts.map(() => null));
    }
  });
});

describe('P2TR', () => {
  it.each([
    // BIP-341's test vectors of wallets: internal key and tree give these addresses.
    [
      'bc1p2wsldez5mud2yam29q22wgfh9439spgduvct83k3pm50fcxa5dps59h4z5',
      '512053a1f6e454df1aa2776a2814a721372d6258050de330b3c6d10ee8f4e0dda343',
    ],
    [
      'bc1pz37fc4cn9ah8anwm4xqqhvxygjf9rjf2resrw8h8w4tmvcs0863sa2e586',
      '5120147c9c57132f6e7ecddba9800bb0c4449251c92a1e60371ee77557b6620f3ea3',
    ],
    [
      'bc1punvppl2stp38f7kwv2u2spltjuvuaayuqsthe34hd2dyy5w4g58qqfuag5',
      '5120e4d810fd50586274face62b8a807eb9719cef49c04177cc6b76a9a4251d5450e',
    ],
    [
      'bc1pwyjywgrd0ffr3tx8laflh6228dj98xkjj8rum0zfpd6h0e930h6saqxrrm',
      '5120712447206d7a5238acc7ff53fbe94a3b64539ad291c7cdbc490b7577e4b17df5',
    ],
    [
      'bc1pwl3s54fzmk0cjnpl3w9af39je7pv5ldg504x5guk2hpecpg2kgsqaqstjq',
      '512077e30a5522dd9f894c3f8b8bd4c4b2cf82ca7da8a3ea6a239655c39c050ab220',
    ],
    [
      'bc1pjxmy65eywgafs5tsunw95ruycpqcqnev6ynxp7jaasylcgtcxczs6n332e',
      '512091b64d5324723a985170e4dc5a0f84c041804f2cd12660fa5dec09fc21783605',
    ],
    [
      'bc1pw5tf7sqp4f50zka7629jrr036znzew70zxyvvej3zrpf8jg8hqcssyuewe',
      '512075169f4001aa68f15bbed28b218df1d0a62cbbcf1188c6665110c293c907b831',
    ],
  ])('%s', (address, script) => {
    expect(hex(scriptOf(address, 'BTC', 'mainnet'))).toBe(script);
    expect(destination(address, 'BTC', 'mainnet')).toBe(script);
  });

  it('of any 32 bytes is a destination for the planner, the signer and the operator alike, on BTC and LTC', () => {
    const any = fc.uint8Array({ minLength: 32, maxLength: 32 });
    const isOwned = { seen: 0, refused: 0 };
    fc.assert(
      fc.property(any, (program) => {
        for (const [chain, hrp] of [
          ['BTC', 'bc'],
          ['LTC', 'ltc'],
        ] as const) {
          const address = bech32m.encode(hrp, [1, ...bech32m.toWords(program)]);
          const script = scriptOf(address, chain, 'mainnet');
          isOwned[script ? 'seen' : 'refused']++;
          expect(hex(script)).toBe(destination(address, chain, 'mainnet'));
        }
      }),
      { numRuns: 200 },
    );
    // about half of all numbers are an x of the curve
    expect(Math.min(isOwned.seen, isOwned.refused)).toBeGreaterThan(100);
  });
});

describe('Base58 addresses', () => {
  it.each<[UtxoChain, Network, string, string | null]>([
    // The six pairs of the CashAddr specification, as BTC's own.
    ['BTC', 'mainnet', '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu', '76a91476a04053bda0a88bda5177b86a15c3b29f55987388ac'],
    ['BTC', 'mainnet', '3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC', 'a91476a04053bda0a88bda5177b86a15c3b29f55987387'],
    ['BTC', 'testnet', '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu', null],
    ['BCH', 'mainnet', '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu', null],
    ['BCH', 'mainnet', '3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC', null],
    ['LTC', 'mainnet', '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu', null],
    // BTC's form of P2SH, which old Litecoin wallets shared.
    ['LTC', 'mainnet', '3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC', null],
    ['BTC', 'mainnet', '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggv', null],
    ['BTC', 'mainnet', '', null],
    // As litecoind 0.21 on regtest writes and explains them.
    ['LTC', 'regtest', 'mrZDiy31yyBm9XQnwsvxYj3boT4RW2WGmE', '76a91479171870c360878b4daa4d96d6b60721996aae9b88ac'],
    ['LTC', 'regtest', 'QNn8iBA3ayfjSH3jrWfEdbxsrR3ar9WYgr', 'a91417db9759b54fd9994608d02e49a7ab03bb5d24e487'],
    ['LTC', 'regtest', 'rltc1qm849hhrymh2hdnpgtlduepphem20tfa07nep5s', '0014d9ea5bdc64ddd576cc285fdbcc8437ced4f5a7af'],
    ['LTC', 'mainnet', 'QNn8iBA3ayfjSH3jrWfEdbxsrR3ar9WYgr', null],
    // An MWEB address of the same node.
    [
      'LTC',
      'regtest',
      'tmweb1qq0ect40w5aftludgenc8x0txzqzzm7frqrrx7aj400dnrvqw0tn35q4tllzmepn594qdnms9djc68ntx6p52mu53whzs3vwucqu2vmdj0y0pf8sk',
      null,
    ],
  ])('%s on %s: %s', (chain, network, address, script) => {
    expect(hex(scriptOf(address, chain, network))).toBe(script);
  });

  it('begin with L and M on LTC', () => {
    const legacy = (version: number): string => {
      const data = Buffer.concat([Buffer.of(version), bytes(GENERATOR_HASH)]);
      const once = new Uint8Array(data);
      return base58.encode(Buffer.concat([once, sha256d(once).subarray(0, 4)]));
    };
    const [p2pkh, p2sh] = [legacy(0x30), legacy(0x32)];
    expect([p2pkh.charAt(0), p2sh.charAt(0)]).toEqual(['L', 'M']);
    expect(hex(scriptOf(p2pkh, 'LTC', 'mainnet'))).toBe(`76a914${GENERATOR_HASH}88ac`);
    expect(hex(scriptOf(p2sh, 'LTC', 'mainnet'))).toBe(`a914${GENERATOR_HASH}87`);
    expect([p2pkh, p2sh].map((text) => isValidAddress(text, 'BTC', 'mainnet'))).toEqual([false, false]);
  });

  it('take P2TR on LTC and no MWEB', () => {
    const program = bytes('79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798');
    const address = bech32m.encode('ltc', [1, ...bech32m.toWords(program)]);
    expect(hex(scriptOf(address, 'LTC', 'mainnet'))).toBe(`5120${program.toString('hex')}`);
    expect(isValidAddress(address.replace('ltc1', 'ltcmweb1'), 'LTC', 'mainnet')).toBe(false);
  });
});

describe('CashAddr', () => {
  /** The specification's pairs of legacy and new addresses. */
  it.each([
    ['1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu', 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a'],
    ['1KXrWXciRDZUpQwQmuM1DbwsKDLYAYsVLR', 'bitcoincash:qr95sy3j9xwd2ap32xkykttr4cvcu7as4y0qverfuy'],
    ['16w1D5WRVKJuZUsSRzdLp9w3YGcgoxDXb', 'bitcoincash:qqq3728yw0y47sqn6l2na30mcw6zm78dzqre909m2r'],
    ['3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC', 'bitcoincash:ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq'],
    ['3LDsS579y7sruadqu11beEJoTjdFiFCdX4', 'bitcoincash:pr95sy3j9xwd2ap32xkykttr4cvcu7as4yc93ky28e'],
    ['31nwvkZwyPdgzjBJZXfDmSWsC4ZLKpYyUw', 'bitcoincash:pqq3728yw0y47sqn6l2na30mcw6zm78dzq5ucqzc37'],
  ])('%s is %s', (legacy, address) => {
    const script = hex(scriptOf(legacy, 'BTC', 'mainnet'));
    expect(script).not.toBeNull();
    const bare = address.slice('bitcoincash:'.length);
    for (const text of [address, bare, address.toUpperCase(), bare.toUpperCase()]) {
      expect(hex(scriptOf(text, 'BCH', 'mainnet'))).toBe(script);
    }
    const mixed = [`bitcoincash:${bare.toUpperCase()}`, `Bitcoincash:${bare}`, `bitcoincash:bitcoincash:${bare}`];
    const foreign = [`bchtest:${bare}`, `:${bare}`];
    expect([...mixed, ...foreign].filter((text) => isValidAddress(text, 'BCH', 'mainnet'))).toEqual([]);
    expect(NETWORKS.filter((network) => isValidAddress(bare, 'BCH', network))).toEqual(['mainnet']);
  });

  /** The specification's larger vectors: type, address, hash. */
  it.each(LARGER_VECTORS)('encodes and decodes type %d: %s', (type, address, hash) => {
    const prefix = address.slice(0, address.indexOf(':'));
    expect(encodeCashAddress(prefix, { type, hash: bytes(hash) })).toBe(address);
    expect(decodeCashAddress(prefix, address)).toEqual({ type, hash: Uint8Array.from(bytes(hash)) });
  });

  it.each(['prefix:x64nx6hz', 'p:gpf8m4h7', 'bitcoincash:qpzry9x8gf2tvdw0s3jn54khce6mua7lcw20ayyn'])(
    'refuses %s, whose checksum is right and whose contents are none',
    (address) => {
      expect(decodeCashAddress(address.slice(0, address.indexOf(':')), address)).toBeNull();
    },
  );

  it('refuses a reserved bit, padding that is not zero and a word too many under a right checksum', () => {
    const checksummed = (words: number[]): string => {
      const data = [...maskCashAddressPrefix('bitcoincash'), 0, ...words, ...new Array<number>(8).fill(0)];
      const tail = cashAddressChecksumToUint5Array(cashAddressPolynomialModulo(data));
      return `bitcoincash:${encodeBech32([...words, ...tail])}`;
    };
    // 21 zero bytes are 168 bits: 33 words of zeros and one that ends in two bits of padding.
    const zeros = new Array<number>(34).fill(0);
    expect(decodeCashAddress('bitcoincash', checksummed(zeros))).toEqual({ type: 0, hash: new Uint8Array(20) });
    const broken = [
      [16, ...zeros.slice(1)],
      [...zeros.slice(1), 1],
      [...zeros.slice(1), 2],
      [...zeros, 0],
      zeros.slice(1),
    ];
    expect(broken.map((words) => decodeCashAddress('bitcoincash', checksummed(words)))).toEqual(broken.map(() => null));
  });

  it('pays P2SH32 and token-aware addresses, and nothing else of other lengths or types', () => {
    const hash20 = bytes(GENERATOR_HASH);
    const hash32 = Buffer.alloc(32, 7);
    const script = (type: number, hash: Uint8Array) =>
      hex(scriptOf(encodeCashAddress('bitcoincash', { type, hash }), 'BCH', 'mainnet'));
    expect([0, 1, 2, 3, 4, 15].map((type) => script(type, hash20))).toEqual([
      `76a914${GENERATOR_HASH}88ac`,
      `a914${GENERATOR_HASH}87`,
      `76a914${GENERATOR_HASH}88ac`,
      `a914${GENERATOR_HASH}87`,
      null,
      null,
    ]);
    const p2sh32 = `aa20${hash32.toString('hex')}87`;
    expect([0, 1, 2, 3].map((type) => script(type, hash32))).toEqual([null, p2sh32, null, p2sh32]);
    expect([24, 28, 40].map((length) => script(1, Buffer.alloc(length)))).toEqual([null, null, null]);
  });

  it('agrees with libauth on any hash', () => {
    const types = [
      CashAddressType.p2pkh,
      CashAddressType.p2sh,
      CashAddressType.p2pkhWithTokens,
      CashAddressType.p2shWithTokens,
    ];
    const hash = fc.oneof(
      fc.uint8Array({ minLength: 20, maxLength: 20 }),
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
    );
    fc.assert(
      fc.property(hash, fc.nat(3), fc.constantFrom('bitcoincash', 'bchtest', 'bchreg'), (payload, type, prefix) => {
        const address = encodeCashAddress(prefix, { type, hash: payload });
        expect(libauthEncode({ payload, prefix, type: types[type]! }).address).toBe(address);
        expect(libauthDecode(address)).toMatchObject({ payload, prefix });
        expect(decodeCashAddress(prefix, address)).toEqual({ type, hash: payload });
      }),
      { numRuns: 40 },
    );
  });

  it('detects any one changed character', () => {
    const address = 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a';
    const changed = [...address].map((c, i) => address.slice(0, i) + (c === 'q' ? 'p' : 'q') + address.slice(i + 1));
    expect(changed.filter((text) => isValidAddress(text, 'BCH', 'mainnet'))).toEqual([]);
  });
});

describe('any text', () => {
  it('is refused without an exception, however long', () => {
    const texts = fc.oneof(fc.string({ maxLength: 120 }), fc.string({ unit: 'binary-ascii', maxLength: 120 }));
    fc.assert(
      fc.property(texts, fc.constantFrom<UtxoChain>('BTC', 'LTC', 'BCH'), (text, chain) => {
        expect(scriptOf(text, chain, 'mainnet')).toBeNull();
      }),
    );
    expect(isValidAddress('q'.repeat(1_000_000), 'BCH', 'mainnet')).toBe(false);
  });

  it('is refused when a sign only looks like a letter in lower case', () => {
    const upper = addressOfKey(GENERATOR, 'BTC', 'mainnet').address.toUpperCase();
    expect(isValidAddress(upper, 'BTC', 'mainnet')).toBe(true);
    // The Kelvin sign's lower case is k.
    expect(isValidAddress(upper.replace('K', '\u212a'), 'BTC', 'mainnet')).toBe(false);
    const cash = 'BITCOINCASH:QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A';
    expect(isValidAddress(cash, 'BCH', 'mainnet')).toBe(true);
    expect(isValidAddress(cash.replace('K', '\u212a'), 'BCH', 'mainnet')).toBe(false);
    expect(decodeCashAddress('bitcoincash', cash.replace('K', '\u212a'))).toBeNull();
  });
});

describe('parameters', () => {
  it('name 32-byte genesis blocks for every network but the sandbox', () => {
    for (const networks of Object.values(UTXO_PARAMS)) {
      expect(networks.sandbox.genesis).toEqual([]);
      for (const network of ['mainnet', 'testnet', 'regtest'] as const) {
        expect(networks[network].genesis.length).toBeGreaterThan(0);
        for (const hash of networks[network].genesis) expect(hash).toMatch(/^[0-9a-f]{64}$/);
      }
    }
  });

  it('compute to the hash of Bitcoin’s and the regtest’s first header', () => {
    const merkle = bytes('4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b').reverse();
    const header = (time: number, bits: number, nonce: number): string => {
      const data = Buffer.alloc(80);
      data.writeInt32LE(1, 0);
      merkle.copy(data, 36);
      data.writeUInt32LE(time, 68);
      data.writeUInt32LE(bits, 72);
      data.writeUInt32LE(nonce, 76);
      return Buffer.from(sha256d(data)).reverse().toString('hex');
    };
    const { mainnet, testnet, regtest } = UTXO_PARAMS.BTC;
    expect(mainnet.genesis).toEqual([header(1231006505, 0x1d00ffff, 2083236893)]);
    expect(testnet.genesis[0]).toBe(header(1296688602, 0x1d00ffff, 414098458));
    expect(regtest.genesis).toEqual([header(1296688602, 0x207fffff, 2)]);
    expect(UTXO_PARAMS.BCH.testnet.genesis[1]).toBe(header(1597811185, 0x1d00ffff, 114152193));
  });
});
