/** What is shown of a computer at home that signs, and what is aimed at: an order costs its way there and back, and little more than here. */

/** `link`: of `link.ts`; `home`: of `home.mjs`. Either may be null. */
export function homeAims(link, home) {
  return [
    [
      'a signer at home: an order over a link ÷ the link and an order here',
      link?.farMs / (link?.nearMs + link?.thereAndBackMs),
      '≤',
      1.2,
    ],
    [`a signer at home: orders that waited, ${link?.waiting}, s`, link?.waitedSeconds, '<', 60],
    ['a signer at home: an idle hour, kB', home?.idleKb, '<', 100],
    ['a signer at home: memory of its two processes, MB', home?.pssMb, '<', 80],
  ];
}

export function homeLines(link, home) {
  return [
    ['a signer at home: an order to its signature, loopback', link?.nearMs, 'ms'],
    [`a signer at home: the same, ${link?.thereAndBackMs} ms there and back`, link?.farMs, 'ms'],
    [
      'a signer at home: orders from one address of an account chain, over the same link',
      link?.inOrderPerMinute,
      '/min',
    ],
    ['a signer at home: connected and open again', link?.backSeconds, 's'],
    [`a signer at home: orders that waited, ${link?.waiting}, over the same link`, link?.waitedSeconds, 's'],
    ['a signer at home: a look at the addresses', home?.lookBytes, 'bytes at the most'],
    ['a signer at home: an idle hour', home?.idleKb, 'kB'],
    ['a signer at home: memory, shared pages once', home?.pssMb, 'MB'],
    ['a signer at home: memory, shared pages in each process', home?.rssMb, 'MB'],
  ];
}
