/** The price sources in force, and the lines of the configuration by which others are asked. */
import { type ReactNode, useState } from 'react';
import { COIN_SOURCES, FIAT_SOURCES } from '../../../daemon/domain/rate-sources.ts';
import { useCall } from '../../data.tsx';
import type { Translate } from '../../i18n.ts';
import { Code } from '../developers/connect.tsx';
import '../developers/developers.css';
import '../settings/settings.css';
import type TEXTS from './texts.ts';

type T = Translate<keyof (typeof TEXTS)['en']>;

const KINDS = [
  { title: 'ofCoins', names: COIN_SOURCES },
  { title: 'ofCurrencies', names: FIAT_SOURCES },
] as const;

function namesIn(value: string): string[] {
  try {
    return JSON.parse(value) as string[];
  } catch {
    return [];
  }
}

export function Sources({ t }: { t: T }): ReactNode {
  const found = useCall('settings.show', {}).data?.settings.find(({ key }) => key === 'rates.sources');
  const [chosen, setChosen] = useState<readonly string[] | null>(null);
  if (!found) return null;
  const asked = chosen ?? namesIn(found.value);
  const isAlone = KINDS.some(({ names }) => names.filter((name) => asked.includes(name)).length === 1);
  const lines = `[rates]\nsources = [${asked.map((name) => `"${name}"`).join(', ')}]`;
  return (
    <>
      <h2>{t('sources')}</h2>
      {KINDS.map(({ title, names }) => (
        <fieldset key={title} className="settings-coins">
          <legend>{t(title)}</legend>
          {names.map((name) => (
            <label key={name} className="check">
              <input
                type="checkbox"
                checked={asked.includes(name)}
                onChange={({ target: { checked } }) =>
                  setChosen(checked ? [...asked, name] : asked.filter((one) => one !== name))
                }
              />
              {name}
            </label>
          ))}
        </fieldset>
      ))}
      {isAlone ? (
        <p className="bad">{t('alone')}</p>
      ) : (
        <p className="quiet">{t(chosen === null ? 'sourcesNote' : 'sourcesLines')}</p>
      )}
      {chosen !== null && !isAlone && <Code text={lines} />}
    </>
  );
}
