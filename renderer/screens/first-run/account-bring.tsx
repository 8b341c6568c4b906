/** The ways by which a key comes other than by typing: a file of the other wallet, or the code that it shows. */
import { type ReactNode, useRef, useState } from 'react';
import type { Network } from '../../../daemon/domain/assets.ts';
import { type Translate, useText } from '../../i18n.ts';
import { Select } from '../../parts/controls.tsx';
import { chainName } from '../../parts/names.ts';
import { Notice } from '../../parts/parts.tsx';
import { Scan } from '../../parts/scan.tsx';
import { accountsIn, type Offer } from './account-export.ts';
import { FORM_TEXTS } from './account-forms.ts';
import { readTyped, type Typed } from './account-reading.ts';
import TEXTS from './account-texts.ts';

const FILE_BYTES_MAX = 1_000_000;

type T = Translate<keyof (typeof TEXTS)['en']>;
type Props = { chain: Typed['chain']; network: Network; onFound(typed: Typed): void };

export function Bring({ chain, network, onFound }: Props): ReactNode {
  const t = useText(TEXTS);
  const file = useRef<HTMLInputElement>(null);
  const [offers, setOffers] = useState<readonly Offer[]>([]);
  const [chosen, setChosen] = useState('');
  const [fault, setFault] = useState<'none' | 'large' | null>(null);
  const [isScanning, setScanning] = useState(false);
  const take = (bytes: Uint8Array): void => {
    const found = accountsIn(new TextDecoder().decode(bytes), chain, network);
    setScanning(false);
    setFault(found.length === 0 ? 'none' : null);
    setOffers(found.length > 1 ? found : []);
    setChosen('');
    if (found.length > 0) onFound(found.length === 1 ? found[0]!.typed : { chain, text: '', viewKey: '', form: null });
  };
  const open = async (from: File): Promise<void> => {
    setOffers([]);
    if (from.size > FILE_BYTES_MAX) setFault('large');
    else take(new Uint8Array(await from.arrayBuffer()));
  };
  return (
    <>
      <div className="actions">
        <input
          ref={file}
          type="file"
          hidden
          onChange={({ target }) => {
            const [from] = target.files ?? [];
            // the same file can be chosen again
            target.value = '';
            if (from) void open(from);
          }}
        />
        <button type="button" className="button" onClick={() => file.current?.click()}>
          {t('openFile')}
        </button>
        {!isScanning && (
          <button type="button" className="button" onClick={() => setScanning(true)}>
            {t('scan')}
          </button>
        )}
      </div>
      {isScanning && <Scan onRead={take} onClose={() => setScanning(false)} />}
      {fault === 'large' && <Notice tone="bad" title={t('fileLarge')} />}
      {fault === 'none' && (
        <Notice tone="bad" title={t('fileNone', { coin: chainName(chain) })}>
          {t('fileNoneText')}
        </Notice>
      )}
      {offers.length > 1 && (
        <Select
          label={t('several')}
          value={chosen}
          options={[['', t('choosePlease')], ...offers.map((one, at) => [`${at}`, nameOf(one, network, t)] as const)]}
          onChange={(at) => {
            setChosen(at);
            const offer = at === '' ? undefined : offers[Number(at)];
            if (offer) onFound(offer.typed);
          }}
        />
      )}
    </>
  );
}

/** An account by the kind of its addresses and its place in the wallet. */
function nameOf({ typed, path }: Offer, network: Network, t: T): string {
  const { key } = readTyped(typed, network);
  const form = key?.kind === 'secp256k1' ? key.watch?.form : undefined;
  const place = path === null ? t('noPath') : `m/${path}`;
  return form ? t('offer', { form: t(FORM_TEXTS[form]), path: place }) : place;
}
