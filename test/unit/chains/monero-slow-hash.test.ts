/** Monero's own test vectors (`tests/hash` of its repository) of the slow hash and of the hashes at its end. */
import { expect, it } from 'vitest';
import { atOnce } from '../../../daemon/chains/slices.ts';
import { groestl256 } from '../../../daemon/monero/slow-hash/groestl.ts';
import { jh256 } from '../../../daemon/monero/slow-hash/jh.ts';
import { skein256 } from '../../../daemon/monero/slow-hash/skein.ts';
import { slowHash } from '../../../daemon/monero/slow-hash/slow-hash.ts';

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Of 0, 1, 2, 64, 65 and 200 bytes. */
const MESSAGES = [
  '',
  'cc',
  '41fb',
  'e926ae8b0af6e53176dbffcc2a6b88c6bd765f939d3d178a9bde9ef3aa131c61e31c1e42cdfaf4b4dcde579a37e150efbef5555b4c1cb4' +
    '0439d835a724e2fae7',
  '16e8b3d8f988e9bb04de9c96f2627811c973ce4a5296b4772ca3eefeb80a652bdf21f50df79f32db23f9f73d393b2d57d9a0297f7a2f2e' +
    '79cfda39fa393df1ac00',
  '8c3798e51bc68482d7337d3abb75dc9ffe860714a9ad73551e120059860dde24ab87327222b64cf774415a70f724cdf270de3fe47dda07' +
    'b61c9ef2a3551f45a5584860248fabde676e1cd75f6355aa3eaeabe3b51dc813d9fb2eaa4f0f1d9f834d7cad9c7c695ae84b329385bc0b' +
    'ef895b9f1edf44a03d4b410cc23a79a6b62e4f346a5e8dd851c2857995ddbf5b2d717aeb847310e1f6a46ac3d26a7f9b44985af656d2b7' +
    'c9406e8a9e8f47dcb4ef6b83caacf9aefb6118bfcff7e44bef6937ebddc89186839b77',
];

it.each([
  [
    'groestl',
    groestl256,
    [
      '1a52d11d550039be16107f9c58db9ebcc417f16f736adb2502567119f0083467',
      '15e2671f0eaf66c0de3093ab7b1e39dc68f945d7002fc5dfd52d60527e7228d1',
      '846f1c22fc62b770de1782ef33414aa5baa44b690ebfb7d1bdcca8d2ac59c929',
      '5adebbfdf6fd6178892b39a97a32b29fb605f97e1e5c3bbcf624a0e9cd72d145',
      '5f27dd5b62ba1301867becd5ae6347790e4c56d5526554903824b1717c3b3065',
      '64c6a5553aa262ec66fcf70d303d4b88168d2a93acbd0483e1519a3300ce7695',
    ],
  ],
  [
    'jh',
    jh256,
    [
      '46e64619c18bb0a92a5e87185a47eef83ca747b8fcc8e1412921357e326df434',
      '7b1191f13a2667830142541bfc5918543d2a434c7692e70c3e5e9bbdddb7f581',
      'ef3eeeae2d2457db084f2a933647d9e77a476eb4e58569a18ad4ba55754f9034',
      '9d35c0cc1880a36ebb6cb33b732c0c2adb4a418b4bf0df9173b539263653e90b',
      '334f80e3a32b128528267a1541821dda9ea69199ce506f6e88dcbf35ebb80f4e',
      '81762fe2792ccb4b8ed9d02eb56ec26c2f9fa33ac45668a2cc89301c41bb7a12',
    ],
  ],
  [
    'skein',
    skein256,
    [
      '39ccc4554a8b31853b9de7a1fe638a24cce6b35a55f2431009e18780335d2621',
      'a018268ed814e0ad0f2d0304e8fe3f4118fcefc07454d07123cc2c3e40e06a4f',
      'f91902ddcc9688462e48f0bcdfca031637f0d8da577c1e2aa316b5c022450bf2',
      '08375c3267e2196834e65d2abf25ea2a33e74abcca281e4a4d816bd7c8b5adbd',
      '3ccdcbb0c34ce4241173cb0e85ffa50955a8d597381aac3e11f362cb23eaef7b',
      'b702fe508bf21919e30edda6879f47dcd9a07f860a779db54b7f93b86074e13e',
    ],
  ],
] as const)('%s', (_, hash, digests) => {
  expect(MESSAGES.map((message) => hexOf(hash(Buffer.from(message, 'hex'))))).toEqual(digests);
});

it.each([
  ['2f8e3df40bd11f9ac90c743ca8e32bb391da4fb98612aa3b6cdc639ee00b31f5', '6465206f6d6e69627573206475626974616e64756d'],
  [
    '722fa8ccd594d40e4a41f3822734304c8d5eff7e1b528408e2229da38ba553c4',
    '6162756e64616e732063617574656c61206e6f6e206e6f636574',
  ],
  ['bbec2cacf69866a8e740380fe7b818fc78f8571221742d729d9d02d7f8989b87', '63617665617420656d70746f72'],
  ['b1257de4efc5ce28c6b40ceb1c6c8f812a64634eb3e81c5220bee9b2b76a6f05', '6578206e6968696c6f206e6968696c20666974'],
])('the slow hash %s', (digest, message) => {
  expect(hexOf(atOnce(slowHash(Buffer.from(message, 'hex'))))).toBe(digest);
});
