/** The last steps to real money: sources as they connect, and the keys for the shop, shown this once. */
import type { ReactNode } from 'react';
import { useCall } from '../../data.tsx';
import { useBusinesses } from '../../frame/business.tsx';
import { useText } from '../../i18n.ts';
import { Choices } from '../../parts/controls.tsx';
import { useExample } from '../../parts/money.ts';
import { Notice, Still } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import { button, Code, curl } from '../developers/connect.tsx';
import { Reach } from '../reach/reach.tsx';
import { BrandForm } from '../settings/business.tsx';
import '../settings/settings.css';
import SETTINGS from '../settings/texts.ts';
import type { NewBusiness } from './live.tsx';
import TEXTS from './live-texts.ts';
import { Sources } from './sources.tsx';
import { Head } from './steps.tsx';

/** `BRAND`: the form that the foot's button saves. */
export const BRAND = 'live-brand';

export function LiveCoins({ id, onSaved }: { id: number; onSaved(): void }): ReactNode {
  const t = useText(TEXTS);
  const settings = useText(SETTINGS);
  const business = useBusinesses().all.find((one) => one.id === id);
  if (!business) return <Still />;
  return (
    <>
      <Head title={t('coinsTitle')} note={t('coinsNote')} />
      <Sources business={business} />
      <BrandForm key={business.id} business={business} t={settings} step={{ id: BRAND, onSaved }} />
    </>
  );
}

/** Whether the money that comes in is sent on. The plan itself is made after the last step, when there is an address for it. */
export type Takings = 'forward' | 'leave';

export function LiveTakings({ value, choose }: { value: Takings; choose(value: Takings): void }): ReactNode {
  const t = useText(TEXTS);
  return (
    <>
      <Head title={t('takingsTitle')} note={t('takingsNote')} />
      <Choices<Takings>
        label={t('takingsTitle')}
        value={value}
        options={[
          { value: 'forward', title: t('forward'), text: t('forwardText') },
          { value: 'leave', title: t('leaveThem'), text: t('leaveThemText') },
        ]}
        onChange={choose}
      />
    </>
  );
}

export function LiveReach(): ReactNode {
  const t = useText(TEXTS);
  return (
    <>
      <Head title={t('reachTitle')} note={t('reachNote')} />
      <Reach />
    </>
  );
}

export function LiveKeys({ added }: { added: NewBusiness }): ReactNode {
  const t = useText(TEXTS);
  const url = useCall('status', {}).data?.url ?? '';
  const example = useExample(useBusinesses().all.find((one) => one.id === added.business.id));
  return (
    <>
      <Head title={t('connectTitle')} note={t('connectNote')} />
      <Notice tone="good" title={t('keyOnce')}>
        <Code text={added.key.key} />
        <p>{t('paste', { price: example.text })}</p>
        <Code text={curl(url, added.key.key, example)} />
      </Notice>
      {added.client && (
        <>
          <h3>{t('clientId')}</h3>
          <Code text={added.client.client_id} />
          <p>{t('pasteButton', { price: example.text })}</p>
          <Code text={button(url, added.client.client_id, example)} />
        </>
      )}
      <Notice
        tone="main"
        title={t('backupTitle')}
        actions={
          <a className="button" href={href('wallet')}>
            {t('backupNow')}
          </a>
        }
      >
        {t('backupNote')}
      </Notice>
    </>
  );
}
