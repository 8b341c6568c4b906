/** The rate sources' clients against local servers that answer in the documented shapes, wrongly, slowly, or not at all. */
import { execFile } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FIAT } from '../../daemon/domain/currencies.ts';
import { formatDecimal } from '../../daemon/domain/money.ts';
import { RateBook } from '../../daemon/rates/book.ts';
import { RESPONSE_BYTES_MAX } from '../../daemon/rates/http.ts';
import { type RatesService, startRates } from '../../daemon/rates/refresher.ts';
import { fetchQuotes, type Source } from '../../daemon/rates/source.ts';
import { chooseSources, SOURCES } from '../../daemon/rates/sources/index.ts';

const NOW_S = Math.floor(Date.now() / 1000);
const TODAY = new Date().toISOString().slice(0, 10);
const FIAT_CODES = Object.keys(FIAT).filter((code) => code !== 'USD');

const ticker = (last: string) => ({ a: ['1', '1', '1'], b: ['1', '1', '1'], c: [last, '0.1'], v: ['1', '2'], o: '1' });
const bitfinexRow = (symbol: string, last: string) => `["${symbol}",1,2,3,4,-5,-0.01,${last},8,9,10]`;
const fiatRates = (value: (code: string) => unknown) => Object.fromEntries(FIAT_CODES.map((c) => [c, value(c)]));

/** What each source answers, by name, and what is to be read from it. `body` is JSON text, so that numbers stay as written. */
const SHAPES: Record<string, { body: string; expected: Record<string, string> }> = {
  kraken: {
    body: JSON.stringify({
      error: [],
      result: {
        XXBTZUSD: ticker('65998.10000'),
        BCHUSD: ticker('401.23'),
        XLTCZUSD: ticker('80.1'),
        XXMRZUSD: ticker('160.02'),
        XETHZUSD: ticker('3001.5'),
        BNBUSD: ticker('600.7'),
        USDTZUSD: ticker('0.99990'),
        PAXGUSD: ticker('2500.11'),
      },
    }),
    expected: {
      BTC: '65998.1',
      BCH: '401.23',
      LTC: '80.1',
      XMR: '160.02',
      ETH: '3001.5',
      BNB: '600.7',
      USDT: '0.9999',
      PAXG: '2500.11',
    },
  },
  coinbase: {
    body: JSON.stringify({
      data: {
        currency: 'USD',
        rates: { BTC: '0.00001515', USDT: '1.0001', ETH: '0.0003125', EUR: '0.92', AED: '3.67' },
      },
    }),
    expected: { BTC: '66006.60066006', ETH: '3200', USDT: '0.9999' },
  },
  bitstamp: {
    body: JSON.stringify([
      { timestamp: String(NOW_S), last: '65998', pair: 'BTC/USD', market_type: 'SPOT' },
      { timestamp: String(NOW_S), last: '60000', pair: 'BTC/EUR', market_type: 'SPOT' },
      { timestamp: String(NOW_S), last: '0.99985', pair: 'USDT/USD', market_type: 'SPOT' },
    ]),
    expected: { BTC: '65998', USDT: '0.99985' },
  },
  coingecko: {
    body: `{"bitcoin":{"usd":6.59981e4,"last_updated_at":${NOW_S}},"tether-gold":{"usd":2501.000000019,"last_updated_at":${NOW_S}},
      "monero":{"usd":160,"last_updated_at":${NOW_S}},"tether":{"usd":0.999912,"last_updated_at":${NOW_S}}}`,
    expected: { BTC: '65998.1', XMR: '160', USDT: '0.999912', XAUT: '2501.00000001' },
  },
  binance: {
    body: '[{"symbol":"BTCUSDT","price":"65998.10000000"},{"symbol":"PAXGUSDT","price":"2500.00000000"}]',
    expected: { BTC: '65998.1', PAXG: '2500' },
  },
  bitfinex: {
    body: `[${bitfinexRow('tBTCUSD', '65998')},${bitfinexRow('tXAUT:USD', '2499.5')},${bitfinexRow('tUSTUSD', '0.99993')},
      ${bitfinexRow('tBCHN:USD', '400')}]`,
    expected: { BTC: '65998', BCH: '400', USDT: '0.99993', XAUT: '2499.5' },
  },
  gemini: {
    body: JSON.stringify([
      { pair: 'BTCUSD', price: '65998.10', percentChange24h: '-0.0424' },
      { pair: 'PAXGUSD', price: '2500.2', percentChange24h: '0' },
      { pair: 'BTCGUSD', price: '1', percentChange24h: '0' },
    ]),
    expected: { BTC: '65998.1', PAXG: '2500.2' },
  },
  kucoin: {
    body: JSON.stringify({ code: '200000', data: { BTC: '65998.1', XAUT: '2500.3', USDT: '1' } }),
    expected: { BTC: '65998.1', XAUT: '2500.3' },
  },
  'coinbase-fiat': {
    body: JSON.stringify({ data: { currency: 'USD', rates: { ...fiatRates(() => '0.9201'), BTC: '0.00001515' } } }),
    expected: fiatRates(() => '0.9201') as Record<string, string>,
  },
  'er-api': {
    body: JSON.stringify({
      result: 'success',
      time_last_update_unix: NOW_S,
      base_code: 'USD',
      rates: { USD: 1, ...fiatRates(() => 0.92) },
    }),
    expected: fiatRates(() => '0.92') as Record<string, string>,
  },
  'currency-api': {
    body: `{"date":"${TODAY}","usd":{${FIAT_CODES.map((code) => `"${code.toLowerCase()}":9.2e-1`).join(',')}}}`,
    expected: fiatRates(() => '0.92') as Record<string, string>,
  },
  frankfurter: {
    body: `[${FIAT_CODES.map((code) => `{"date":"${TODAY}","base":"USD","quote":"${code}","rate":0.92}`).join(',')},
      {"date":"${TODAY}","base":"EUR","quote":"JPY","rate":7}]`,
    expected: fiatRates(() => '0.92') as Record<string, string>,
  },
  floatrates: {
    body: JSON.stringify(
      Object.fromEntries(
        FIAT_CODES.map((code) => {
          const row = { code, alphaCode: code, rate: 0.92, date: new Date().toUTCString(), inverseRate: 1.08 };
          return [code.toLowerCase(), row];
        }),
      ),
    ),
    expected: fiatRates(() => '0.92') as Record<string, string>,
  },
};

