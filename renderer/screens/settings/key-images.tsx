/**
 * The key images of a view-only account of Monero, from the wallet that has its keys: the file is divided into parts here, and handed in.
 * Only then the books know what that wallet spent.
 */
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { EXPORT_BYTES_MAX, importKeyImages } from '../../../daemon/operator/key-images.ts';
import { useConnection, useData } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { texts, useLanguage, useText } from '../../i18n.ts';
import { Field } from '../../parts/controls.tsx';
import { exact, isZero } from '../../parts/format.ts';
import { Problem, Section } from '../../parts/parts.tsx';

const TEXTS = texts(
  {
    title: 'Monero in another wallet',
    why: 'The balance is as far as known: {amount} XMR may have been spent in the wallet that has the keys. Hand in its key images to see what was.',
    right: 'Every coin has its key image, so what the other wallet spends is seen.',
    file: 'File of the key images',
    hint: 'In monero-wallet-cli: export_key_images all FILE. The JSON of monero-wallet-rpc will do, too.',
    hand: 'Hand in',
    done: '{learned} new, {known} known, {unmatched} of no coin that is known here.',
    large: 'This file is too large.',
    'key_images.format': 'This is no export of key images.',
    'key_images.damaged': 'The file is not whole: export the key images again.',
    'key_images.none': 'There is no key image in it: export them with “all”.',
    'key_images.other': 'The file is of another wallet, or it was damaged.',
  },
  {
    title: 'Monero in einer anderen Wallet',
    why: 'Das Guthaben gilt, soweit bekannt: {amount} XMR können in der Wallet mit den Schlüsseln ausgegeben sein. Geben Sie ihre Key Images ab, um es zu sehen.',
    right: 'Jeder Coin hat sein Key Image: Was die andere Wallet ausgibt, wird gesehen.',
    file: 'Datei der Key Images',
    hint: 'In monero-wallet-cli: export_key_images all DATEI. Das JSON von monero-wallet-rpc geht auch.',
    hand: 'Abgeben',
    done: '{learned} neue, {known} bekannte, {unmatched} von keinem Coin, der hier bekannt ist.',
    large: 'Diese Datei ist zu groß.',
    'key_images.format': 'Das ist kein Export von Key Images.',
    'key_images.damaged': 'Die Datei ist nicht vollständig: Exportieren Sie die Key Images neu.',
    'key_images.none': 'Es ist kein Key Image darin: Exportieren Sie sie mit „all“.',
    'key_images.other': 'Die Datei gehört zu einer anderen Wallet, oder sie wurde beschädigt.',
  },
);

const REFUSALS = ['key_images.format', 'key_images.damaged', 'key_images.none', 'key_images.other'] as const;

/** Nothing for a business without such an account. */
export function KeyImages({ business }: { business: Business }): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const { bridge, client } = useData();
  const { up } = useConnection();
  const [file, setFile] = useState<File | null>(null);
  const upload = useMutation({
    mutationFn: async (chosen: File) =>
      importKeyImages(
        (method, params) => bridge.call(method, params),
        `${business.id}`,
        new Uint8Array(await chosen.arrayBuffer()),
      ),
    onSuccess: () =>
      client.invalidateQueries({ predicate: ({ queryKey }) => `${queryKey[0]}`.startsWith('business.') }),
  });
  const unproven = business.balances.find(({ crypto }) => crypto === 'XMR')?.unproven ?? null;
  if (!business.watch_only.includes('XMR') || unproven === null) return null;
  const isLarge = (file?.size ?? 0) > EXPORT_BYTES_MAX;
  return (
    <Section title={t('title')}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (file && !isLarge) upload.mutate(file);
        }}
      >
        <p>{isZero(unproven) ? t('right') : t('why', { amount: exact(unproven, language) })}</p>
        <Field
          label={t('file')}
          hint={t('hint')}
          type="file"
          onChange={(event) => {
            upload.reset();
            setFile(event.target.files?.[0] ?? null);
          }}
        />
        {isLarge && <p className="bad">{t('large')}</p>}
        {upload.error && <Refused error={upload.error} />}
        <div className="actions">
          <button type="submit" className="button" disabled={!up || upload.isPending || file === null || isLarge}>
            {t('hand')}
          </button>
          <span role="status">{upload.data && t('done', counts(upload.data))}</span>
        </div>
      </form>
    </Section>
  );
}

const counts = ({ learned, known, unmatched }: { learned: number; known: number; unmatched: number }) => ({
  learned: `${learned}`,
  known: `${known}`,
  unmatched: `${unmatched}`,
});

function Refused({ error }: { error: Error }): ReactNode {
  const t = useText(TEXTS);
  const code = REFUSALS.find((one) => 'code' in error && error.code === one);
  return code ? <p className="bad">{t(code)}</p> : <Problem error={error} />;
}
