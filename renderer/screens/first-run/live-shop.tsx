/** The last steps to real money: sources as they connect, and the keys for the shop, shown this once. */
import type { ReactNode } from 'react';
import { useCall } from '../../data.tsx';
import { useBusinesses } from '../../frame/business.tsx';
import { useText } from '../../i18n.ts';
import { Notice } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import { button, Code, curl } from '../developers/connect.tsx';
import { BusinessForm } from '../settings/business.tsx';
import '../settings/settings.css';
import SETTINGS from '../settings/texts.ts';
import type { Added } from './live.tsx';
import TEXTS from './live-texts.ts';
import { Sources } from './sources.tsx';
import { Head } from './steps.tsx';

export function LiveCoins({ id }: { id: number }): ReactNode {
  const t = useText(TEXTS);
  const settings = useText(SETTINGS);
  const business = useBusinesses().all.find((one) => one.id === id);
  if (!business) return null;
  return (
    <>
      <Head title={t('coinsTitle')} note={t('coinsNote')} />
      <Sources business={business} />
      <BusinessForm key={business.id} business={business} t={settings} />
    </>
  );
}

export function LiveKeys({ added }: { added: Added }): ReactNode {
  const t = useText(TEXTS);
  const url = useCall('status', {}).data?.url ?? '';
  return (
    <>
      <Head title={t('connectTitle')} note={t('connectNote')} />
      <Notice tone="good" title={t('keyOnce')}>
        <Code text={added.key.key} />
        <p>{t('paste')}</p>
        <Code text={curl(url, added.key.key)} />
      </Notice>
      {added.client && (
        <>
          <h3>{t('clientId')}</h3>
          <Code text={added.client.client_id} />
          <p>{t('pasteButton')}</p>
          <Code text={button(url, added.client.client_id)} />
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