/** `page`: of the source's own documentation; `read`: the day on which it was read, null if it could not be. */
type Documented = {
  page: string;
  read: string | null;
  /** Where the example was read, if not on the page, and what that is. */
  instead?: string;
  example?: string;
  /** What is read from the example. */
  expected?: Record<string, string>;
  /** The example's own time, if it has one that is used. */
  asOf?: string;
};

/**
 * What the sources' own documentation shows as an answer. No example: that documentation has none of our question, and the page was read for the
 * meaning of the fields alone.
 */
const DOCUMENTED: Record<string, Documented> = {
  kraken: {
    page: 'https://docs.kraken.com/api/docs/rest-api/get-ticker-information',
    read: '2026-11-28',
    example: `{"error":[],"result":{"XXBTZUSD":{"a":["30300.10000","1","1.000"],"b":["30300.00000","1","1.000"],
      "c":["30303.20000","0.00067643"],"v":["4083.67001100","4412.73601799"],"p":["30706.77771","30689.13205"],
      "t":[34619,38907],"l":["29868.30000","29868.30000"],"h":["31631.00000","31631.00000"],"o":"30502.80000"}}}`,
    expected: { BTC: '30303.2' },
  },
  binance: {
    page: 'https://github.com/binance/binance-spot-api-docs/blob/master/rest-api.md',
    read: '2026-11-28',
    // with a pair that is asked for: the example's own are none
    example: '[{"symbol":"LTCBTC","price":"4.00000200"},{"symbol":"ETHUSDT","price":"0.07946600"}]',
    expected: { ETH: '0.079466' },
  },
  bitfinex: {
    page: 'https://docs.bitfinex.com/reference/rest-public-tickers',
    read: '2026-11-28',
    // its figures are those of the page about the stream: SYMBOL, BID, BID_SIZE, ASK, ASK_SIZE, DAILY_CHANGE, DAILY_CHANGE_RELATIVE, LAST_PRICE, VOLUME, HIGH, LOW
    example:
      '[["tBTCUSD",7616.5,31.89055171,7617.5,43.358118629999986,-550.8,-0.0674,7617.1,8314.71200815,8257.8,7500]]',
    expected: { BTC: '7617.1' },
  },
  gemini: {
    page: 'https://docs.gemini.com/rest/market-data#list-prices',
    read: '2026-11-28',
    example: `[{"pair":"BTCUSD","price":"9500.00","percentChange24h":"5.23"},{"pair":"ETHUSD","price":"257.54","percentChange24h":"4.85"},
      {"pair":"BCHUSD","price":"450.10","percentChange24h":"-2.91"},{"pair":"LTCUSD","price":"79.50","percentChange24h":"7.63"}]`,
    expected: { BTC: '9500', ETH: '257.54', BCH: '450.1', LTC: '79.5' },
  },
  coingecko: {
    page: 'https://docs.coingecko.com/v3.0.1/reference/simple-price',
    read: '2026-11-28',
    example: `{"bitcoin":{"usd":67187.3358936566,"usd_market_cap":1317802988326.25,"usd_24h_vol":31260929299.5248,
      "usd_24h_change":3.63727894677354,"last_updated_at":1711356300}}`,
    expected: { BTC: '67187.33589365' },
    asOf: '2024-03-25T08:45:00Z',
  },
  frankfurter: { page: 'https://github.com/lineofflight/frankfurter/blob/main/CHANGELOG.md', read: '2026-11-28' },
  'currency-api': {
    // shows no answer; the program beside it writes the date, and the rates under the lower-case code of their base
    page: 'https://github.com/fawazahmed0/exchange-api/blob/main/README.md',
    read: '2026-11-28',
  },
  'er-api': {
    page: 'https://www.exchangerate-api.com/docs/free',
    read: '2026-11-28',
    instead: 'public programs that quote the page alike; the copy of the page that was read ends before its example',
    example: `{"result":"success","provider":"https://www.exchangerate-api.com","documentation":"https://www.exchangerate-api.com/docs/free",
      "terms_of_use":"https://www.exchangerate-api.com/terms","time_last_update_unix":1585872397,
      "time_last_update_utc":"Fri, 02 Apr 2020 00:06:37 +0000","time_next_update_unix":1585959987,
      "time_next_update_utc":"Sat, 03 Apr 2020 00:26:27 +0000","time_eol_unix":0,"base_code":"USD",
      "rates":{"USD":1,"AED":3.67,"ARS":64.51,"AUD":1.65,"CAD":1.42,"CHF":0.97,"CLP":864.53,"CNY":7.1,"EUR":0.919,"GBP":0.806,"HKD":7.75}}`,
    expected: {
      AED: '3.67',
      ARS: '64.51',
      AUD: '1.65',
      CAD: '1.42',
      CHF: '0.97',
      CLP: '864.53',
      CNY: '7.1',
      EUR: '0.919',
      GBP: '0.806',
      HKD: '7.75',
    },
    asOf: '2020-04-03T00:06:37Z',
  },
  coinbase: { page: 'https://docs.cdp.coinbase.com/coinbase-app/track-apis/exchange-rates', read: '2026-11-28' },
  'coinbase-fiat': { page: 'https://docs.cdp.coinbase.com/coinbase-app/track-apis/exchange-rates', read: '2026-11-28' },
  bitstamp: {
    page: 'https://www.bitstamp.net/api/#tag/Tickers/operation/GetCurrencyPairTickers',
    read: null,
    instead: 'https://github.com/skip-mev/connect-mmu, which quotes the page',
    example: `[{"ask":"2211.00","bid":"2188.97","high":"2811.00","last":"2211.00","low":"2188.97","open":"2211.00","open_24":"2211.00",
      "pair":"BTC/USD","percent_change_24":"13.57","side":"0","timestamp":"1643640186","volume":"213.26801100","vwap":"2189.80"}]`,
    expected: { BTC: '2211' },
    asOf: '2022-01-31T14:43:06Z',
  },
  kucoin: {
    page: 'https://www.kucoin.com/docs-new/rest/spot-trading/market-data/get-fiat-price',
    read: null,
    instead:
      'https://github.com/Kucoin/kucoin-api-docs/blob/master/source/localizable/index.html.md, its former documentation of the same call, of June 2023',
    example:
      '{"code":"200000","data":{"BTC":"3911.28000000","ETH":"144.55492453","LTC":"48.45888179","KCS":"0.45546856"}}',
    expected: { BTC: '3911.28', ETH: '144.55492453', LTC: '48.45888179' },
  },
  floatrates: {
    page: 'https://www.floatrates.com/json-feeds.html',
    read: null,
    instead: 'a public program with an answer that its author recorded; no documented one could be found',
    example: `{"eur":{"code":"EUR","alphaCode":"EUR","numericCode":"978","name":"Euro","rate":0.21965193489885,
      "date":"Fri, 4 Feb 2022 11:55:01 GMT","inverseRate":4.5526573688526}}`,
    expected: { EUR: '0.21965193' },
    asOf: '2022-02-04T11:55:01Z',
  },
};

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const json =
  (body: string): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  };
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_request, response) => {
    response.writeHead(code, headers).end(SHAPES.kraken?.body);
  };

