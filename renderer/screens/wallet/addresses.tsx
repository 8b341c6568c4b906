/** The addresses that were given to payers, a page at a time, and a search for one. */
import { type FormEvent, type ReactNode, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { useText } from '../../i18n.ts';
import { Select } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Answer, byCoin, Coin, Hash, Section } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import TEXTS from './texts.ts';

type Chain = Result<'status'>['chains'][number]['chain'];
type AddressLine = Result<'address.list'>['addresses'][number];

const PAGE = 20;
const ALL = 'all';
type Choice = Chain | typeof ALL;

export function Addresses({ business }: { business: Business }): ReactNode {
  const t = useText(TEXTS);
  const [chain, setChain] = useState<Choice>(ALL);
  const [text, setText] = useState('');
  /** The beginnings of the pages before this one. */
  const [pages, setPages] = useState<number[]>([]);
  const chains = useCall('status', {}).data?.chains ?? [];
  const own = chains.filter(({ network }) => network === business.network).map(({ chain: one }) => one);
  const before = pages.at(-1);
  const list = useCall('address.list', {
    business: `${business.id}`,
    limit: PAGE,
    ...(text === '' ? (before === undefined ? {} : { before }) : { text }),
    ...(chain === ALL ? {} : { chain }),
  });
  const search = (wanted: string): void => {
    setText(wanted.trim());
    setPages([]);
  };
  const choose = (wanted: Choice): void => {
    setChain(wanted);
    setPages([]);
  };
  return (
    <Section id="addresses" title={t('addresses')} note={t('addressesNote')}>
      <Find chain={chain} chains={own} choose={choose} search={search} />
      <Answer of={list}>
        {({ addresses, next }) => (
          <>
            {addresses.length === 0 && next === null ? (
              <p className="quiet">{t(text === '' ? 'noAddresses' : 'noSuchAddress')}</p>
            ) : (
              <Rows addresses={addresses} />
            )}
            <div className="actions">
              {pages.length > 0 && (
                <button type="button" className="button" onClick={() => setPages(pages.slice(0, -1))}>
                  {t('newer')}
                </button>
              )}
              {next !== null && (
                <button type="button" className="button" onClick={() => setPages([...pages, next])}>
                  {t('older')}
                </button>
              )}
            </div>
          </>
        )}
      </Answer>
    </Section>
  );
}

type FindProps = { chain: Choice; chains: Chain[]; choose(chain: Choice): void; search(text: string): void };

function Find({ chain, chains, choose, search }: FindProps): ReactNode {
  const t = useText(TEXTS);
  const [typed, setTyped] = useState('');
  const options = [
    [ALL, t('allChains')] as const,
    ...[...chains].sort(byCoin).map((one): readonly [Choice, string] => [one, one]),
  ];
  return (
    <form
      className="wallet-find"
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        search(typed);
      }}
    >
      <input
        className="input"
        type="search"
        data-search
        aria-label={t('findAddress')}
        placeholder={t('findAddress')}
        maxLength={300}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          if (event.target.value === '') search('');
        }}
      />
      <Select<Choice> label={t('chain')} hideLabel value={chain} options={options} onChange={choose} />
    </form>
  );
}

function Rows({ addresses }: { addresses: readonly AddressLine[] }): ReactNode {
  const t = useText(TEXTS);
  const { short } = useTimes();
  return (
    <div className="table-box">
      <table className="table wallet-given">
        <thead>
          <tr>
            <th scope="col">{t('given')}</th>
            <th scope="col">{t('chain')}</th>
            <th scope="col">{t('address')}</th>
            <th scope="col" className="number wide-only">
              {t('index')}
            </th>
            <th scope="col">{t('invoice')}</th>
            <th scope="col" className="number">
              {t('received')}
            </th>
          </tr>
        </thead>
        <tbody>
          {addresses.map((one) => (
            <tr key={one.id}>
              <td className="quiet">{short(one.given_at)}</td>
              <td>{one.chain}</td>
              <td>
                <Hash text={one.address} />
              </td>
              <td className="number wide-only">{one.index}</td>
              <td className="mono">
                <a href={href('invoices', one.invoice)}>{one.invoice}</a>
              </td>
              <td className="number">
                {one.received === null || one.crypto === null ? (
                  <span className="quiet">{t('otherCoin')}</span>
                ) : (
                  <Coin amount={one.received} crypto={one.crypto} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
