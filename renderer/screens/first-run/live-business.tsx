/** The business that takes real money: its name, its days, and the pages that may call it. */
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { DEFAULT_SCOPES } from '../../../daemon/contract/operator-shapes.ts';
import { openBusiness, openWithMonero } from '../../../daemon/operator/open-business.ts';
import type { Params } from '../../bridge.ts';
import { useConnection, useData } from '../../data.tsx';
import { OWN_ZONE, useText } from '../../i18n.ts';
import { useCustody, useKeyholder } from '../../keyholder.ts';
import { Field, Select } from '../../parts/controls.tsx';
import { Problem } from '../../parts/parts.tsx';
import { useDoing } from '../wallet/doing.ts';
import type { NewBusiness } from './live.tsx';
import TEXTS from './live-texts.ts';
import type { Opened } from './live-wallet.tsx';
import { type Past, pastOf, usePast, WordsField } from './past.tsx';
import { Head } from './steps.tsx';

const NETWORKS = ['mainnet', 'testnet', 'regtest'] as const;
type Network = (typeof NETWORKS)[number];

type Wanted = Params<'business.add'>;
type Props = { opened: Opened; onAdded(added: NewBusiness, passphrase: string): Promise<void> };

/** The business of a wallet of this program. */
export function LiveBusiness({ opened, onAdded }: Props): ReactNode {
  const t = useText(TEXTS);
  const { up } = useConnection();
  const open = useOpening();
  const { error, busy, run } = useDoing();
  const naming = useNaming();
  const monero = useMonero(opened.past);
  const { passphrase } = opened;
  const add = async (): Promise<void> => {
    const added = await open({ ...naming.wanted, ...pastOf(monero.past) }, passphrase, monero.words);
    await onAdded(added, passphrase);
  };
  const isReady = up && !busy && naming.isReady && monero.isRight;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady) void run(add);
  };
  return (
    <>
      <Head title={t('businessTitle')} note={t('businessNote')} />
      <form className="form" onSubmit={submit}>
        {naming.fields}
        {monero.fields}
        {error && <Problem error={error} />}
        <button type="submit" className="button filled large" disabled={!isReady}>
          {t(busy ? 'adding' : 'add')}
        </button>
      </form>
    </>
  );
}

type NamedProps = { before: Wanted | null; onNamed(wanted: Wanted): void };

/** The business of accounts that are in another wallet. `before`: as it was named already. */
export function NamedBusiness({ before, onNamed }: NamedProps): ReactNode {
  const t = useText(TEXTS);
  const { wanted, isReady, fields } = useNaming(before);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady) onNamed(wanted);
  };
  return (
    <>
      <Head title={t('businessTitle')} note={t('businessNote')} />
      <form className="form" onSubmit={submit}>
        {fields}
        <button type="submit" className="button filled large" disabled={!isReady}>
          {t('next')}
        </button>
      </form>
    </>
  );
}

type Naming = { wanted: Wanted; isReady: boolean; fields: ReactNode };

const networkOf = (wanted: Wanted | null): Network => NETWORKS.find((one) => one === wanted?.network) ?? 'mainnet';

/** Name, days and network, and the page that may call it. */
function useNaming(before: Wanted | null = null): Naming {
  const t = useText(TEXTS);
  const [name, setName] = useState(before?.name ?? '');
  const [timeZone, setTimeZone] = useState(before?.time_zone ?? OWN_ZONE);
  const [origin, setOrigin] = useState(before?.client?.origins?.[0] ?? '');
  const [network, setNetwork] = useState<Network>(networkOf(before));
  const wanted = {
    name: name.trim(),
    network,
    time_zone: timeZone.trim(),
    key: { name: 'first key', scopes: DEFAULT_SCOPES },
    ...(origin.trim() === '' ? {} : { client: { name: 'first client', origins: [origin.trim()] } }),
  };
  return {
    wanted,
    isReady: wanted.name !== '',
    fields: (
      <>
        <Field
          label={t('name')}
          autoFocus
          maxLength={60}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Field
          label={t('timeZone')}
          hint={t('timeZoneHint')}
          value={timeZone}
          onChange={(event) => setTimeZone(event.target.value)}
        />
        <Field
          label={t('origin')}
          hint={t('originHint')}
          placeholder="https://shop.example"
          value={origin}
          onChange={(event) => setOrigin(event.target.value)}
        />
        <Select<Network>
          label={t('network')}
          value={network}
          options={NETWORKS.map((one) => [one, t(one)] as const)}
          onChange={setNetwork}
        />
      </>
    ),
  };
}

/** Adds the business; `moneroWords`: empty for the Monero account that the wallet's own words give. */
function useOpening() {
  const { bridge } = useData();
  const custody = useCustody();
  const keyholder = useKeyholder();
  return (wanted: Params<'business.add'>, passphrase: string, moneroWords: string): Promise<NewBusiness> => {
    const derive: Parameters<typeof openBusiness>[2] = (on, accountNo) => custody.accounts(passphrase, on, accountNo);
    if (moneroWords === '') return openBusiness(bridge.call, wanted, derive);
    return openWithMonero(bridge.call, wanted, derive, {
      take: async (on, accountNo) => {
        await custody.importMonero(passphrase, on, accountNo, moneroWords);
        // an open wallet does not have the key yet
        await keyholder.lock();
      },
      drop: (on, accountNo) => custody.dropMonero(passphrase, on, accountNo),
    });
  };
}

/** `words`: empty while no Monero wallet is brought along. */
type Monero = { words: string; past: Past | null; isRight: boolean; fields: ReactNode };

/** Asks for a Monero wallet that the business continues with; for its past only where that of the other words is not known. */
function useMonero(known: Past | null): Monero {
  const t = useText(TEXTS);
  const id = useId();
  const [words, setWords] = useState<string | null>(null);
  const own = usePast();
  const isWanted = words !== null;
  return {
    words: words?.trim() ?? '',
    past: known ?? (isWanted ? own.past : null),
    isRight: !isWanted || (words.trim() !== '' && own.isRight),
    fields: (
      <>
        <label className="check">
          <input
            type="checkbox"
            checked={isWanted}
            {...(isWanted ? { 'aria-describedby': id } : {})}
            onChange={(event) => setWords(event.target.checked ? '' : null)}
          />
          <span>{t('haveMonero')}</span>
        </label>
        {isWanted && (
          <div className="first-import">
            <p id={id} className="quiet">
              {t('haveMoneroNote')}
            </p>
            <WordsField label={t('moneroWords')} value={words} onChange={setWords} />
            {known === null && own.fields}
          </div>
        )}
      </>
    ),
  };
}