let server: Server;
let origin: string;
/** The first segment of a request's path is the source's name. */
let answers: Record<string, Answer>;
let asked: string[];

beforeEach(async () => {
  asked = [];
  answers = Object.fromEntries(Object.entries(SHAPES).map(([name, shape]) => [name, json(shape.body)]));
  server = createServer((request, response) => {
    const name = String(request.url).split('/')[1] ?? '';
    asked.push(name);
    (answers[name] ?? status(404))(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const bases = (): Record<string, string> => Object.fromEntries(SOURCES.map(({ name }) => [name, `${origin}/${name}`]));

function localSource(name: string): Source {
  const source = SOURCES.find((one) => one.name === name) as Source;
  return { ...source, base: `${origin}/${name}` };
}

const ask = (name: string, timeoutMs = 5_000) =>
  fetchQuotes(localSource(name), { signal: new AbortController().signal, timeoutMs });

const byCode = (quotes: { code: string; scaled: bigint }[]): Record<string, string> =>
  Object.fromEntries(quotes.map(({ code, scaled }) => [code, formatDecimal(scaled, 8)]));

describe('every source, answered in its documented shape', () => {
  it('has a shape here', () => {
    expect(Object.keys(SHAPES).toSorted()).toEqual(SOURCES.map((source) => source.name).toSorted());
  });

  it.each(SOURCES.map(({ name }) => [name]))('%s is read exactly, with one request', async (name) => {
    const reading = await ask(name);
    expect(byCode(reading.quotes)).toEqual(SHAPES[name]?.expected);
    expect(reading.refused).toEqual([]);
    expect(asked).toEqual([name]);
  });

  it('has the page of its documentation, or says what was read in its place', () => {
    expect(Object.keys(DOCUMENTED).toSorted()).toEqual(SOURCES.map((source) => source.name).toSorted());
    for (const [name, { read, instead }] of Object.entries(DOCUMENTED))
      expect(read ?? instead, name).toMatch(read ? /^\d{4}-\d\d-\d\d$/ : /./);
  });

  it.each(Object.entries(DOCUMENTED).filter(([, { example }]) => example))(
    "%s: the documentation's own example is read",
    async (name, { example, expected, asOf }) => {
      answers[name] = json(example as string);
      const { quotes, refused } = await ask(name);
      expect(byCode(quotes)).toEqual(expected);
      expect(refused).toEqual([]);
      const times = new Set(quotes.map((quote) => quote.asOf));
      expect([...times]).toEqual([asOf === undefined ? undefined : Date.parse(asOf)]);
    },
  );

  it('only Binance quotes in USDT', async () => {
    for (const { name } of SOURCES) {
      const { quotes } = await ask(name);
      expect(new Set(quotes.map((quote) => quote.quotedIn))).toEqual(new Set([name === 'binance' ? 'USDT' : 'USD']));
    }
  });

  it('asks with the documented parameters and says who asks', async () => {
    const seen: Record<string, string> = {};
    const agents = new Set<string | undefined>();
    for (const [name, answer] of Object.entries(answers)) {
      answers[name] = (request, response) => {
        seen[name] = decodeURIComponent(String(request.url)).slice(name.length + 1);
        agents.add(request.headers['user-agent']);
        answer(request, response);
      };
      await ask(name);
    }
    expect(seen).toMatchObject({
      kraken: '/0/public/Ticker?pair=XBTUSD,BCHUSD,LTCUSD,XMRUSD,ETHUSD,BNBUSD,USDTUSD,PAXGUSD',
      coinbase: '/v2/exchange-rates?currency=USD',
      bitstamp: '/api/v2/ticker/',
      binance:
        '/api/v3/ticker/price?symbols=["BTCUSDT","BCHUSDT","LTCUSDT","ETHUSDT","BNBUSDT","PAXGUSDT"]&symbolStatus=TRADING',
      bitfinex: '/v2/tickers?symbols=tBTCUSD,tBCHN:USD,tLTCUSD,tXMRUSD,tETHUSD,tUSTUSD,tXAUT:USD',
    });
    expect([...agents]).toEqual(['countinghouse']);
  });

  it("takes the source's own time", async () => {
    expect((await ask('coingecko')).quotes[0]?.asOf).toBe(NOW_S * 1000);
    expect((await ask('frankfurter')).quotes[0]?.asOf).toBe(Date.parse(TODAY));
    expect((await ask('floatrates')).quotes[0]?.asOf).toBeGreaterThanOrEqual(NOW_S * 1000 - 1000);
  });
});

describe('every source, answered wrongly', () => {
  const wrong: [string, Answer, RegExp][] = [
    ['HTML', json('<!doctype html><title>Just a moment…</title>'), /not JSON/],
    ['nothing', json(''), /not JSON/],
    ['cut off', json('{"data":{"rates":{"BTC":"1'), /not JSON/],
    ['NaN', json('{"bitcoin":{"usd":NaN}}'), /not JSON/],
    ['nested without end', json('['.repeat(100_000)), /too many values/],
    ['half a million numbers', json(`[${Array(500_000).fill(1).join()}]`), /too many values/],
    ['null', json('null'), /shape|is not|no usable|error/],
    ['an empty object', json('{}'), /shape|is not|no usable|error/],
    ['an empty list', json('[]'), /shape|is not|no usable|error/],
    ['a list of numbers', json('[1,2,3]'), /shape|is not|no usable|error/],
    ['429', status(429), /status 429/],
    ['500', status(500), /status 500/],
    ['a redirect', status(302, { location: '/kraken' }), /status 302/],
    ['204', status(204), /status 204/],
    ['a body too long', json(`"${'x'.repeat(RESPONSE_BYTES_MAX)}"`), /longer than 1048576 bytes/],
    [
      'a small body that swells',
      (_request, response) => {
        const bomb = gzipSync(`"${'x'.repeat(8 * RESPONSE_BYTES_MAX)}"`);
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
      },
      /longer than 1048576 bytes/,
    ],
    ['a dropped connection', (request) => request.socket.destroy(), /request failed/],
  ];

  it.each(wrong)('%s is a failure of that source', async (_name, answer, message) => {
    for (const { name } of SOURCES) {
      answers[name] = answer;
      await expect(ask(name), name).rejects.toThrow(message);
    }
  });

  it.each<[string, string, RegExp]>([
    ['kraken', '{"error":["EQuery:Unknown asset pair"]}', /reports an error/],
    ['coinbase', '{"data":{"currency":"EUR","rates":{"BTC":"0.00001"}}}', /base currency is not USD/],
    ['er-api', '{"result":"error","error-type":"quota-reached"}', /result is not success/],
    ['kucoin', '{"code":"400100","msg":"no"}', /result code is not 200000/],
  ])("%s's own word for an error is heard", async (name, body, message) => {
    answers[name] = json(body);
    await expect(ask(name)).rejects.toThrow(message);
  });

  it.each([['"-60000"'], ['-60000'], ['0'], ['"NaN"'], ['1e13'], ['true'], ['null'], ['{}'], ['["1"]'], ['"60,000"']])(
    'a price of %s costs that coin alone',
    async (price) => {
      answers.coingecko = json(`{"bitcoin":{"usd":${price}},"monero":{"usd":160.5}}`);
      const reading = await ask('coingecko');
      expect(byCode(reading.quotes)).toEqual({ XMR: '160.5' });
      expect(reading.refused).toEqual(['BTC']);
    },
  );

  it('a price that is stated many times counts once, as it was stated first', async () => {
    const row = (price: string) => `{"pair":"BTCUSD","price":"${price}"}`;
    answers.gemini = json(`[${[row('60000'), row('1'), row('x'), row('x'), '{"pair":"ETHUSD","price":"x"}'].join()}]`);
    const reading = await ask('gemini');
    expect(reading.quotes).toHaveLength(1);
    expect(byCode(reading.quotes)).toEqual({ BTC: '60000' });
    expect(reading.refused).toEqual(['ETH']);
  });

  it('a server that never answers, or never ends, is left in time', async () => {
    answers.kraken = () => {};
    answers.gemini = (_request, response) => {
      response.writeHead(200).write('[');
    };
    await expect(ask('kraken', 50)).rejects.toThrow('no answer within 50 ms');
    await expect(ask('gemini', 50)).rejects.toThrow('no answer within 50 ms');
  });

  it('a closed port is a failure', async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const source = { ...localSource('kraken'), base: `http://127.0.0.1:${(gone.address() as AddressInfo).port}` };
    await new Promise((resolve) => gone.close(resolve));
    const { signal } = new AbortController();
    await expect(fetchQuotes(source, { signal })).rejects.toThrow('the request failed (ECONNREFUSED)');
  });
});

describe('the refresher', () => {
  let service: RatesService | undefined;
  let now: number;
  let lines: { level: string; fields: object; message: string }[];

  beforeEach(() => {
    now = Date.now();
    lines = [];
  });
  afterEach(() => service?.stop());

  const log = {
    info: (fields: object, message: string) => void lines.push({ level: 'info', fields, message }),
    warn: (fields: object, message: string) => void lines.push({ level: 'warn', fields, message }),
  };

  function start(
    book: RateBook,
    more: { refreshMs?: number; names?: string[]; passed?: () => number; requestTimeoutMs?: number } = {},
  ): RatesService {
    service = startRates({
      book,
      sources: chooseSources(more.names, bases()),
      log,
      clock: () => now,
      refreshMs: more.refreshMs ?? 3_600_000,
      passed: more.passed ?? (() => now),
      jitterMaxMs: 0,
      requestTimeoutMs: more.requestTimeoutMs ?? 20_000,
    });
    return service;
  }

  const usd = (book: RateBook, asset: 'BTC' | 'XMR' | 'XAUT') => {
    const rate = book.rate('mainnet', asset, 'USD', now);
    return rate && formatDecimal(rate.scaled, 8);
  };

  it('starts with a round and fills the book from all sources', async () => {
    const book = new RateBook({});
    await start(book).refresh();
    // 65998.1 four times, 65998 twice, Coinbase's 66006.60066006, and Binance's 65998.1 lowered by what a USDT costs.
    expect(usd(book, 'BTC')).toBe('65998.1');
    expect(usd(book, 'XAUT')).toBe('2500.3');
    expect(book.rate('mainnet', 'BTC', 'EUR', now)).not.toBeNull();
    expect(asked.toSorted()).toEqual(SOURCES.map((source) => source.name).toSorted());
    expect(lines).toEqual([]);
    expect(service?.status().every((state) => state.problem === null && state.lastGoodAt === now)).toBe(true);
  });

  it('does what it can with two healthy sources among the broken, hanging and dead', async () => {
    const hang: Answer = () => {};
    answers = { ...Object.fromEntries(Object.keys(answers).map((name) => [name, status(500)])), coingecko: hang };
    answers.kraken = json(SHAPES.kraken?.body ?? '');
    answers.gemini = json(SHAPES.gemini?.body ?? '');
    const book = new RateBook({});
    await start(book, { requestTimeoutMs: 2_000 }).refresh();
    expect(usd(book, 'BTC')).toBe('65998.1');
    expect(usd(book, 'XMR')).toBeNull();
    const broken = service?.status().filter((state) => state.problem !== null);
    expect(broken).toHaveLength(SOURCES.length - 2);
    expect(broken?.find((state) => state.name === 'coingecko')?.problem).toBe('no answer within 2000 ms');
  });

  it('logs when a source begins to fail and when it works again, not each time', async () => {
    const good = answers.kraken as Answer;
    const refresher = start(new RateBook({}), { names: ['kraken', 'gemini'] });
    await refresher.refresh();
    answers.kraken = status(429);
    for (let i = 0; i < 3; i++) await refresher.refresh();
    answers.kraken = good;
    for (let i = 0; i < 2; i++) await refresher.refresh();
    expect(lines).toEqual([
      {
        level: 'warn',
        fields: { source: 'kraken', problem: 'answered with status 429' },
        message: 'rate source fails',
      },
      { level: 'info', fields: { source: 'kraken' }, message: 'rate source works again' },
    ]);
  });

  describe('an exchange that delisted a pair', () => {
    /** Pairs of its question, as it writes them. */
    const pairsOf = (request: IncomingMessage): string[] => {
      const { searchParams } = new URL(String(request.url), origin);
      return searchParams.get('pair')?.split(',') ?? (JSON.parse(searchParams.get('symbols') ?? '[]') as string[]);
    };
    const refuses = (name: string, gone: string, refusal: Answer): { questions: string[][] } => {
      const good = answers[name] as Answer;
      const questions: string[][] = [];
      answers[name] = (request, response) => {
        const pairs = pairsOf(request);
        questions.push(pairs);
        (pairs.includes(gone) ? refusal : good)(request, response);
      };
      return { questions };
    };

    it.each([
      ['kraken', 'XMRUSD', 'XMR', json('{"error":["EQuery:Unknown asset pair"]}'), 8],
      ['binance', 'BCHUSDT', 'BCH', status(400), 6],
    ] as const)('%s is asked for each code once, then without %s for a day', async (name, gone, code, refusal, all) => {
      const { questions } = refuses(name, gone, refusal);
      const refresher = start(new RateBook({}), { names: [name, 'gemini'] });
      await refresher.refresh();
      expect(questions.map((pairs) => pairs.length)).toEqual([all, ...Array<number>(all).fill(1)]);
      const problem = () => refresher.status().find((one) => one.name === name)?.problem;
      expect(problem()).toBe(`unusable prices: ${code}`);
      questions.length = 0;
      for (let round = 0; round < 3; round++) await refresher.refresh();
      expect(questions.map((pairs) => [pairs.length, pairs.includes(gone)])).toEqual(Array(3).fill([all - 1, false]));
      expect(problem()).toBe(`unusable prices: ${code}`);
      questions.length = 0;
      now += 24 * 3_600_000;
      await refresher.refresh();
      expect(questions[0]).toContain(gone);
    });

    it('goes on when another pair is halted meanwhile, which Binance leaves out of its answer', async () => {
      const good = answers.binance as Answer;
      const traded = ['BTCUSDT', 'LTCUSDT', 'ETHUSDT', 'BNBUSDT', 'PAXGUSDT'];
      answers.binance = (request, response) => {
        const pairs = pairsOf(request);
        if (pairs.includes('BCHUSDT')) status(400)(request, response);
        else if (pairs.join() === 'ETHUSDT') json('[]')(request, response);
        else if (traded.some((pair) => pairs.includes(pair))) good(request, response);
        else status(500)(request, response);
      };
      const refresher = start(new RateBook({}), { names: ['binance', 'gemini'] });
      await refresher.refresh();
      expect(refresher.status().find((one) => one.name === 'binance')?.problem).toBe('unusable prices: BCH, ETH');
    });

    it('keeps the prices of the others', async () => {
      refuses('kraken', 'XMRUSD', json('{"error":["EQuery:Unknown asset pair"]}'));
      const only = { ...answers };
      for (const name of Object.keys(answers)) if (name !== 'kraken' && name !== 'gemini') only[name] = status(500);
      answers = only;
      const book = new RateBook({});
      await start(book).refresh();
      expect(usd(book, 'BTC')).toBe('65998.1');
    });

    it('is a failure, and no reason to ask again, if it refuses every pair', async () => {
      answers.binance = status(400);
      const refresher = start(new RateBook({}), { names: ['binance', 'gemini'] });
      await refresher.refresh();
      expect(asked.filter((name) => name === 'binance')).toHaveLength(7);
      await refresher.refresh();
      expect(asked.filter((name) => name === 'binance')).toHaveLength(8);
      expect(refresher.status().find(({ name }) => name === 'binance')?.problem).toBe('answered with status 400');
    });
  });

  it('asks fiat sources hourly, and a failing one sooner', async () => {
    const failing = answers.floatrates as Answer;
    answers.floatrates = status(500);
    const refresher = start(new RateBook({}));
    await refresher.refresh();
    const count = async (minutes: number): Promise<Record<string, number>> => {
      asked = [];
      now += minutes * 60_000;
      await refresher.refresh();
      const times = (name: string) => asked.filter((one) => one === name).length;
      return { kraken: times('kraken'), er: times('er-api'), floatrates: times('floatrates') };
    };
    expect(await count(5)).toEqual({ kraken: 1, er: 0, floatrates: 0 });
    answers.floatrates = failing;
    expect(await count(10)).toEqual({ kraken: 1, er: 0, floatrates: 1 });
    expect(await count(45)).toEqual({ kraken: 1, er: 1, floatrates: 0 });
  });

  it('asks a source no sooner again because one of its prices is unusable', async () => {
    answers.floatrates = json('{"eur":{"code":"EUR","rate":0.92},"gbp":{"code":"GBP","rate":0}}');
    const refresher = start(new RateBook({}));
    await refresher.refresh();
    expect(refresher.status().find(({ name }) => name === 'floatrates')?.problem).toBe('unusable prices: GBP');
    asked = [];
    now += 15 * 60_000;
    await refresher.refresh();
    expect(asked).not.toContain('floatrates');
  });

  it('has at most four requests under way', async () => {
    let open = 0;
    let most = 0;
    for (const [name, answer] of Object.entries(answers)) {
      answers[name] = (request, response) => {
        open += 1;
        most = Math.max(most, open);
        setImmediate(() => {
          open -= 1;
          answer(request, response);
        });
      };
    }
    await start(new RateBook({})).refresh();
    expect(asked).toHaveLength(SOURCES.length);
    expect(most).toBeLessThanOrEqual(4);
  });

  it('a history that cannot be written is told once and stops nothing', async () => {
    let full = true;
    const append = (): void => {
      if (full) throw new Error('disk full');
    };
    const book = new RateBook({}, { load: () => [], append });
    const refresher = start(book);
    await refresher.refresh();
    now += 5 * 60_000;
    await refresher.refresh();
    full = false;
    now += 5 * 60_000;
    await refresher.refresh();
    expect(usd(book, 'BTC')).toBe('65998.1');
    expect(lines.map((line) => line.message)).toEqual(['history of rates fails', 'history of rates works again']);
  });

  it('asks again and again until stopped', async () => {
    const refresher = start(new RateBook({}), { refreshMs: 50, names: ['kraken', 'gemini'] });
    await expect.poll(() => asked.filter((name) => name === 'kraken').length, { timeout: 60_000 }).toBeGreaterThan(1);
    await refresher.stop();
    asked = [];
    await refresher.refresh();
    expect(asked).toEqual([]);
  });

  it('stop ends requests that hang, and logs no failure', async () => {
    answers = Object.fromEntries(Object.keys(answers).map((name) => [name, () => {}]));
    service = startRates({ book: new RateBook({}), sources: chooseSources(undefined, bases()), log });
    await expect.poll(() => asked.length, { timeout: 60_000 }).toBe(4);
    await service.stop();
    expect(asked).toHaveLength(4);
    expect(lines).toEqual([]);
  });

  it('asks every source anew when the clock was set, whichever way', async () => {
    const book = new RateBook({});
    const real = now;
    now = real + 86_400_000;
    const refresher = start(book, { passed: () => real });
    await refresher.refresh();
    expect(book.perDollar('mainnet', 'EUR', now)).not.toBeNull();
    now = real;
    // what the wrong date found is of the future now
    expect(book.perDollar('mainnet', 'EUR', now)).toBeNull();
    asked = [];
    refresher.clockSet();
    await refresher.refresh();
    expect(asked).toHaveLength(SOURCES.length);
    expect(book.perDollar('mainnet', 'EUR', now)).not.toBeNull();
    expect(usd(book, 'BTC')).toBe('65998.1');
  });

  it('asks once more when the clock was set during a round', async () => {
    const book = new RateBook({});
    const real = now;
    now = real + 86_400_000;
    const reached = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const usual = answers.kraken as Answer;
    answers.kraken = async (request, response) => {
      reached.resolve();
      await released.promise;
      usual(request, response);
    };
    const refresher = start(book, { passed: () => real });
    await reached.promise;
    await expect.poll(() => asked.length).toBe(SOURCES.length);
    refresher.clockSet();
    now = real;
    released.resolve();
    await expect.poll(() => book.perDollar('mainnet', 'EUR', now)).not.toBeNull();
    expect(usd(book, 'BTC')).toBe('65998.1');
  });

  it('keeps no process alive after stop', async () => {
    const rates = new URL('../../daemon/rates/', import.meta.url);
    const script = `
      import { RateBook } from '${rates}book.ts';
      import { startRates } from '${rates}refresher.ts';
      import { chooseSources } from '${rates}sources/index.ts';
      const log = { info() {}, warn() {} };
      const sources = chooseSources(undefined, ${JSON.stringify(bases())});
      const service = startRates({ book: new RateBook({}), sources, log });
      await service.refresh();
      await service.stop();
      console.log(service.status().filter((state) => state.problem === null).length);
    `;
    const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { timeout: 90_000 });
    expect((await run).stdout.trim()).toBe(String(SOURCES.length));
  });
});
