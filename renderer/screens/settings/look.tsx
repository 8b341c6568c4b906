/** The top of the payment page with a business's name, colour, logo and contact, while they are edited. */
import type { CSSProperties, ReactNode } from 'react';
import { accentOn } from '../../../daemon/domain/accent.ts';
import { useLanguage } from '../../i18n.ts';
import { fiat } from '../../parts/format.ts';
import { Foreign } from '../../parts/parts.tsx';
import type { T } from './settings.tsx';

const EXAMPLE = '24.90';
/** The first letters of the files that may be a logo, in base64. */
const KINDS: Readonly<Record<string, string>> = { iVBORw0KGg: 'png', '/9j/': 'jpeg', UklGR: 'webp' };

/** `logo`: in base64; null for none, undefined for the one that the service has. */
type Look = { name: string; accent: string; contact: string; logo: string | null | undefined; has: boolean };

/** The picture as a page's own address; undefined where the file is none of the three kinds. */
function pictureOf(base64: string): string | undefined {
  const kind = Object.entries(KINDS).find(([start]) => base64.startsWith(start))?.[1];
  return kind && `data:image/${kind};base64,${base64}`;
}

export function LookPreview({ look, currency, t }: { look: Look; currency: string; t: T }): ReactNode {
  const language = useLanguage();
  const { name, accent, contact, logo, has } = look;
  const { light, dark } = accentOn(accent);
  // the page's colours in both themes; the style sheet picks those of the console's own
  const colours = {
    '--look-fill': `light-dark(${light.fill}, ${dark.fill})`,
    '--look-ink': `light-dark(${light.ink}, ${dark.ink})`,
    '--look-text': `light-dark(${light.text}, ${dark.text})`,
  } as CSSProperties;
  const picture = logo ? pictureOf(logo) : undefined;
  return (
    <figure className="look" style={colours}>
      <figcaption className="quiet">{t('look')}</figcaption>
      <div className="look-page">
        <div className="look-head">
          {picture !== undefined && <img src={picture} alt="" height={40} />}
          {logo === undefined && has && <span className="look-logo quiet">{t('logo')}</span>}
          <span>
            <span className="quiet">{t('lookPayTo')}</span> <Foreign text={name.trim() || '…'} />
          </span>
        </div>
        <p className="look-total">{fiat(EXAMPLE, currency, language)}</p>
        <p className="look-main" aria-hidden="true">
          {t('lookButton')}
        </p>
        <p className="look-link" aria-hidden="true">
          {t('lookOther')}
        </p>
        {contact.trim() !== '' && (
          <p className="quiet">
            {t('lookContact')}: <Foreign text={contact.trim()} />
          </p>
        )}
      </div>
    </figure>
  );
}
