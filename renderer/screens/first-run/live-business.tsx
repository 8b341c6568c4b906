/** The business that takes real money: its name, its days, and the pages that may call it. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { DEFAULT_SCOPES } from '../../../daemon/contract/operator-shapes.ts';
import { openBusiness } from '../../../daemon/operator/open-business.ts';
import { useConnection, useData } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { useCustody } from '../../keyholder.ts';
import { Field, Select } from '../../parts/controls.tsx';
import { Problem } from '../../parts/parts.tsx';
import { useDoing } from '../wallet/doing.ts';
import type { Added } from './live.tsx';
import TEXTS from './live-texts.ts';
import type { Opened } from './live-wallet.tsx';
import { Head } from './steps.tsx';

const NETWORKS = ['mainnet', 'testnet', 'regtest'] as const;
type Network = (typeof NETWORKS)[number];

type Props = { opened: Opened; onAdded(added: Added, passphrase: string): Promise<void> };

export function LiveBusiness({ opened, onAdded }: Props): ReactNode {
  const t = useText(TEXTS);
  const { up } = useConnection();
  const { bridge } = useData();
  const custody = useCustody();
  const { error, busy, run } = useDoing();
  const [name, setName] = useState('');
  const [timeZone, setTimeZone] = useState(() => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC');
  const [origin, setOrigin] = useState('');
  const [network, setNetwork] = useState<Network>('mainnet');
  const { passphrase, past } = opened;
  const add = async (): Promise<void> => {
    const wanted = {
      ...{ name: name.trim(), network, time_zone: timeZone.trim() },
      key: { name: 'first key', scopes: DEFAULT_SCOPES },
      ...(origin.trim() === '' ? {} : { client: { name: 'first client', origins: [origin.trim()] } }),
      ...(past &&
        ('birthday' in past ? { birthday: `${past.birthday}T00:00:00.000Z` } : { restore_height: past.restoreHeight })),
    };
    const added = await openBusiness(bridge.call, wanted, (on, accountNo) =>
      custody.accounts(passphrase, on, accountNo),
    );
    await onAdded(added, passphrase);
  };
  const isReady = up && !busy && name.trim() !== '';
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady) void run(add);
  };
  return (
    <>
      <Head title={t('businessTitle')} note={t('businessNote')} />
      <form className="form" onSubmit={submit}>
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
        {error && <Problem error={error} />}
        <button type="submit" className="button filled large" disabled={!isReady}>
          {t(busy ? 'adding' : 'add')}
        </button>
      </form>
    </>
  );
}
