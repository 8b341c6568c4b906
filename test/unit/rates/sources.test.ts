import { describe, expect, it } from 'vitest';
import { RATE_SOURCES } from '../../../daemon/config/schema.ts';
import { ASSETS } from '../../../daemon/domain/assets.ts';
import { FIAT } from '../../../daemon/domain/currencies.ts';
import { SAMPLE_FIAT, SAMPLE_USD } from '../../../daemon/rates/samples.ts';
import { chooseSources, SOURCES } from '../../../daemon/rates/sources/index.ts';

const names = (chosen: { name: string }[]): string[] => chosen.map((source) => source.name);
const ofKind = (kind: string): string[] => names(SOURCES.filter((source) => source.kind === kind));

describe('chooseSources', () => {
  it('takes all by default: at least five for coins and four for currencies, over https', () => {
    expect(names(chooseSources())).toEqual(names([...SOURCES]));
    expect(ofKind('coin').length).toBeGreaterThanOrEqual(5);
    expect(ofKind('fiat').length).toBeGreaterThanOrEqual(4);
    for (const source of SOURCES) expect(new URL(source.base + source.path).protocol).toBe('https:');
  });

  it('takes none for an empty list', () => {
    expect(chooseSources([])).toEqual([]);
  });

  it('leaves a kind whole of which no source is named', () => {
    expect(names(chooseSources(['kraken', 'binance']))).toEqual(['kraken', 'binance', ...ofKind('fiat')]);
    expect(names(chooseSources(['er-api', 'floatrates']))).toEqual([...ofKind('coin'), 'er-api', 'floatrates']);
  });

  it('has a source for every name that the configuration takes', () => {
    expect(names([...SOURCES])).toEqual(RATE_SOURCES);
  });

  it('replaces the base of the named source only', () => {
    const chosen = chooseSources(['kraken', 'gemini'], { gemini: 'http://127.0.0.1:1' });
    expect(chosen.find((source) => source.name === 'gemini')?.base).toBe('http://127.0.0.1:1');
    expect(chosen.find((source) => source.name === 'kraken')?.base).toBe('https://api.kraken.com');
  });
});

describe('samples', () => {
  it('cover every asset and every currency', () => {
    expect(Object.keys(SAMPLE_USD).toSorted()).toEqual([...new Set(ASSETS.map((a) => a.priceSymbol))].toSorted());
    expect([...Object.keys(SAMPLE_FIAT), 'USD'].toSorted()).toEqual(Object.keys(FIAT).toSorted());
  });
});
