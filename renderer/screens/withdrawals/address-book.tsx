/** The addresses that have a name. */
import { type FormEvent, type ReactNode, useState } from 'react';
import type { Params } from '../../bridge.ts';
import { useCall, useChange } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { useText } from '../../i18n.ts';
import { Field, Sheet } from '../../parts/controls.tsx';
import { Icon } from '../../parts/icons.tsx';
import { Answer, Foreign, Hash, Problem, Section } from '../../parts/parts.tsx';
import TEXTS from './texts.ts';

type Chain = Params<'addressBook.add'>['chain'];
const CHAIN_OF: Record<string, Chain> = { BNB: 'BSC', USDT_ERC20: 'ETH', XAUT: 'ETH', PAXG: 'ETH', USDT_BEP20: 'BSC' };
const chainOf = (crypto: string): Chain => CHAIN_OF[crypto] ?? (crypto as Chain);

type BookProps = { business: Business; crypto: string; choose(address: string): void };

export function AddressBook({ business, crypto, choose }: BookProps): ReactNode {
  const t = useText(TEXTS);
  const [adding, setAdding] = useState(false);
  const book = useCall('addressBook.list', { business: `${business.id}` });
  const chain = chainOf(crypto);
  const add = (
    <button type="button" className="link" onClick={() => setAdding(true)}>
      {t('bookAdd')}
    </button>
  );
  return (
    <Section title={t('book')} side={add}>
      <Answer of={book} rows={3}>
        {({ addresses }) => {
          const own = addresses.filter((one) => one.chain === chain);
          if (own.length === 0) return <p className="quiet">{t('bookEmpty', { crypto: chain })}</p>;
          return (
            <ul className="book">
              {own.map((one) => (
                <li key={one.id}>
                  <span>
                    <strong>
                      <Foreign text={one.label} />
                    </strong>
                    <Hash text={one.address} />
                  </span>
                  <button type="button" className="button" onClick={() => choose(one.address)}>
                    {t('bookUse')}
                  </button>
                </li>
              ))}
            </ul>
          );
        }}
      </Answer>
      <Sheet title={t('bookAdd')} open={adding} onClose={() => setAdding(false)}>
        <Entry business={business} chain={chain} done={() => setAdding(false)} />
      </Sheet>
    </Section>
  );
}

function Entry({ business, chain, done }: { business: Business; chain: Chain; done(): void }): ReactNode {
  const t = useText(TEXTS);
  const [label, setLabel] = useState('');
  const [address, setAddress] = useState('');
  const add = useChange('addressBook.add', 'addressBook.', 'withdrawal.');
  const icon = <Icon name="plus" />;
  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    await add.mutateAsync({ business: `${business.id}`, chain, label, address: address.trim() });
    done();
  }
  return (
    <form className="form" onSubmit={(event) => void submit(event).catch(() => {})}>
      <Field label={t('bookLabel')} value={label} maxLength={100} onChange={(event) => setLabel(event.target.value)} />
      <Field
        label={t('addressOf', { crypto: chain })}
        className="mono"
        spellCheck={false}
        value={address}
        onChange={(event) => setAddress(event.target.value)}
      />
      {add.error && <Problem error={add.error} />}
      <button type="submit" className="button filled" disabled={label.trim() === '' || address.trim() === ''}>
        {icon} {t('bookAdd')}
      </button>
    </form>
  );
}
